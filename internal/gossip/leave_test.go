package gossip

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// Of a large side that is declared down at one moment, only some are sent the
// whole state: the burst of who decides does not grow with the square of the cluster.
func TestDownOfManyTellsFew(t *testing.T) {
	w := newWorld(t, 1)
	nodes := w.cluster(60)
	w.run(10 * time.Second)
	m, now := nodes[0].Machine, w.now
	tell := func(now time.Time, gone []*node) (told int) {
		for _, n := range gone {
			for _, p := range m.Step(now, Down{Address: n.id.Address}).Send {
				if p.To == n.id {
					told++
				}
			}
		}
		return told
	}
	if told := tell(now, nodes[10:]); told != hurryTo {
		t.Errorf("told %d of %d that were declared down at once, want %d", told, len(nodes[10:]), hurryTo)
	}
	if told := tell(now.Add(time.Second), nodes[9:10]); told != 1 {
		t.Errorf("told %d of one that was declared down a second later, want it", told)
	}
}

// Who was reachable to the last has confirmed its end, so that others take over its work at once: a leaver that
// falls silent must be seen unreachable first, also by those who see one view at a time.
func TestSilentLeaverIsSeenUnreachableBeforeItIsRemoved(t *testing.T) {
	w := newWorld(t, 1)
	nodes := w.cluster(2)
	leaver, m := nodes[1].id, nodes[0].Machine
	w.do(nodes[1], Leave{Address: leaver.Address})
	w.within(10*time.Second, "the leaver is Exiting", func() bool {
		self, ok := m.View().Member(leaver)
		return ok && self.Status == member.Exiting
	})
	for now := w.now; ; now = now.Add(100 * time.Millisecond) {
		before := m.View()
		m.Step(now, Tick{})
		if _, still := m.View().Member(leaver); !still {
			if before.Reachable(leaver) {
				t.Error("it was removed and had been reachable to the last")
			}
			return
		}
		if now.Sub(w.now) > time.Minute {
			t.Fatal("it was not removed within a minute of silence")
		}
	}
}
