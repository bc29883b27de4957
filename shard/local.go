package shard

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
)

// A local is a shard that is hosted on this node: its entities. But for reads of
// the table, all of it is guarded by its slot's lock.
type local[M any] struct {
	s     *slot[M]
	epoch protocol.Epoch

	first *entity[M] // a list of all
	size  int

	// While the previous host still sends what it carries over, the messages of
	// others are held, so that they do not overtake.
	await troupe.ID
	held  queue[M]

	// ending: all entities stop, none is started, and what they leave is carried
	// to the next home.
	ending bool

	full []*entity[M] // whose mailbox could not take all that was accepted for them
}

// An entity is one id that is active here, over its incarnations.
type entity[M any] struct {
	id   string
	home *local[M]
	// open takes messages without the lock; nil while older ones wait.
	open atomic.Pointer[actor.Cell[M]]

	cell       *actor.Cell[M]
	late       *late[M] // what waits for the cell; nil when nothing does
	prev, next *entity[M]
}

// late is what an entity's messages wait in when its cell cannot take them.
type late[M any] struct {
	ending bool     // the cell is closed; its successor, if any, gets what waits. Otherwise its mailbox is full.
	own    queue[M] // what the entity told itself while it stopped
	wait   queue[M] // what others told it
}

// way gives the cell that takes a message at once, without the slot's lock, if
// there is one: the shard is open here and nothing older waits.
func (e *entity[M]) way() *actor.Cell[M] {
	if rt := e.home.s.direct.Load(); rt != nil && rt.here == e.home {
		return e.open.Load()
	}
	return nil
}

// find gives the entity with this id, if it is active here.
func (h *local[M]) find(id string) *entity[M] {
	if e := h.s.r.active.find(id); e != nil && e.home == h {
		return e
	}
	return nil
}

func (h *local[M]) add(e *entity[M]) {
	if e.next = h.first; e.next != nil {
		e.next.prev = e
	}
	h.first = e
	h.size++
	h.s.r.active.add(e)
}

func (h *local[M]) remove(e *entity[M]) {
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		h.first = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	}
	h.size--
	h.s.r.active.remove(e)
}

// tell takes a teller's message while the shard is open here.
func (h *local[M]) tell(ctx context.Context, p parcel[M]) error {
	e, err := h.entity(p.id)
	if err != nil {
		return h.s.r.refuse(p.id, err)
	}
	if e.late == nil {
		err := e.cell.Deliver(ctx, p.id, p.m)
		if !errors.Is(err, actor.ErrStopped) {
			return h.s.r.refuse(p.id, err)
		}
		e.close(true)
	}
	if !e.late.ending {
		return h.s.r.refuse(p.id, fmt.Errorf("older messages wait for it: %w", actor.ErrFull))
	}
	if !h.s.r.room.take() {
		return h.s.r.full(p.id)
	}
	e.late.wait.push(p)
	return nil
}

// accept takes a message that was accepted elsewhere: it waits where a teller
// would have been refused.
func (h *local[M]) accept(p parcel[M]) {
	switch e := h.deliver(p); {
	case e == nil:
	case h.s.r.room.take():
		e.late.wait.push(p)
	default:
		h.s.r.drop(p, DropFull, h.s.r.full(p.id))
	}
}

// resume takes a message that waited on this node, in whose place it may go on waiting.
func (h *local[M]) resume(p parcel[M]) {
	if e := h.deliver(p); e != nil {
		e.late.wait.push(p)
	} else {
		h.s.r.room.give()
	}
}

// deliver takes care of an accepted message, or gives the entity that it must wait for.
func (h *local[M]) deliver(p parcel[M]) *entity[M] {
	e, err := h.entity(p.id)
	if err != nil {
		h.s.r.drop(p, DropStart, err)
		return nil
	}
	if e.late != nil {
		return e
	}
	err = e.cell.Deliver(context.Background(), p.id, p.m)
	if err == nil {
		return nil
	}
	e.close(errors.Is(err, actor.ErrStopped))
	if !e.late.ending {
		h.full = append(h.full, e)
		h.s.r.control.retry()
	}
	return e
}

// entity finds the entity or starts it.
func (h *local[M]) entity(id string) (*entity[M], error) {
	if e := h.find(id); e != nil {
		return e, nil
	}
	e := &entity[M]{id: id, home: h}
	if err := h.incarnate(e); err != nil {
		return nil, err
	}
	e.open.Store(e.cell)
	h.add(e)
	return e, nil
}

// incarnate gives e a fresh cell, which is not open yet.
func (h *local[M]) incarnate(e *entity[M]) error {
	started := new(atomic.Bool)
	cell, err := actor.NewCell(h.s.r.node, actor.CellConfig[M]{
		Name:    e.id,
		Start:   h.s.r.startOf(h.s, started),
		Self:    h.s.r.ref(e.id),
		Options: h.s.r.options,
		Ended: func(left []M, reason actor.StopReason, err error) {
			h.ended(e, left, err, reason == actor.Failed && !started.Load())
		},
	})
	if err != nil {
		return err
	}
	e.cell, e.late = cell, nil
	return nil
}

// close ends the direct way into e's cell.
func (e *entity[M]) close(ending bool) {
	e.open.Store(nil)
	if e.late == nil {
		e.late = new(late[M])
	}
	e.late.ending = e.late.ending || ending
}

// ended is called when an incarnation is over, with the messages that it has not
// handled. They are the next incarnation's, here or at the shard's next home,
// behind what the entity told itself while it stopped and before what came later.
// A message whose handling failed is not among them, so that it cannot fail
// for ever; and when even the start failed, what waited is given up.
func (h *local[M]) ended(e *entity[M], left []M, err error, stillborn bool) {
	s := h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	e.close(true)
	var q queue[M]
	q.push(e.late.own.take()...)
	for _, m := range left {
		q.push(parcel[M]{id: e.id, m: m})
	}
	s.r.room.force(len(left))
	q.push(e.late.wait.take()...)
	switch {
	case s.r.ended.Load():
		h.remove(e)
		s.r.dropAll(&q, DropEnded, ErrEnded)
	case h.ending:
		h.remove(e)
		s.carry.push(q.take()...)
		h.finish()
	case stillborn:
		h.remove(e)
		s.r.dropAll(&q, DropStart, fmt.Errorf("start entity %s: %w", s.r.Describe(e.id), err))
	case q.len() == 0:
		h.remove(e)
	default:
		h.succeed(e, q)
	}
}

// succeed starts the next incarnation of e with what waits for it.
func (h *local[M]) succeed(e *entity[M], q queue[M]) {
	if err := h.incarnate(e); err != nil {
		h.remove(e)
		h.s.r.dropAll(&q, DropStart, err)
		return
	}
	for q.len() > 0 {
		h.resume(q.pop())
	}
	e.reopen()
}

// reopen opens the direct way if nothing older waits.
func (e *entity[M]) reopen() {
	if e.late == nil {
		e.open.Store(e.cell)
	}
}

// release delivers what was held for the previous host's sake.
func (h *local[M]) release(now time.Time) {
	for h.held.len() > 0 {
		p := h.held.pop()
		if p.expired(now) {
			h.s.r.room.give()
			h.s.r.drop(p, DropExpired, context.DeadlineExceeded)
			continue
		}
		h.resume(p)
	}
}

// again retries the entities whose mailbox was full.
func (h *local[M]) again() {
	full := h.full
	h.full = nil
	for _, e := range full {
		l := e.late
		if l == nil || l.ending {
			continue // its successor gets them
		}
		e.late = nil
		for l.wait.len() > 0 {
			h.resume(l.wait.pop())
		}
		e.reopen()
	}
}

// speaking gives the entity with this id if ctx is its own.
func (h *local[M]) speaking(ctx context.Context, id string) *entity[M] {
	cell, ok := actor.Current(ctx).(*actor.Cell[M])
	if !ok {
		return nil
	}
	if e := h.find(id); e != nil && e.cell == cell {
		return e
	}
	return nil
}

// tellSelf takes what an entity tells itself.
func (h *local[M]) tellSelf(ctx context.Context, e *entity[M], m M) error {
	if e.late == nil {
		err := e.cell.Deliver(ctx, e.id, m)
		if !errors.Is(err, actor.ErrStopped) {
			return h.s.r.refuse(e.id, err)
		}
		e.close(true)
	}
	if !e.late.ending && !h.ending {
		return h.s.r.refuse(e.id, fmt.Errorf("older messages wait for it: %w", actor.ErrFull))
	}
	if !h.s.r.room.take() {
		return h.s.r.full(e.id)
	}
	e.late.own.push(parcel[M]{id: e.id, m: m})
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
	if s.target != nil && s.target.here == h {
		s.forget()
		s.want()
	}
	h.ending = true
	cells := make([]*actor.Cell[M], 0, h.size)
	for e := h.first; e != nil; e = e.next {
		cells = append(cells, e.cell)
	}
	h.finish()
	s.mu.Unlock()
	for _, c := range cells {
		stop(c)
	}
	return h
}

// finish lets go of the shard when its last entity has ended.
func (h *local[M]) finish() {
	s := h.s
	if !h.ending || h.size > 0 || s.here != h {
		return
	}
	s.carry.push(h.held.take()...)
	s.here = nil
	s.want()
	s.r.control.post(region.Drained{Shard: s.shard, Epoch: h.epoch})
}

// remaining names some of the entities that have not ended yet.
func (h *local[M]) remaining() (n int, some []string) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	const few = 10
	for e := h.first; e != nil; e = e.next {
		if len(some) == few {
			break
		}
		some = append(some, e.id)
	}
	return h.size, some
}

// passivate stops the entities that were idle since before.
func (s *slot[M]) passivate(before time.Time) {
	s.mu.Lock()
	var idle []*actor.Cell[M]
	if h := s.here; h != nil && !h.ending {
		for e := h.first; e != nil; e = e.next {
			if e.late == nil && !e.cell.IdleSince().After(before) {
				idle = append(idle, e.cell)
			}
		}
	}
	s.mu.Unlock()
	for _, c := range idle {
		c.Passivate() // false if a message came meanwhile
	}
}

func (h *local[M]) describe() string {
	text := fmt.Sprintf("; %d entities", h.size)
	if !h.await.IsZero() {
		text += fmt.Sprintf("; %d messages held until %s has sent what it carries over", h.held.len(), h.await)
	}
	if h.ending {
		text += "; waits for them to end"
	}
	return text
}
