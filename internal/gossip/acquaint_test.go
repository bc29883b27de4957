package gossip

import (
	"testing"
	"time"
)

// Soon after a cluster has formed, a majority has links to each member, so that
// it can tell a crash by links that break; then nobody says hello any more.
func TestAMajorityHasLinksToEveryMember(t *testing.T) {
	const size = 60
	w := newWorld(t, 1)
	nodes := w.cluster(size)
	w.run(10 * time.Second)
	for _, subject := range nodes {
		known := 0
		for _, n := range nodes {
			if n.beats.met.has(subject.id) {
				known++
			}
		}
		if known <= size/2 {
			t.Errorf("%v is known to %d of %d", subject.id, known, size)
		}
	}
	for _, n := range nodes {
		beats := 0
		for _, p := range n.Step(w.now.Add(time.Second), Tick{}).Send {
			if _, ok := p.Msg.(Heartbeat); ok {
				beats++
			}
		}
		if want := len(n.beats.watch.Receivers()); beats > want {
			t.Errorf("%v sends %d heartbeats, want no more than to its %d neighbours", n.id, beats, want)
		}
	}
}
