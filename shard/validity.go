package shard

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// A validity is until when this node may act for what it hosts of a type. The
// loop moves it on, and whoever is about to act asks it with a fresh look at the
// clock: a process that has just woken thus does nothing for shards that may be
// another's by now, whichever of its goroutines comes first.
type validity struct {
	until atomic.Pointer[time.Time] // nil while there is no place to act from

	mu      sync.Mutex
	changed chan struct{} // closed, and made anew, whenever until has
	ended   bool
}

func newValidity() *validity { return &validity{changed: make(chan struct{})} }

// hold is what keeps the entities from acting while v says that they must not.
func (v *validity) hold() *actor.Hold { return actor.NewHold(v.over, v.await) }

// over tells whether this node may not act now. It asks the monotonic clock, and
// the wall clock as well, because the former stands still while a machine is
// suspended. If the wall clock was merely set, the next renewal makes it valid again.
func (v *validity) over() bool {
	until := v.until.Load()
	if until == nil {
		return true
	}
	now := time.Now()
	return !now.Before(*until) || !now.Round(0).Before(until.Round(0))
}

// extend moves the end on; a zero time says that what was hosted is lost.
func (v *validity) extend(until time.Time) {
	old := v.until.Load()
	switch {
	case until.IsZero() && old == nil, old != nil && old.Equal(until):
		return
	case until.IsZero():
		v.until.Store(nil)
	default:
		v.until.Store(&until)
	}
	v.tell(false)
}

// end lets go of all who wait.
func (v *validity) end() {
	v.until.Store(nil)
	v.tell(true)
}

func (v *validity) tell(ended bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = v.ended || ended
	close(v.changed)
	v.changed = make(chan struct{})
}

// await returns when this node may act again, or with false when what it hosted is
// lost: whoever waits here is stopped then.
func (v *validity) await() bool {
	for {
		v.mu.Lock()
		changed, ended := v.changed, v.ended
		v.mu.Unlock()
		switch {
		case ended || v.until.Load() == nil:
			return false
		case !v.over():
			return true
		}
		<-changed
	}
}
