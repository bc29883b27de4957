package membership

import (
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/sbr"
)

// A vote that was on its way for long counts no more once what took it back, right
// behind it, has come.
func TestLateVoteIsTakenBackInTime(t *testing.T) {
	w := newWorld(3, sbr.Settings{})
	w.dead[2] = true
	w.step(0, gossip.LinkBroke{Peer: w.ids[2]})
	refused := gossip.Dialed{Peer: w.ids[2], Result: gossip.Refused}
	for range 20 {
		w.run(50 * time.Millisecond)
		w.step(0, refused)
	}
	for _, withdrawn := range []bool{false, true} {
		w.step(0, gossip.Received{From: w.ids[1], Msg: gossip.CrashVote{Suspect: w.ids[2], Withdrawn: withdrawn}})
	}
	w.step(0, refused)
	if status := w.seen(0, 2); status != member.Up {
		t.Errorf("the suspect is %v after a vote that was taken back, want Up", status)
	}
	w.step(0, gossip.Received{From: w.ids[1], Msg: gossip.CrashVote{Suspect: w.ids[2]}})
	w.step(0, refused)
	if status := w.seen(0, 2); status == member.Up {
		t.Error("the suspect is Up after a vote that was not taken back")
	}
}

// Votes go to all in a small cluster, and to a few that can be reached in a large one.
func TestVotesGoToFew(t *testing.T) {
	node := func(n int) member.ID {
		return member.ID{Address: member.Address{Host: "n", Port: 1000 + n}, UID: 1}
	}
	view := func(size int) *member.View {
		v := &member.View{Self: node(0)}
		for n := range size {
			v.Members = append(v.Members, member.Member{ID: node(n), Status: member.Up, UpNumber: n + 1})
		}
		return v
	}
	span := func(low, high int) (all []member.ID) {
		for n := low; n <= high; n++ {
			all = append(all, node(n))
		}
		return all
	}
	without := func(v *member.View) *member.View {
		v.Members[2].Status = member.Down
		v.Members[3].UpNumber = member.NeverUp
		v.Members[4].DataCenter = "elsewhere"
		v.Unreachable = span(5, 5)
		return v
	}
	tests := []struct {
		name   string
		view   *member.View
		broken []member.ID // links of this node
		want   []member.ID
	}{
		{"a small cluster", view(4), span(1, 1), span(2, 3)},
		{"the largest in which all are told", without(view(countedByAll)), span(1, 1), span(2, countedByAll-1)},
		{"a larger one", view(countedByAll + 1), span(1, 1), span(2, 1+countedBy)},
		{"a larger one, in which some cannot count", without(view(1000)), []member.ID{node(1), node(6)}, span(7, 6+countedBy)},
	}
	for _, tt := range tests {
		k := crashes{self: node(0)}
		for _, id := range tt.broken {
			k.suspects = append(k.suspects, &suspicion{node: id})
		}
		if got := k.counters(tt.view, node(1)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: told %v, want %v", tt.name, got, tt.want)
		}
	}
}
