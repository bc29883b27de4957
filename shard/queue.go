package shard

import (
	"sync/atomic"
	"time"
)

// A queue is parcels in order. The zero value is empty and holds no memory.
type queue[M any] struct {
	items []parcel[M]
	head  int
}

func (q *queue[M]) len() int { return len(q.items) - q.head }

func (q *queue[M]) push(p ...parcel[M]) { q.items = append(q.items, p...) }

// pop takes the first; there must be one.
func (q *queue[M]) pop() parcel[M] {
	p := q.items[q.head]
	q.items[q.head] = parcel[M]{}
	if q.head++; q.head == len(q.items) {
		q.items, q.head = nil, 0
	}
	return p
}

// first is the parcel that pop would take; it is valid until then.
func (q *queue[M]) first() *parcel[M] { return &q.items[q.head] }

// stamp notes when parcels began to wait, a while later.
func (q *queue[M]) stamp(now time.Time) {
	for i := len(q.items) - 1; i >= q.head && q.items[i].since.IsZero(); i-- {
		q.items[i].since = now
	}
}

// take empties the queue and gives what was in it.
func (q *queue[M]) take() []parcel[M] {
	items := q.items[q.head:]
	q.items, q.head = nil, 0
	return items
}

// takeOut takes out all that match.
func (q *queue[M]) takeOut(match func(*parcel[M]) bool) (out []parcel[M]) {
	kept := q.items[:q.head]
	for _, p := range q.items[q.head:] {
		if match(&p) {
			out = append(out, p)
		} else {
			kept = append(kept, p)
		}
	}
	clear(q.items[len(kept):])
	if q.items = kept; q.len() == 0 {
		q.items, q.head = nil, 0
	}
	return out
}

// room is the bound on what waits in all queues of a type on this node.
type room struct {
	used  atomic.Int64
	limit int64
	line  line // of those who wait for a place
}

// take asks for the place of one more message.
func (r *room) take() bool {
	for {
		used := r.used.Load()
		if used >= r.limit {
			return false
		}
		if r.used.CompareAndSwap(used, used+1) {
			return true
		}
	}
}

// force takes the place of n messages that were accepted elsewhere before, in a
// mailbox, and cannot be refused any more.
func (r *room) force(n int) { r.used.Add(int64(n)) }

// give gives a place back, and has whoever waits for one try.
func (r *room) give() {
	r.used.Add(-1)
	r.line.call(1)
}
