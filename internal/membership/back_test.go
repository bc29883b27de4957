package membership

import (
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/sbr"
)

// A member may be told that it is one still before the news gets round that its
// crash was confirmed. Who has a link to it again does not take over at once.
func TestCrashIsNotBelievedOfWhoCameBack(t *testing.T) {
	now := time.Unix(1000, 0)
	k := &crashes{self: node(0), isolation: isolation}
	v := viewOf(3, 0)
	k.step(now, v, gossip.LinkBroke{Peer: node(1)}, false)
	k.step(now, v, gossip.LinkBroke{Peer: node(2)}, false)
	k.step(now.Add(time.Second), v, gossip.Dialed{Peer: node(2), Result: gossip.Answered}, false)
	v.Crashed = []member.ID{node(1), node(2)}
	if got := k.withoutBack(v).Crashed; !slices.Equal(got, []member.ID{node(1)}) {
		t.Errorf("crashed: %v, want node 1 alone: node 2 answered", got)
	}
	k.step(now.Add(time.Minute), v, gossip.LinkBroke{Peer: node(2)}, false)
	if got := k.withoutBack(v).Crashed; !slices.Equal(got, v.Crashed) {
		t.Errorf("crashed: %v, want %v: the link to node 2 broke again", got, v.Crashed)
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
