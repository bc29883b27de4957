package membership

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
)

// young makes members of a view that have not come up.
func young(v *member.View, members ...int) *member.View {
	for _, i := range members {
		v.Members[i].Status, v.Members[i].UpNumber = member.WeaklyUp, member.NeverUp
	}
	return v
}

// A node that has stopped acting does not go on because one more is lost that may
// not even count.
func TestLosingMorePutsNothingOff(t *testing.T) {
	now := time.Unix(1000, 0)
	k := &crashes{self: node(0), isolation: isolation}
	v := young(viewOf(5, 0), 3, 4) // who came up are 0, 1 and 2
	k.step(now, v, gossip.LinkBroke{Peer: node(1)}, false)
	k.step(now, v, gossip.LinkBroke{Peer: node(2)}, false)
	want := now.Add(isolation / 2)
	if got := k.cutOff(v, nil); got != want {
		t.Fatalf("cut off at %v, want %v", got, want)
	}
	k.step(now.Add(time.Minute), v, gossip.LinkBroke{Peer: node(4)}, false)
	if got := k.cutOff(v, nil); got != want {
		t.Errorf("cut off at %v when one more is lost, want %v still", got, want)
	}
}

// Who leaves, or was downed, votes until it has heard so.
func TestLostLeaversMayVote(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, status := range []member.Status{member.Leaving, member.Exiting, member.Down} {
		k := &crashes{self: node(0), isolation: isolation}
		v := viewOf(3, 0)
		v.Members[2].Status = status
		k.step(now, v, gossip.LinkBroke{Peer: node(1)}, false)
		if got := k.cutOff(v, nil); !got.IsZero() {
			t.Errorf("one of three lost, the other one %v: cut off at %v, want never", status, got)
		}
		k.step(now, v, gossip.LinkBroke{Peer: node(2)}, false)
		if got, want := k.cutOff(v, nil), now.Add(isolation/2); got != want {
			t.Errorf("both others lost, one %v: cut off at %v, want %v", status, got, want)
		}
	}
}

func TestConfirmed(t *testing.T) {
	none := &member.View{Self: node(0)}
	for _, tt := range []struct {
		name string
		view *member.View
		yes  []int
		want bool
	}{
		{"no member yet", none, nil, true},
		{"alone", viewOf(1, 0), nil, true},
		{"one of three, itself", viewOf(3, 0), nil, false},
		{"two of three", viewOf(3, 0), []int{2}, true},
		{"two of four", viewOf(4, 0), []int{1}, false},
		{"three of five, two of whom joined here alone", young(viewOf(5, 0), 3, 4), []int{3, 4}, false},
		{"three of five with one that came up", young(viewOf(5, 0), 3, 4), []int{1, 3}, true},
		{"two of three that came up, but not of all", young(viewOf(5, 0), 3, 4), []int{1}, false},
		{"nobody came up yet", young(viewOf(3, 0), 0, 1, 2), []int{1}, true},
		{"only others came up", young(viewOf(3, 0), 0), []int{1}, false},
		{"and both say so", young(viewOf(3, 0), 0), []int{1, 2}, true},
	} {
		yes := map[member.ID]bool{}
		for _, i := range tt.yes {
			yes[node(i)] = true
		}
		if got := Confirmed(tt.view, func(id member.ID) bool { return yes[id] }); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
