//go:build chaos && linux

package chaos

import (
	"flag"
	"testing"
	"time"

	"github.com/troupe-go/troupe/chaos/network"
	"github.com/troupe-go/troupe/chaos/record"
)

var lasting = flag.Duration("lasting", 30*time.Second, "how long the network or a processor is bad")

// TestNobodyIsDownedByLoss loses 5 % of all packets between five nodes with default
// settings, for a while.
func TestNobodyIsDownedByLoss(t *testing.T) {
	r := rehearse(t, 5, majority)
	r.net.Set(network.Link{Loss: 0.05})
	r.wantNobodyDowned(*lasting)
}

// TestNobodyIsDownedBySlowness lets one of nine nodes with default settings have a
// tenth of a processor, for a while.
func TestNobodyIsDownedBySlowness(t *testing.T) {
	r := rehearse(t, 9, majority)
	slow := r.slowDown(9, 0.1)
	r.wantNobodyDowned(*lasting)
	if times := slow.throttled(t); times == 0 {
		t.Error("node 9 was never held back, so that this shows nothing")
	} else {
		t.Logf("node 9 was held back %d times", times)
	}
}

// wantNobodyDowned wants that all nodes go on for a while, hold nobody for down
// and serve in the end.
func (r *rehearsal) wantNobodyDowned(lasting time.Duration) {
	r.t.Helper()
	began := record.Now()
	all := r.alive()
	over := time.After(lasting)
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for going := true; going; {
		select {
		case <-over:
			going = false
		case <-look.C:
		}
		if alive := r.alive(); len(alive) < len(all) {
			r.t.Fatalf("%v after it began only %s of %s are left", record.Now()-began, setOf(alive), setOf(all))
		}
	}
	ended := record.Now()
	r.eventually("all are one cluster that serves", func() error { return r.whole(all, ended) })
	suspected := 0
	for _, e := range r.events() {
		if e.At < began {
			continue
		}
		if len(e.Down) > 0 {
			r.t.Errorf("node %d held %v for down, %v after it began", e.Node, e.Down, e.At-began)
		}
		if e.Kind == record.Resolved {
			suspected++
			r.t.Logf("%v after it began, node %d: %s", (e.At - began).Round(time.Millisecond), e.Node, e.Text)
		}
	}
	r.t.Logf("nobody was downed in %v; resolvers said something %d times; longest silence of an entity %v",
		lasting, suspected, record.Gap(r.events(), began).Round(time.Millisecond))
	for _, o := range record.Overlaps(r.events()) {
		r.t.Error(o)
	}
}
