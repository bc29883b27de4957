package shard

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/troupe-go/troupe/actor"
	life "github.com/troupe-go/troupe/shard/internal/entity"
)

// An entity is one id that is active here, over its incarnations, or waits to be.
// There may be millions, so it is small: what few entities need hangs on a pointer.
type entity[M any] struct {
	id   string
	home *local[M]
	cell atomic.Pointer[actor.Cell[M]] // of the incarnation, or the last one; nil before the first
	late atomic.Pointer[late[M]]       // nil when nothing waits for the cell
	turn *turn                         // its turn among those that may have to go; nil without a limit

	hash    uint32     // the directory's
	at      int32      // place in the list of its shard
	uses    usage      // messages since its limiters last looked
	state   life.State // guarded by the slot's lock
	started bool       // the incarnation came to life; the runner's
	always  bool       // it is started without a message, and lives as long as its shard is here
}

// late is what an entity's messages wait in when its cell cannot take them.
type late[M any] struct {
	ending bool     // the cell is closed; its successor, if any, gets what waits. Otherwise its mailbox is full.
	own    queue[M] // what the entity told itself while it stopped
	wait   queue[M] // what others told it
}

// way gives the cell that takes a message at once, without the slot's lock, if
// there is one: the shard is open here and nothing older waits. The cell is read
// first: if it has a successor by then, either something waits still, or all that
// did went before.
func (e *entity[M]) way() *actor.Cell[M] {
	if !e.home.open.Load() {
		return nil
	}
	if cell := e.cell.Load(); e.late.Load() == nil {
		return cell
	}
	return nil
}

// incarnate gives e a fresh cell.
func (e *entity[M]) incarnate() error {
	r := e.home.s.r
	e.started = false
	cell, err := actor.NewCell(r.node, actor.CellConfig[M]{
		Name: e.id, Start: r.start, Self: r.ref(e.id), Options: r.options, Ended: e.ended,
	})
	if err != nil {
		return err
	}
	e.cell.Store(cell)
	r.limit.enter(e)
	return nil
}

// become takes e a step on in its life.
func (e *entity[M]) become(next life.State) {
	if remembered := e.home.memory != nil; !e.state.MayBecome(next, remembered) {
		panic(fmt.Sprintf("shard: entity %q cannot go from %v to %v; remembered: %t", e.id, e.state, next, remembered))
	}
	e.state = next
}

// incarnated tells whether e has an incarnation, which says itself when it has ended.
func (e *entity[M]) incarnated() bool { return e.state == life.Active || e.state == life.Passivating }

// shut ends the direct way into e's cell. The slot's lock is held, as for all
// that follows.
func (e *entity[M]) shut(ending bool) *late[M] {
	l := e.late.Load()
	if l == nil {
		l = new(late[M])
		e.late.Store(l)
	}
	l.ending = l.ending || ending
	return l
}

// ended is called when an incarnation is over, with the messages that it has not
// handled. They are the next incarnation's, here or at the shard's next home,
// behind what the entity told itself while it stopped and before what came later.
// A message whose handling failed is not among them, so that it cannot fail
// for ever; and when even the start failed, what waited is given up. One that
// failed rests before it is started again, and so does one that always lives, however
// it has ended.
func (e *entity[M]) ended(left []actor.Leftover[M], reason actor.StopReason, err error) {
	h := e.home
	s := h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.r.limit.leave(e)
	s.r.recovery.done(e)
	l := e.shut(true)
	var q queue[M]
	q.push(l.own.take()...)
	left = s.r.typ.withoutStop(left)
	for _, m := range left {
		q.push(parcel[M]{id: e.id, m: m.Message, ticket: ticketOf[M](m.Receipt)})
	}
	s.r.room.force(len(left))
	q.push(l.wait.take()...)
	switch {
	case s.r.ended.Load():
		h.remove(e)
		s.r.dropAll(&q, DropEnded, ErrEnded)
	case h.ending:
		h.remove(e)
		s.carry.push(q.take()...)
		h.finish()
	case reason == actor.Failed:
		if !e.started {
			s.r.dropAll(&q, DropStart, fmt.Errorf("start entity %s: %w", s.r.Describe(e.id), err))
		}
		h.rest(e, q)
	case e.always:
		h.rest(e, q)
	case h.memory != nil:
		h.strike(e, q)
	default:
		e.become(life.None)
		if q.len() == 0 {
			h.remove(e)
			return
		}
		h.succeed(e, q)
	}
}

// succeed starts the next incarnation of e with what waits for it.
func (h *local[M]) succeed(e *entity[M], q queue[M]) {
	if err := e.incarnate(); err != nil {
		h.remove(e)
		h.s.r.dropAll(&q, DropStart, err)
		return
	}
	e.become(life.Active)
	e.late.Store(new(late[M]))
	h.catchUp(e, q)
}

// catchUp delivers what waited for e, in order, and opens the direct way behind
// it. What the cell does not take goes on waiting.
func (h *local[M]) catchUp(e *entity[M], q queue[M]) {
	for q.len() > 0 {
		if err := e.put(*q.first()); err != nil {
			h.delay(e, err).wait = q
			return
		}
		q.pop()
		h.s.r.room.give()
	}
	e.late.Store(nil)
}

// put puts a message into the mailbox, with its ticket if it has one.
func (e *entity[M]) put(p parcel[M]) error {
	if p.ticket != nil {
		return e.cell.Load().DeliverWith(p.m, p.ticket)
	}
	return e.cell.Load().Deliver(context.Background(), e.id, p.m)
}

// delay has e's messages wait, because its cell refused one with err.
func (h *local[M]) delay(e *entity[M], err error) *late[M] {
	l := e.shut(errors.Is(err, actor.ErrStopped))
	if !l.ending {
		h.full = append(h.full, e)
		h.s.r.control.retry()
	}
	return l
}
