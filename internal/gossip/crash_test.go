package gossip

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// A member whose crash is confirmed is gone after a few trips of a message,
// whoever finds out: nobody waits for a round or for a leader's tick.
func TestCrashedMemberIsRemovedAtOnce(t *testing.T) {
	for _, size := range []int{3, 5, 9, 50} {
		for _, who := range []struct{ finder, crashed int }{{0, 1}, {1, 0}, {2, 0}, {1, 2}} {
			t.Run(fmt.Sprintf("%d of %d by %d", who.crashed, size, who.finder), func(t *testing.T) {
				w := newWorld(t, uint64(size))
				nodes := w.cluster(size)
				w.run(time.Minute) // so that the ticks of leaders are where they may be
				gone := nodes[who.crashed].id
				w.crash(nodes[who.crashed])
				w.do(nodes[who.finder], Crashed{ID: gone})
				within := 100 * time.Millisecond
				if size > hurryTo {
					within = 2 * time.Second // the rest learns by rounds
				}
				w.run(within)
				for _, n := range w.living() {
					if m, there := n.View().Member(gone); there {
						t.Errorf("%v after %v: %v is still %v", n.id, within, gone, m.Status)
					}
					if !slices.ContainsFunc(n.events, func(e Event) bool {
						removed, ok := e.(MemberRemoved)
						return ok && removed.Member.ID == gone && removed.Previous == member.Down
					}) {
						t.Errorf("%v was not told that %v is removed", n.id, gone)
					}
				}
			})
		}
	}
}

// All nodes know that a member crashed, and was not only downed, before it is
// removed, and for a while after that: what was its own may be taken over without waiting.
func TestCrashIsKnownToAllBeforeRemoval(t *testing.T) {
	w := newWorld(t, 1)
	nodes := w.cluster(5)
	gone := nodes[4].id
	w.crash(nodes[4])
	w.do(nodes[0], Crashed{ID: gone})
	known := map[member.ID]bool{}
	for range 200 {
		w.run(time.Millisecond)
		for _, n := range w.living() {
			v := n.View()
			known[n.id] = known[n.id] || slices.Contains(v.Crashed, gone)
			if _, there := v.Member(gone); !there && (!known[n.id] || !v.Ended(gone)) {
				t.Fatalf("%v has removed %v, and never knew that it crashed", n.id, gone)
			}
		}
	}
	if len(known) != 4 {
		t.Errorf("%d of 4 nodes knew", len(known))
	}
}

// A member that was only downed is not taken for one that crashed.
func TestDownIsNoCrash(t *testing.T) {
	w := newWorld(t, 1)
	nodes := w.cluster(3)
	w.crash(nodes[2])
	w.do(nodes[0], Down{Address: nodes[2].id.Address})
	w.run(time.Millisecond)
	if v := nodes[0].View(); nodes[0].status(nodes[2].id) != member.Down || len(v.Crashed) != 0 {
		t.Errorf("status %v, crashed %v; want Down, nobody", nodes[0].status(nodes[2].id), v.Crashed)
	}
}

// MEM-03: what crashes before it came up is removed as quickly as anybody.
func TestMEM03CrashBeforeUp(t *testing.T) {
	w := newWorld(t, 1)
	w.cfg.MinMembers = 4
	nodes := []*node{w.start(0), w.start(1), w.start(2)}
	w.within(20*time.Second, "all are joining", func() bool { return w.agreed(member.Joining) })
	w.crash(nodes[2])
	w.do(nodes[0], Crashed{ID: nodes[2].id})
	w.run(100 * time.Millisecond)
	if v := nodes[0].View(); len(v.Members) != 2 {
		t.Errorf("members %v, want the two that live", v.Members)
	}
}
