package gossip

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

func TestClusterForms(t *testing.T) {
	for _, n := range []int{1, 3, 10, 50} {
		w := newWorld(t, uint64(n))
		w.codec = n <= 10
		nodes := w.cluster(n)
		if first := nodes[0].View(); n > 1 {
			m, _ := first.Member(nodes[0].id)
			if m.UpNumber != 1 || first.Leader != nodes[0].id {
				t.Errorf("%d nodes: the founder has rank %d, the leader is %v", n, m.UpNumber, first.Leader)
			}
		}
		t.Logf("%d nodes: up after %v, %d steps", n, w.now.Sub(time.UnixMilli(1_700_000_000_000)), w.steps)
	}
}

func TestLeave(t *testing.T) {
	w := newWorld(t, 1)
	nodes := w.cluster(3)
	for _, leaver := range nodes {
		w.do(leaver, Leave{leaver.id.Address})
		w.within(10*time.Second, "exiting", func() bool { return leaver.exits })
		w.run(5 * time.Second)
		if leaver.dead || leaver.status(leaver.id) != member.Exiting {
			t.Fatalf("%v did not wait for its exiting tasks:\n%s", leaver.id, leaver.Describe())
		}
		w.do(leaver, ExitDone{})
		w.within(10*time.Second, "left", func() bool { return leaver.stop != nil && w.up() })
		if leaver.stop.Reason != Left {
			t.Errorf("%v stopped as %v", leaver.id, leaver.stop.Reason)
		}
	}
}
