package shard

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard/internal/window"
	"github.com/troupe-go/troupe/wire"
)

// This file is the sender's end of what is delivered at least once. All of it
// needs the slot's lock.

// A letter is a message that this node has sent and keeps until it is confirmed. It
// has a place in the type's room for that time. There may be many, so all that can
// be read from the frame is.
type letter[M any] struct {
	frame       []byte // as it goes to its home, but for what is filled in when it goes
	m           M
	pending     wire.Pending // nil for a tell
	correlation uint64       // of an ask of this node; 0 otherwise
}

// post keeps a message and sends it, for the first time. An error means that it was
// not taken, and is not kept either.
func (s *slot[M]) post(rt *route[M], l letter[M]) error {
	n, after := s.out.Add(rt.epoch, l)
	address(l.frame, rt.epoch, l.correlation)
	number(l.frame, n, after)
	if err := s.r.port.Send(rt.home, s.lane, l.frame); err != nil {
		s.out.Undo()
		return err
	}
	s.r.keepBeating()
	return nil
}

// postNew is post of what a teller has just encoded behind head in frame.
func (s *slot[M]) postNew(rt *route[M], p parcel[M], frame []byte, head int, pending wire.Pending) error {
	if !s.r.room.take() {
		return s.r.full(p.id)
	}
	l := letter[M]{frame: slices.Clone(frame), m: p.m, pending: pending}
	if pending != nil {
		s.tidy()
		if _, elsewhere := pending.Replier().(relayed); elsewhere {
			p.bind(&seal{message: l.frame[head:], pending: pending})
			return s.posted(p, s.postWaiting(rt, &p))
		}
		l.correlation = s.r.node.Expect(troupe.ID{}, pending)
	}
	err := s.post(rt, l)
	if gone(err) {
		p.bind(&seal{message: l.frame[head:], pending: pending, correlation: l.correlation})
	}
	return s.posted(p, err)
}

// posted ends the tell of a message that has a place in the room.
func (s *slot[M]) posted(p parcel[M], err error) error {
	if err == nil {
		return nil
	}
	s.r.room.give()
	return s.sent(p, err)
}

// postWaiting is post of a message that waited, and whose place in the room it keeps.
func (s *slot[M]) postWaiting(rt *route[M], p *parcel[M]) error {
	if err := p.sealed(s.r.typ.Protocol); err != nil {
		return err
	}
	e := envelope{
		kind: frameMessage, flags: flagKept, shard: int32(s.number),
		remaining: remaining(p.deadline, time.Now()), number: 1, id: p.id,
	}
	l := letter[M]{m: p.m, pending: p.pending}
	if p.origin != nil {
		e.kind, e.node = frameRelayed, p.origin.asker
	} else {
		l.correlation = p.expect(s.r.node, troupe.ID{})
	}
	l.frame = append(e.append(make([]byte, 0, keptSize+envelopeSize+len(p.id)+len(p.message)+few)), p.message...)
	if p.origin == nil {
		return s.post(rt, l)
	}
	l.correlation = p.origin.correlation
	if err := s.post(rt, l); err != nil {
		return err
	}
	s.redirect(*p.origin, rt.home)
	return nil
}

// few is room for what else an envelope may have.
const few = 16

// tidy lets go of asks that were answered, the oldest first: nobody need confirm them.
func (s *slot[M]) tidy() {
	for k := s.out.First(); k != nil && s.ended(k); k = s.out.First() {
		s.letGo(k, "", nil)
		s.out.Let(k.Number)
	}
}

// ended tells whether a letter is an ask of this node that has ended.
func (s *slot[M]) ended(k *window.Kept[letter[M]]) bool {
	l := &k.Item
	return l.correlation != 0 && l.frame[0] == frameMessage && !s.r.node.Awaits(l.correlation)
}

// resend sends again what the present home has to get again, before anything new;
// false when it could not be finished now.
func (s *slot[M]) resend(rt *route[M], now time.Time) bool {
	for {
		k, after := s.out.Next(rt.epoch)
		if k == nil {
			return true
		}
		if !s.worthwhile(k, now) {
			continue
		}
		switch err := s.sendAgain(rt, k, after, now); {
		case err == nil:
			s.out.Sent(k)
		case retryable(err):
			return false
		default:
			s.letGo(k, DropUnconfirmed, err) // it was sent before
			s.out.Let(k.Number)
		}
	}
}

// sendAgain gives a letter to the link once more, or to its entity if that is here now.
func (s *slot[M]) sendAgain(rt *route[M], k *window.Kept[letter[M]], after uint64, now time.Time) error {
	l := &k.Item
	if rt.here != nil {
		e, _, _ := openEnvelope(l.frame)
		if !rt.here.take(parcel[M]{id: e.id, m: l.m}, arrival{s.r.self, k.Number, after, k.Before > 0}) {
			return actor.ErrFull
		}
		return nil
	}
	address(l.frame, rt.epoch, l.correlation)
	number(l.frame, k.Number, after)
	if k.Before > 0 {
		l.frame[atFlags] |= flagRepeat
	}
	until, _ := l.deadline()
	binary.BigEndian.PutUint64(l.frame[atRemaining:], uint64(remaining(until, now).Microseconds()))
	err := s.r.port.Send(rt.home, s.lane, l.frame)
	if err == nil && l.frame[0] == frameRelayed {
		e, _, _ := openEnvelope(l.frame)
		s.redirect(origin{e.node, l.correlation}, rt.home)
	}
	return err
}

// deadline is when the asker gives up, if there is one and it does.
func (l *letter[M]) deadline() (time.Time, bool) {
	if l.pending == nil {
		return time.Time{}, false
	}
	return l.pending.Deadline()
}

// maxOwners is how many tenures get a message. One that none of so many has
// confirmed may well be what ends them: a message that kills the process that
// handles it would go on to kill the next.
const maxOwners = 10

// worthwhile lets go of a letter that nobody waits for any more, an ask that has
// ended, and of one that has been the last of too many owners.
func (s *slot[M]) worthwhile(k *window.Kept[letter[M]], now time.Time) bool {
	until, limited := k.Item.deadline()
	switch {
	case s.ended(k):
		s.letGo(k, "", nil)
	case limited && !now.Before(until):
		s.letGo(k, DropExpired, context.DeadlineExceeded)
	case k.Before >= maxOwners && !k.Handled:
		s.letGo(k, DropPoison, ErrPoison)
	default:
		return true
	}
	s.out.Let(k.Number)
	return false
}

// letGo ends the keeping of a letter, and drops its message if there is a reason.
func (s *slot[M]) letGo(k *window.Kept[letter[M]], why Drop, err error) {
	s.r.room.give()
	if why == "" || k.Handled {
		return
	}
	l := &k.Item
	e, message, _ := openEnvelope(l.frame)
	s.r.drop(parcel[M]{id: e.id, m: l.m, seal: &seal{message: message, pending: l.pending}}, why, err)
}

// stays tells whether a letter that was confirmed is kept all the same: an ask whose answer
// is still to come. If the owner crashes before it is asked again.
func (s *slot[M]) stays(k *window.Kept[letter[M]]) bool {
	if k.Item.correlation != 0 && k.Item.frame[0] == frameMessage && s.r.node.Awaits(k.Item.correlation) {
		return true
	}
	s.letGo(k, "", nil)
	return false
}

// confirmed takes what an owner has said. Nobody who calls it may hold a slot's lock.
func (r *shell[M]) confirmed(from troupe.ID, all []window.Confirmation) {
	now := time.Now()
	for _, c := range all {
		if s, ok := r.slotNumbered(int(c.Shard)); ok {
			s.confirmed(from, c, now)
		}
	}
}

// confirmed takes what the owner has said of this shard.
func (s *slot[M]) confirmed(from troupe.ID, c window.Confirmation, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range c.Done {
		s.out.Confirm(r, s.keeps)
	}
	s.out.Heard(len(c.Done) > 0 || c.Again > 0)
	if rt := s.target; c.Again > 0 && rt != nil && rt.home == from && rt.epoch == c.Epoch {
		s.out.Again(c.Again)
		s.steer(nil)
		s.flush(now)
	}
	if s.out.Waits() == 0 {
		s.r.settled.call(math.MaxInt)
	}
}

// beats is how often what is kept is looked at within Type.Retry.
const beats = 8

// keepBeating sees to it that what is kept is looked after.
func (r *shell[M]) keepBeating() {
	if !r.beating.Load() && r.beating.CompareAndSwap(false, true) {
		r.control.posts.Signal()
	}
}

// beat looks after all that is kept here. What is added meanwhile is looked after
// the next time.
func (r *shell[M]) beat(now time.Time) {
	r.beating.Store(false)
	for s := range r.allSlots() {
		if s.beat(now) {
			r.beating.Store(true)
		}
	}
}

// beat looks after what is kept: it asks an owner that says nothing, and gives up what
// nobody has said anything about for too long. It tells whether anything is kept still.
func (s *slot[M]) beat(now time.Time) (kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out.Len() == 0 {
		return false
	}
	s.out.Release(func(k *window.Kept[letter[M]]) bool {
		if !s.ended(k) {
			return false
		}
		s.letGo(k, "", nil)
		return true
	})
	s.out.Overdue(now.Add(-s.r.typ.DeliverWithin), func(k *window.Kept[letter[M]]) {
		s.letGo(k, DropUnconfirmed, ErrUnconfirmed)
	})
	if s.out.Waits() == 0 {
		s.r.settled.call(math.MaxInt)
	}
	ask := s.out.Tick(now, s.r.typ.Retry/beats, s.r.typ.Retry)
	if rt := s.direct.Load(); ask && rt != nil && rt.here == nil {
		s.inquire(rt)
	}
	return s.out.Len() > 0
}

// inquire asks the owner what became of all that is kept. The answer is exact, for the
// question comes behind everything that was sent.
func (s *slot[M]) inquire(rt *route[M]) {
	first, last, ok := s.out.Span()
	if !ok {
		return
	}
	e := envelope{kind: frameQuestion, shard: int32(s.number), epoch: rt.epoch}
	frame := window.AppendQuestion(e.append(nil), window.Question{First: first, Last: last})
	if err := s.r.port.Send(rt.home, s.lane, frame); err != nil {
		s.r.counts.add(DropQuestion) // it is asked again
		if gone(err) {
			s.steer(nil)
			s.r.control.retry()
		}
	}
}

// carryOver sends on what an entity here has not handled, and another node keeps.
func (s *slot[M]) carryOver(rt *route[M], p *parcel[M]) error {
	if err := p.sealed(s.r.typ.Protocol); err != nil {
		return err
	}
	e := envelope{
		kind: frameMessage, flags: flagKept | flagCarried, shard: int32(s.number), epoch: rt.epoch,
		remaining: remaining(p.deadline, time.Now()), number: p.ticket.number, id: p.id, sender: p.ticket.from.sender,
	}
	if p.ticket.repeat {
		e.flags |= flagRepeat
	}
	if p.origin != nil {
		e.kind, e.node, e.correlation = frameRelayed, p.origin.asker, p.origin.correlation
	}
	b := s.r.frame()
	defer s.r.putFrame(b)
	*b = append(e.append((*b)[:0]), p.message...)
	err := s.r.port.Send(rt.home, s.lane, *b)
	if err == nil {
		p.ticket.from.carried++
	}
	return err
}
