package singleton

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/singleton/internal/owner"
	"github.com/troupe-go/troupe/transport"
)

// An instance is the actor while it is on this node.
type instance[M any] struct {
	cell   *actor.Cell[M] // nil while there is none
	inbox  []parcel       // what came from other nodes and did not fit into its mailbox
	ending bool           // it takes nothing new
	told   bool           // it was told to stop, or to work off what it has
	stopBy time.Time      // then it is stopped after the message in hand; zero when that was done
}

// takes tells whether the instance takes messages. The lock is held.
func (s *shell[M]) takes() bool {
	return s.here.cell != nil && !s.here.told && (s.keeper == nil || s.keeper.held())
}

// waits tells whether a message that was not taken may be later.
func waits(err error) bool { return errors.Is(err, actor.ErrFull) || errors.Is(err, actor.ErrStopped) }

// do carries out one action of the core.
func (s *shell[M]) do(a owner.Action) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch a := a.(type) {
	case owner.Route:
		s.route = a.Term
		s.flush(time.Now())
	case owner.Hold:
		s.route = owner.Term{}
	case owner.Mark:
		err := s.port.Send(a.Term.Node, s.lane, owner.AppendTerm([]byte{frameMark}, a.Term))
		if err != nil && !gone(err) {
			s.drops.add(DropLane, slog.Any("to", a.Term.Node), slog.Any("error", err)) // it is asked for again
		}
	case owner.Start:
		s.start(a.Term)
	case owner.Drain:
		s.here.ending, s.here.stopBy = true, time.Now().Add(s.typ.StopWithin)
		s.drain(a.Term)
	case owner.Kill:
		s.kill(a.Term)
	case owner.Acquire:
		s.keeper.want(a.Claim)
	case owner.Release:
		s.keeper.want(owner.Term{})
	}
}

// say sends a message of the core.
func (s *shell[M]) say(p owner.Packet) {
	if err := s.port.Send(p.To, transport.Control, owner.Append([]byte{frameControl}, p.Msg)); err != nil && !gone(err) {
		s.drops.add(DropLane, slog.Any("to", p.To), slog.Any("error", err)) // the core repeats what needs an answer
	}
}

func (s *shell[M]) tell(e owner.Event) { logEvent(s.log, e) }

// start starts the instance. It must not be known here before its end can be.
func (s *shell[M]) start(term owner.Term) {
	if s.over || s.keeper != nil && !s.keeper.held() { // the loss is about to be told
		s.control.posts.Add(owner.Ended{Term: term})
		return
	}
	start := s.typ.Start
	if start == nil {
		start = func(c *actor.Ctx[M]) (actor.Behavior[M], error) { return s.typ.StartLeased(c, s.keeper.lease.Held) }
	}
	cell, err := actor.NewCell(s.node, actor.CellConfig[M]{
		Name: s.typ.Name, Start: start, Self: actor.NewRef[M](s, ""), Options: s.typ.Options,
		Ended: func(left []actor.Leftover[M], _ actor.StopReason, err error) { s.ended(term, left, err) },
	})
	if err != nil {
		s.log.Warn("the instance does not start", slog.Any("error", err))
		s.control.posts.Add(owner.Ended{Term: term})
		return
	}
	s.here.cell, s.here.ending, s.here.told, s.here.stopBy = cell, false, false, time.Time{}
	s.flush(time.Now())
}

// drain has the instance end once it has all that was sent to it.
func (s *shell[M]) drain(term owner.Term) {
	h := &s.here
	switch {
	case h.cell == nil:
		s.control.posts.Add(owner.Ended{Term: term})
		h.ending = false
	case h.told || len(h.inbox) > 0:
	case !s.typ.stops():
		h.told = true
		h.cell.Drain()
	default:
		err := h.cell.Deliver(context.Background(), "", s.typ.Stop)
		h.told = !errors.Is(err, actor.ErrFull)
	}
}

// kill ends the instance after the message in hand.
func (s *shell[M]) kill(term owner.Term) {
	if s.here.cell == nil {
		s.control.posts.Add(owner.Ended{Term: term})
		return
	}
	s.here.ending, s.here.told, s.here.stopBy = true, true, time.Time{}
	s.here.cell.Stop()
}

// leaseLost stops the instance without waiting for anybody.
func (s *shell[M]) leaseLost(err error) {
	s.log.Warn("lease lost", slog.Any("error", err))
	s.mu.Lock()
	if s.here.cell != nil {
		s.here.told = true
		s.here.cell.Stop()
	}
	s.mu.Unlock()
	s.control.posts.Add(owner.LeaseLost{})
}

// ended is called on the instance when it has ended. What it has not handled goes to
// its successor, before anything newer.
func (s *shell[M]) ended(term owner.Term, left []actor.Leftover[M], err error) {
	if err != nil {
		s.log.Warn("the instance failed", slog.Any("error", err))
	}
	s.mu.Lock()
	var older []parcel
	for _, l := range left {
		m := l.Message
		if s.here.told && s.typ.stops() && reflect.DeepEqual(any(m), any(s.typ.Stop)) {
			continue // it was for this one
		}
		p, err := s.seal(m)
		if err != nil { // it was not told by way of the ref
			s.node.Home().System().Drop(actor.DeadLetter{To: s.Describe(""), Message: m, Reason: actor.Reason(DropUnsent)})
			continue
		}
		older = append(older, p)
	}
	s.back = append(append(older, s.here.inbox...), s.back...)
	s.here = instance[M]{}
	over := s.over
	if over {
		s.dropAll()
	}
	s.mu.Unlock()
	s.control.posts.Add(owner.Ended{Term: term})
	if over && s.keeper != nil {
		s.keeper.close()
	}
}

// housekeep does what is due by now, and tells when to look again.
func (s *shell[M]) housekeep(now time.Time) (again time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(now)
	stuck := s.flush(now)
	h := &s.here
	if h.ending && h.cell != nil {
		s.drain(owner.Term{})
		stuck = stuck || !h.told
		if !h.stopBy.IsZero() && !now.Before(h.stopBy) {
			s.log.Warn("the instance is stopped after the message in hand, for its time to end is over (Type.StopWithin)")
			h.stopBy, h.told = time.Time{}, true
			h.cell.Stop()
		}
		again = h.stopBy
	}
	if len(h.inbox)+len(s.back)+len(s.buffer) > 0 {
		again = earlier(again, s.expireAt)
	}
	if stuck {
		again = earlier(again, now.Add(againAfter))
	}
	return again
}

// earlier gives the earlier of two times; the zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// end stops everything at once when the node ends, by whatever way. The port stays
// open: a node that hears that it is not takes it that nothing runs here.
func (s *shell[M]) end() {
	s.control.stop()
	s.mu.Lock()
	s.over = true
	cell := s.here.cell
	s.dropAll()
	s.mu.Unlock()
	switch {
	case cell != nil:
		cell.Stop() // ended lets go of the lease
	case s.keeper != nil:
		s.keeper.close()
	}
}

// dropAll lets go of what waits when the node ends.
func (s *shell[M]) dropAll() {
	for _, queue := range [...]*[]parcel{&s.here.inbox, &s.back, &s.buffer} {
		for _, p := range *queue {
			s.drop(p, DropEnded, ErrEnded)
		}
		*queue = nil
	}
}
