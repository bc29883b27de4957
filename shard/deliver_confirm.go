package shard

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/shard/internal/window"
	"github.com/troupe-go/troupe/transport"
)

// How long a confirmation waits for others, and how many go at once.
const (
	confirmEvery = 5 * time.Millisecond
	confirmBatch = 256
)

// confirms collects what entities have handled until it is confirmed. Its lock is a
// leaf: whoever holds a slot's lock may take it.
type confirms[M any] struct {
	mu      sync.Mutex
	tickets []*ticket[M]
	other   []*ticket[M] // the memory of the batch before

	settling sync.Mutex
	ranges   []window.Range // the memory of those of one batch
	called   atomic.Bool    // the loop knows that something waits
	wake     func()         // has it look
}

// add notes that a message was handled, and tells whether there are enough to confirm
// them at once, for who holds no slot's lock.
func (c *confirms[M]) add(t *ticket[M]) (enough bool) {
	c.mu.Lock()
	c.tickets = append(c.tickets, t)
	n := len(c.tickets)
	c.mu.Unlock()
	if !c.called.Load() && c.called.CompareAndSwap(false, true) {
		c.wake()
	}
	return n >= confirmBatch
}

func (c *confirms[M]) take() []*ticket[M] {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.tickets
	c.tickets = c.other[:0]
	c.other = list
	return list
}

// settle confirms what was handled. Nobody who calls it may hold a slot's lock.
func (r *shell[M]) settle() {
	r.confirms.settling.Lock()
	defer r.confirms.settling.Unlock()
	r.confirms.called.Store(false)
	var dirty []*inbound[M]
	list := r.confirms.take()
	for _, t := range list {
		if len(t.from.done)+len(t.from.answered) == 0 {
			dirty = append(dirty, t.from)
		}
		if t.ask != nil && t.ask.answered.Load() { // the sender has its answer, and need not be told
			t.from.answered = append(t.from.answered, answer{t.number, t.ask})
		} else {
			t.from.done = append(t.from.done, t.number)
		}
	}
	clear(list)
	// Confirmations to one node go together, in the order of its first.
	by := map[troupe.ID][]window.Confirmation{}
	r.confirms.ranges = r.confirms.ranges[:0]
	var senders []troupe.ID
	for _, from := range dirty {
		var c window.Confirmation
		if c, r.confirms.ranges = from.confirmation(r.confirms.ranges); len(c.Done) == 0 {
			continue
		}
		if _, ok := by[from.sender]; !ok {
			senders = append(senders, from.sender)
		}
		by[from.sender] = append(by[from.sender], c)
	}
	for _, id := range senders {
		r.confirm(id, by[id])
	}
}

// confirmation notes what of a sender was handled, and says it; the ranges are appended.
func (from *inbound[M]) confirmation(ranges []window.Range) (window.Confirmation, []window.Range) {
	s := from.s
	s.mu.Lock()
	for _, n := range from.done {
		from.in.Handled(n)
	}
	for _, a := range from.answered {
		from.keepAnswer(a)
	}
	s.mu.Unlock()
	c := window.Confirmation{Shard: int32(s.number)}
	first := len(ranges)
	ranges = window.Compact(ranges, from.done)
	c.Done = ranges[first:len(ranges):len(ranges)]
	clear(from.answered)
	from.done, from.answered = from.done[:0], from.answered[:0]
	return c, ranges
}

// confirm tells a sender. What gets lost is found when the sender asks. Only settle tells
// this node itself.
func (r *shell[M]) confirm(to troupe.ID, all []window.Confirmation) {
	if to == r.self {
		r.confirmed(to, all)
		return
	}
	for part := range slices.Chunk(all, confirmBatch) {
		frame := window.AppendConfirmations([]byte{frameConfirm}, part)
		if err := r.port.Send(to, transport.Control, frame); err != nil {
			r.counts.add(DropConfirm)
		}
	}
}
