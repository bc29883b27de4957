package shard

import (
	"time"

	"github.com/troupe-go/troupe/actor"
)

// A sweep goes round the entities of a node to passivate the idle ones. There is
// no timer per entity; one that has become idle is found in the round after, so
// that it lives up to half as long again. The round goes in slices with rests in between, so that
// among millions of entities the loop has time for other things, and it holds a
// shard's lock for a few entities only.
type sweep struct {
	next time.Time // when the next slice is due; zero for never
	// Where the round stands: all shards before slot are done, and of it the
	// entities from at on, because a list fills its gaps from the end.
	slot, at int
}

const (
	minSweep   = 100 * time.Millisecond // from one round to the next, at least
	sweepSlice = 1024                   // entities between two rests
	sweepHold  = 256                    // entities under one lock
	minRest    = time.Millisecond
)

// sweepEvery is the time of a round.
func (r *shell[M]) sweepEvery() time.Duration { return max(r.typ.Idle/2, minSweep) }

// passivate does one slice of the round.
func (r *shell[M]) passivate(now time.Time) {
	before := now.Add(-r.typ.Idle)
	var idle []*actor.Cell[M]
	for left := sweepSlice; left > 0; {
		if r.sweep.slot == len(r.slots) {
			r.sweep.slot = 0
			r.sweep.next = now.Add(r.sweepEvery())
			return
		}
		seen := 0
		idle = idle[:0]
		if s := r.slots[r.sweep.slot].Load(); s != nil {
			idle, seen, r.sweep.at = s.idle(idle, r.sweep.at, before)
		}
		for _, c := range idle {
			r.retire(c) // false if a message came meanwhile
		}
		if r.sweep.at == 0 {
			r.sweep.slot++
		}
		left -= max(seen, 1)
	}
	share := float64(sweepSlice) / float64(max(r.count.Load(), sweepSlice))
	r.sweep.next = now.Add(max(minRest, time.Duration(share*float64(r.sweepEvery()))))
}

// idle looks at some of the entities in front of at, or from the end on if at is
// zero, and gives those that were idle since before, how many it looked at, and
// where to go on: zero when it is through.
func (s *slot[M]) idle(into []*actor.Cell[M], at int, before time.Time) (idle []*actor.Cell[M], seen, next int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.here
	if h == nil || h.ending {
		return into, 0, 0
	}
	if n := len(h.entities); at == 0 || at > n {
		at = n
	}
	next = max(0, at-sweepHold)
	for _, e := range h.entities[next:at] {
		cell := e.cell.Load()
		if !e.always && e.late.Load() == nil && !cell.IdleSince().After(before) {
			into = append(into, cell)
		}
	}
	return into, at - next, next
}
