package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/margin"
	"github.com/troupe-go/troupe/internal/member"
)

func nodeAt(place int, uid int64) member.ID {
	return member.ID{Address: placeAddress(place), UID: uid}
}

func entry(place int, uid int64, status member.Status, upNumber int) member.Member {
	return member.Member{ID: nodeAt(place, uid), Status: status, UpNumber: upNumber}
}

// What one node must never see, one step after the other.
func TestChecksOfOneView(t *testing.T) {
	up := func(place int) member.Member { return entry(place, 1, member.Up, place+1) }
	views := func(members ...member.Member) *member.View {
		return &member.View{Self: nodeAt(0, 1), Members: members, Leader: nodeAt(0, 1)}
	}
	ledBy := func(leader member.ID, v *member.View) *member.View { v.Leader = leader; return v }
	unreachable := views(up(0), up(1))
	unreachable.Observations = []member.Observation{{Observer: nodeAt(0, 1), Subject: nodeAt(1, 1)}}

	tests := []struct {
		name  string
		views []*member.View
		want  string // part of the complaint; empty for none
	}{
		{"a usual life", []*member.View{
			views(up(0), entry(1, 1, member.Joining, member.NeverUp)), views(up(0), up(1)),
			views(up(0), entry(1, 1, member.Exiting, 2)), views(up(0)), views(up(0), entry(1, 2, member.Joining, member.NeverUp)),
		}, ""},
		{"back to Up", []*member.View{views(up(0), entry(1, 1, member.Leaving, 2)), views(up(0), up(1))}, "go back from Leaving to Up"},
		{"back from Down", []*member.View{views(up(0), entry(1, 1, member.Down, 2)), views(up(0), up(1))}, "go back from Down to Up"},
		{"back from removal", []*member.View{views(up(0), up(1)), views(up(0)), views(up(0), up(1))}, "again, which was removed"},
		{"another age", []*member.View{views(up(0), up(1)), views(up(0), entry(1, 1, member.Up, 7))}, "change from 2 to 7"},
		{"two at one address", []*member.View{views(up(0), up(1), entry(1, 2, member.Joining, member.NeverUp))}, "two members at"},
		{"a successor beside the dead", []*member.View{views(up(0), entry(1, 1, member.Down, 2), entry(1, 2, member.Joining, member.NeverUp))}, "two members at"},
		{"a successor", []*member.View{views(up(0), up(1)), views(up(0), entry(1, 2, member.Joining, member.NeverUp))}, ""},
		{"a predecessor", []*member.View{views(up(0), entry(1, 2, member.Up, 2)), views(up(0), entry(1, 1, member.Joining, member.NeverUp))}, "give way to"},
		{"led by a stranger", []*member.View{ledBy(nodeAt(1, 1), views(up(0)))}, "is no member"},
		{"led by the dead", []*member.View{ledBy(nodeAt(1, 1), views(up(0), entry(1, 1, member.Down, 2)))}, "which is Down"},
		{"led by one that goes", []*member.View{ledBy(nodeAt(1, 1), views(up(0), entry(1, 1, member.Exiting, 2)))}, "although there is"},
		{"led by the unreachable", []*member.View{ledBy(nodeAt(1, 1), unreachable)}, "which is unreachable"},
	}
	for _, tt := range tests {
		w := newWorld(1, nil)
		n := &node{id: nodeAt(0, 1), view: &member.View{}, removed: map[member.ID]bool{}, gone: margin.NewWatch(w.margin(0))}
		w.nodes = []*node{n, {id: nodeAt(1, 1), view: &member.View{}, end: "not part of this"}}
		w.places = map[member.Address]int{placeAddress(0): 0, placeAddress(1): 1}
		report := play(w, func(w *World) {
			for _, v := range tt.views {
				old := n.view
				n.view = v
				w.checkView(n, old)
			}
			w.Run(2 * time.Minute)
		})
		if (report == "") != (tt.want == "") || !strings.Contains(report, tt.want) {
			t.Errorf("%s: complaint %q, want %q", tt.name, report, tt.want)
		}
	}
}
