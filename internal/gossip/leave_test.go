package gossip

import (
	"testing"
	"time"
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
