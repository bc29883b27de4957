package shard

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/shard/internal/window"
)

// maxHeld is how many messages of one entity wait for their order; beyond it the
// first goes before its time.
const maxHeld = 1000

// orders are what waits on a shard's owner to be put in order, by entity. The
// slot's lock guards it.
type orders[M any] map[string]*window.Order[parcel[M]]

// inOrder holds a message that has to wait for its place. One that needs none, that is
// late or for which there is no room is handled at once.
func (h *local[M]) inOrder(p parcel[M]) (held bool) {
	r := h.s.r
	if r.typ.Order == nil || p.inOrder {
		return false
	}
	key, ok := r.typ.Order(p.m)
	switch {
	case !ok:
		return false
	case !r.room.take():
		r.counts.add(DropLate)
		return false
	}
	p.inOrder = true
	o, known := h.orders[p.id]
	if !known {
		if h.orders == nil {
			h.orders = orders[M]{}
		}
		o = new(window.Order[parcel[M]])
		h.orders[p.id] = o
	}
	until := time.Now().Add(r.typ.OrderWithin)
	if !o.Add(key, until, p) {
		r.room.give()
		r.counts.add(DropLate)
		return false
	}
	if o.Len() > maxHeld {
		h.releaseInOrder(o, time.Now())
	}
	r.orderDue.by(r.since(until), r.control.posts.Signal)
	return true
}

// releaseInOrder delivers what has waited long enough.
func (h *local[M]) releaseInOrder(o *window.Order[parcel[M]], now time.Time) {
	for {
		p, ok := o.Next(now, maxHeld)
		if !ok {
			return
		}
		h.resume(p)
	}
}

// releaseInOrder goes through the shard, and gives when the next is due.
func (s *slot[M]) releaseInOrder(now time.Time) (next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.here
	if h == nil || h.ending {
		return next
	}
	for id, o := range h.orders { // in any order: entities do not mind each other
		h.releaseInOrder(o, now)
		if at := o.Wake(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
		if o.Over(now.Add(-s.r.typ.OrderWithin)) {
			delete(h.orders, id)
		}
	}
	return next
}

// releaseInOrder goes through all shards.
func (r *shell[M]) releaseInOrder(now time.Time) {
	r.orderDue.at.Store(0)
	for s := range r.allSlots() {
		if next := s.releaseInOrder(now); !next.IsZero() {
			r.orderDue.by(r.since(next), func() {})
		}
	}
}

// unordered empties what waits when the shard ends here: the next home puts it in
// order again.
func (h *local[M]) unordered() (all []parcel[M]) {
	for _, id := range slices.Sorted(maps.Keys(h.orders)) {
		for _, p := range h.orders[id].Take() {
			p.inOrder = false
			all = append(all, p)
		}
	}
	h.orders = nil
	return all
}

// since is a time as it is counted from the start of the type here: steadily.
func (r *shell[M]) since(t time.Time) int64 { return int64(max(t.Sub(r.began), 1)) }

// An alarm is the earliest of several times; 0 for none.
type alarm struct{ at atomic.Int64 }

// by sets it to a time that is earlier, and tells of it.
func (a *alarm) by(at int64, tell func()) {
	for {
		old := a.at.Load()
		if old != 0 && old <= at {
			return
		}
		if a.at.CompareAndSwap(old, at) {
			tell()
			return
		}
	}
}
