package membership

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/sbr"
)

// A member may be told that it is one still before the news gets round that its
// crash was confirmed. Who has a link to it again, or has told it so, holds that
// against the news, and all heed it: nobody takes over at once.
func TestCrashIsNotBelievedOfWhoCameBack(t *testing.T) {
	for _, tt := range []struct {
		name string
		back func(w *world)
		want member.End
	}{
		{"nobody has seen it since", func(*world) {}, member.Crashed},
		{"a link to it was made again", func(w *world) {
			w.step(0, gossip.LinkBroke{Peer: w.ids[2]})
			w.step(0, gossip.Dialed{Peer: w.ids[2], Result: gossip.Answered})
		}, member.Downed},
		{"a node has vouched for it", func(w *world) { w.cores[0].Vouches(w.now, w.ids[2]) }, member.Downed},
		{"and its link broke again", func(w *world) {
			w.cores[0].Vouches(w.now, w.ids[2])
			w.step(0, gossip.LinkBroke{Peer: w.ids[2]})
		}, member.Crashed},
	} {
		w := newWorld(4, sbr.Settings{})
		tt.back(w)
		w.dead[2] = true
		w.step(1, gossip.Crashed{ID: w.ids[2]}) // late: it was confirmed long before
		w.run(20 * time.Second)
		for _, i := range []int{0, 1, 3} {
			if end, ok := w.cores[i].Machine().View().End(w.ids[2]); !ok || end != tt.want {
				t.Errorf("%s: for node %d it went by %v, %v; want %v", tt.name, i, end, ok, tt.want)
			}
		}
	}
}

// Whatever the strategy says, a member that the others may have confirmed to
// have crashed does not decide that it survives.
func TestWhoIsCutOffGoes(t *testing.T) {
	for _, s := range []sbr.Settings{{Strategy: sbr.KeepMajority{}}, {Strategy: sbr.KeepOldest{}}, {Strategy: sbr.StaticQuorum{Size: 1}}} {
		w := newWorld(3, s)
		w.dead[1], w.dead[2] = true, true
		w.step(0, gossip.LinkBroke{Peer: w.ids[1]})
		w.step(0, gossip.LinkBroke{Peer: w.ids[2]})
		w.run(30 * time.Second)
		if status := w.seen(0, 0); status != member.Down {
			t.Errorf("%s: node 0 is %v, want Down", s.Strategy.Name(), status)
		}
	}
}
