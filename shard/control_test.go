package shard

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
)

// The control lane carries heartbeats too, so that its reader never waits for a
// busy type: what does not fit is counted and let go. A marker waits.
func TestFullInboxHoldsUpNoHeartbeat(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		n, other := w.start(), w.start()
		e := joinOn(t, n, l.declare(n))
		time.Sleep(time.Second)
		busy := make(chan struct{})
		e.r.control.queries <- func() { <-busy } // the loop does not look at what comes in
		frame := protocol.Append([]byte{frameControl}, protocol.GetShardHomes{Shards: []string{"1"}})
		for range inboxSize + 10 {
			e.r.Receive(other.id, 0, frame)
		}
		e.r.NoPort(other.id)
		if got := e.Region().Drops()[DropBusy]; got != 11 {
			t.Errorf("%d control messages dropped, want 11", got)
		}
		for range inboxSize {
			e.r.control.mark(region.Marked{From: other.id, Shard: "1"})
		}
		taken := make(chan struct{})
		go func() {
			e.r.control.mark(region.Marked{From: other.id, Shard: "1"})
			close(taken)
		}()
		synctest.Wait()
		select {
		case <-taken:
			t.Error("a marker did not wait for room")
		default:
		}
		close(busy)
		<-taken
	})
}
