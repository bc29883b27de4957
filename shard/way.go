package shard

import (
	"context"
	"errors"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
	"github.com/troupe-go/troupe/shard/internal/window"
	"github.com/troupe-go/troupe/transport"
)

// This file is what the region's core has a slot do: close its way, open the next one,
// and send on in between what has waited.

// forget closes the direct way; what is told from now on waits.
func (s *slot[M]) forget() {
	s.steer(nil)
	s.target, s.notice, s.wanted = nil, nil, false
}

// setBuffer carries out region.Buffer. No message can follow the marker, since
// whoever sends holds the lock and looks at direct.
func (s *slot[M]) setBuffer(a region.Buffer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	switch {
	case a.MarkTo == s.r.self:
		s.r.control.post(region.Marked{From: s.r.self, Shard: s.shard, Epoch: a.Epoch})
	case !a.MarkTo.IsZero():
		s.marked = true
		s.notice = &notice{frameMarker, a.MarkTo, a.Epoch}
		s.notify()
	}
	s.want()
}

// setRoute carries out region.Route.
func (s *slot[M]) setRoute(a region.Route, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	s.target = &route[M]{home: a.Home, epoch: a.Epoch}
	s.follow(a.Epoch)
	if a.Home == s.r.self {
		if s.here == nil || s.here.ending {
			s.r.log.Error("route to a shard that is not hosted here", "shard", s.shard)
			s.target = nil
			s.want()
			return
		}
		s.target.here = s.here
	}
	if a.Mark {
		s.notice = &notice{frameCarryDone, a.Home, a.Epoch}
	}
	s.flush(now)
}

// follow has all that the former homes have not confirmed sent again, unless they
// told the new one what they have.
func (s *slot[M]) follow(e protocol.Epoch) {
	if !s.marked {
		s.out.Moved(e)
	}
	s.marked = false
}

// setHost carries out region.Host.
func (s *slot[M]) setHost(a region.Host, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.here != nil && s.here.ending {
		s.r.log.Error("shard given back before its entities have ended", "shard", s.shard)
		return
	}
	s.forget()
	if s.here == nil {
		s.here = &local[M]{s: s, tenure: s.tenureOf(a.Epoch)}
		s.r.keeper.host(s.here)
		s.here.populate()
	}
	s.here.epoch, s.here.await = a.Epoch, a.Await
	s.target = &route[M]{home: s.r.self, epoch: a.Epoch, here: s.here}
	s.follow(a.Epoch)
	s.flush(now)
}

// setOpen carries out region.Open.
func (s *slot[M]) setOpen(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.here != nil && !s.here.ending {
		s.here.await = troupe.ID{}
		s.flush(now)
	}
}

// flush sends on what waits, in order, and opens the direct way behind it. When
// the lane is full it stops there, and the shell comes back soon.
func (s *slot[M]) flush(now time.Time) {
	rt := s.target
	if rt == nil || s.direct.Load() != nil || rt.here != nil && !rt.here.await.IsZero() {
		return
	}
	if !s.resend(rt, now) || !s.pass(rt, &s.carry, now) || !s.pass(rt, &s.buffer, now) || !s.notify() {
		s.r.control.retry()
		return
	}
	if rt.here != nil {
		rt.here.release(now)
	}
	s.steer(rt)
	s.r.control.post(region.Emptied{Shard: s.shard, Epoch: rt.epoch})
}

// pass empties q into the route, unless the lane is full before.
func (s *slot[M]) pass(rt *route[M], q *queue[M], now time.Time) bool {
	for q.len() > 0 {
		if q.first().expired(now) {
			s.r.room.give()
			s.r.drop(q.pop(), DropExpired, context.DeadlineExceeded)
			continue
		}
		if rt.here != nil {
			rt.here.resume(q.pop())
			continue
		}
		keeps, err := s.sendWaiting(rt, q.first())
		if retryable(err) {
			return false
		}
		if p := q.pop(); err != nil || !keeps {
			s.r.room.give()
			s.r.dropUnsent(p, err)
		}
	}
	return true
}

// sendWaiting sends what has waited. This node may keep it, with its place in the
// room, until it is confirmed.
func (s *slot[M]) sendWaiting(rt *route[M], p *parcel[M]) (keeps bool, err error) {
	switch {
	case p.ticket != nil && p.ticket.from.sender == s.r.self:
		return false, nil // it is kept here, and was sent again
	case p.ticket != nil:
		return false, s.carryOver(rt, p)
	case s.r.reliable:
		return true, s.postWaiting(rt, p)
	default:
		return false, s.send(rt, p)
	}
}

// retryable tells whether a parcel should stay in line after a send: the lane
// is full, or the home is gone and another will be named.
func retryable(err error) bool { return errors.Is(err, transport.ErrFull) || gone(err) }

func gone(err error) bool {
	return errors.Is(err, transport.ErrClosed) || errors.Is(err, transport.ErrQuarantined)
}

// notify sends the notice that is due, if any; false when the lane is full. A
// peer that is gone needs none.
func (s *slot[M]) notify() bool {
	if s.notice == nil {
		return true
	}
	frame := envelope{kind: s.notice.kind, shard: int32(s.number), epoch: s.notice.epoch}.append(nil)
	if s.notice.kind == frameCarryDone {
		frame = window.AppendHeirs(frame, s.heirs())
	}
	err := s.r.port.Send(s.notice.to, s.lane, frame)
	if errors.Is(err, transport.ErrFull) {
		s.r.control.retry()
		return false
	}
	if s.notice.kind == frameCarryDone {
		s.ins = nil
	}
	s.notice = nil
	return true
}

// again goes on with what a full lane or mailbox had stopped.
func (s *slot[M]) again(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.target == nil {
		s.notify()
	}
	s.flush(now)
	if s.here != nil {
		s.here.again()
	}
}
