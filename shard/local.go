package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	life "github.com/troupe-go/troupe/shard/internal/entity"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
)

// A local is a shard that is hosted on this node: its entities. But for open,
// all of it is guarded by its slot's lock.
type local[M any] struct {
	s      *slot[M]
	epoch  protocol.Epoch
	tenure *tenure     // the same for the store; nil without one
	open   atomic.Bool // the shard's direct way leads here

	entities []*entity[M] // all of them; the order means nothing

	// While the previous host still sends what it carries over, the messages of
	// others are held, so that they do not overtake.
	await troupe.ID
	held  queue[M]

	orders orders[M] // what waits to be put in order

	// ending: all entities stop, none is started, and what they leave is carried
	// to the next home.
	ending bool

	memory *memory // what is remembered of them; nil unless the type does

	full []*entity[M] // whose mailbox could not take all that was accepted for them
}

// find gives the entity with this id, if it is active here.
func (h *local[M]) find(id string) *entity[M] {
	if e := h.s.r.active.find(id); e != nil && e.home == h {
		return e
	}
	return nil
}

func (h *local[M]) add(e *entity[M]) {
	e.at = int32(len(h.entities))
	h.entities = append(h.entities, e)
	h.s.r.active.add(e)
	h.s.r.count.Add(1)
}

func (h *local[M]) remove(e *entity[M]) {
	last := len(h.entities) - 1
	moved := h.entities[last]
	h.entities[e.at], moved.at = moved, e.at
	h.entities[last] = nil
	if h.entities = h.entities[:last]; last == 0 {
		h.entities = nil
	}
	h.s.r.active.remove(e)
	h.s.r.count.Add(-1)
}

// tell takes a teller's message while the shard is open here.
func (h *local[M]) tell(p parcel[M]) error {
	if h.inOrder(p) {
		return nil
	}
	e, err := h.entity(p.id)
	if err != nil {
		return h.s.r.refuse(p.id, err)
	}
	l := e.late.Load()
	if l == nil {
		err := e.put(p)
		if !errors.Is(err, actor.ErrStopped) {
			return h.s.r.refuse(p.id, err)
		}
		l = e.shut(true)
	}
	if !l.ending {
		return h.s.r.refuse(p.id, fmt.Errorf("older messages wait for it: %w", actor.ErrFull))
	}
	if !h.s.r.room.take() {
		return h.s.r.full(p.id)
	}
	l.wait.push(p)
	return nil
}

// accept takes a message that was accepted elsewhere: it waits where a teller
// would have been refused.
func (h *local[M]) accept(p parcel[M]) {
	switch l := h.deliver(p); {
	case l == nil:
	case h.s.r.room.take():
		l.wait.push(p)
	default:
		h.s.r.drop(p, DropFull, h.s.r.full(p.id))
	}
}

// resume takes a message that waited on this node, in whose place it may go on waiting.
func (h *local[M]) resume(p parcel[M]) {
	if l := h.deliver(p); l != nil {
		l.wait.push(p)
	} else {
		h.s.r.room.give()
	}
}

// deliver takes care of an accepted message, or gives what it must wait in.
func (h *local[M]) deliver(p parcel[M]) *late[M] {
	if h.inOrder(p) {
		return nil
	}
	e, err := h.entity(p.id)
	if err != nil {
		h.s.r.drop(p, DropStart, err)
		return nil
	}
	if l := e.late.Load(); l != nil {
		return l
	}
	if err := e.put(p); err != nil {
		return h.delay(e, err)
	}
	return nil
}

// entity finds the entity or starts it. It is in the directory before its cell
// runs, which finds it there.
func (h *local[M]) entity(id string) (*entity[M], error) {
	if h.s.r.loads != nil {
		h.s.meter.messages.Add(1)
	}
	r := h.s.r
	if e := h.find(id); e != nil {
		e.used()
		if e.state != life.Active {
			h.called(e)
		}
		return e, nil
	}
	if err := r.typ.memorable(id); err != nil { // told by a node that does not declare Remember
		return nil, err
	}
	e := &entity[M]{id: id, home: h}
	h.add(e)
	e.turn = r.limit.turnOf(e)
	return e, h.enter(e)
}

// enter brings a new entity to life, or has it wait until it may live. It is gone
// after an error.
func (h *local[M]) enter(e *entity[M]) error {
	r := h.s.r
	switch {
	case h.memory != nil:
		return h.remember(e)
	case !r.typ.Backoff.Wakes && r.rests.hold(e.id):
		e.shut(true)
		return nil
	}
	if err := e.incarnate(); err != nil {
		h.remove(e)
		return err
	}
	e.become(life.Active)
	return nil
}

// release delivers what was held for the previous host's sake.
func (h *local[M]) release(now time.Time) {
	for h.held.len() > 0 {
		p := h.held.pop()
		if a := p.arrival; a != nil {
			p.arrival = nil
			h.s.r.room.give()
			h.take(p, *a)
			continue
		}
		if p.expired(now) {
			h.s.r.room.give()
			h.s.r.drop(p, DropExpired, context.DeadlineExceeded)
			continue
		}
		h.resume(p)
	}
}

// again retries the entities whose mailbox was full. While the shard ends, what
// waits is for its next home.
func (h *local[M]) again() {
	full := h.full
	h.full = nil
	if h.ending {
		return
	}
	for _, e := range full {
		l := e.late.Load()
		if l == nil || l.ending {
			continue // its successor gets them
		}
		q := l.wait
		l.wait = queue[M]{}
		h.catchUp(e, q)
	}
}

// speaking gives the entity with this id if ctx is its own.
func (h *local[M]) speaking(ctx context.Context, id string) *entity[M] {
	cell, ok := actor.Current(ctx).(*actor.Cell[M])
	if !ok {
		return nil
	}
	if e := h.find(id); e != nil && e.cell.Load() == cell {
		return e
	}
	return nil
}

// tellSelf takes what an entity tells itself.
func (h *local[M]) tellSelf(ctx context.Context, e *entity[M], m M) error {
	l := e.late.Load()
	if l == nil {
		err := e.cell.Load().Deliver(ctx, e.id, m)
		if !errors.Is(err, actor.ErrStopped) {
			return h.s.r.refuse(e.id, err)
		}
		l = e.shut(true)
	}
	if h.ending {
		l.ending = true // its successor hears it, perhaps before it was itself told to end
	}
	if !l.ending {
		return h.s.r.refuse(e.id, fmt.Errorf("older messages wait for it: %w", actor.ErrFull))
	}
	if !h.s.r.room.take() {
		return h.s.r.full(e.id)
	}
	l.own.push(parcel[M]{id: e.id, m: m})
	return nil
}

// end carries out region.Drain and region.Kill: entities work off what they
// have and stop, or stop at once. The core hears Drained when the last has ended.
func (s *slot[M]) end(stop func(*actor.Cell[M])) *local[M] {
	s.mu.Lock()
	h := s.here
	if h == nil {
		s.mu.Unlock()
		s.r.control.post(region.Drained{Shard: s.shard})
		return nil
	}
	cells := h.close()
	s.mu.Unlock()
	for _, c := range cells {
		stop(c)
	}
	return h
}

// close lets no entity start any more, and gives the cells to be stopped when the
// lock is let go of.
func (h *local[M]) close() []*actor.Cell[M] {
	s := h.s
	if s.target != nil && s.target.here == h {
		s.forget()
		s.want()
	}
	h.ending = true
	cells := make([]*actor.Cell[M], 0, len(h.entities))
	for _, e := range slices.Backward(h.entities) { // the gap of one that is removed is filled from the end
		if e.incarnated() {
			cells = append(cells, e.cell.Load())
			continue
		}
		s.carry.push(e.late.Load().wait.take()...)
		s.r.recovery.done(e)
		h.remove(e)
	}
	h.finish()
	return cells
}

// finish lets go of the shard when its last entity has ended.
func (h *local[M]) finish() {
	s := h.s
	if !h.ending || len(h.entities) > 0 || s.here != h {
		return
	}
	s.carry.push(h.unordered()...)
	for _, p := range h.held.take() {
		if p.arrival == nil {
			s.carry.push(p)
		} else { // its sender finds the next home by itself
			s.r.room.give()
			s.r.counts.add(DropBack)
		}
	}
	s.here = nil
	s.want()
	s.r.control.post(region.Drained{Shard: s.shard, Epoch: h.epoch})
}

// remaining names some of the entities that have not ended yet.
func (h *local[M]) remaining() (n int, some []string) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	const few = 10
	for _, e := range h.entities[:min(few, len(h.entities))] {
		some = append(some, e.id)
	}
	return len(h.entities), some
}

func (h *local[M]) describe() string {
	text := fmt.Sprintf("; %d entities", len(h.entities))
	if !h.await.IsZero() {
		text += fmt.Sprintf("; %d messages held until %s has sent what it carries over", h.held.len(), h.await)
	}
	if h.ending {
		text += "; waits for them to end"
	}
	return text
}
