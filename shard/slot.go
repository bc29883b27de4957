package shard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
	"github.com/troupe-go/troupe/transport"
)

// A slot is one shard as this node sees it: where it lives, what waits for it,
// and the entities if it lives here.
//
// Its lock makes a change of the route and what must happen with it one step
// for all tellers. It is held while messages are queued, which never blocks, and
// never while an entity runs. Of what users bring, codecs, log handlers and
// contexts may be called under it: see the package comment.
type slot[M any] struct {
	r      *shell[M]
	shard  string
	number int
	lane   transport.Lane // all messages of a shard share one lane, so their order holds

	// direct is the way for a message that has none before it. It is nil while
	// the home is unknown or something older waits. Only the lock's holder sets it, by steer.
	direct atomic.Pointer[route[M]]

	mu     sync.Mutex
	target *route[M] // the home, as the core said last; nil while it is unknown or moving
	here   *local[M] // the entities, while the shard is hosted here
	carry  queue[M]  // what entities left when they had to stop here: goes before the buffer
	buffer queue[M]  // what waits for a home, in order
	notice *notice   // a frame that has to follow the last message to a home
	wanted bool      // the core knows that messages wait

	observed troupe.ID // the home that the observer was told last; the loop's
}

// A route is a home of a shard; it does not change.
type route[M any] struct {
	home  troupe.ID
	epoch protocol.Epoch
	here  *local[M] // if home is this node
}

// A notice is a frame without a message that keeps its place in the lane.
type notice struct {
	kind  byte
	to    troupe.ID
	epoch protocol.Epoch
}

// tell takes a teller's message that found no direct way. nil means accepted.
func (s *slot[M]) tell(ctx context.Context, p parcel[M]) error {
	switch rt := s.direct.Load(); {
	case rt == nil:
		// It will wait, so it must be known now whether it can travel and who
		// waits for it. Encoding does not need the lock.
		if err := p.sealed(s.r.typ.Protocol); err != nil {
			return s.r.refuse(p.id, err)
		}
	case rt.here == nil:
		return s.tellRemote(ctx, rt, p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.place(ctx, p)
}

// place decides under the lock where a teller's message goes.
func (s *slot[M]) place(ctx context.Context, p parcel[M]) error {
	if s.r.ended.Load() {
		return s.r.refuse(p.id, ErrEnded)
	}
	if s.here != nil {
		// What an entity tells itself stays with it while it lives: it must
		// not be overtaken by what it tells itself while it stops.
		if e := s.here.speaking(ctx, p.id); e != nil {
			return s.here.tellSelf(ctx, e, p.m)
		}
	}
	switch rt := s.direct.Load(); {
	case rt == nil:
		return s.keep(p)
	case rt.here != nil:
		return rt.here.tell(ctx, p)
	default:
		return s.sent(p, s.send(rt, &p))
	}
}

// sent ends a tell with what came of its send. A full lane refuses the teller; a
// home that is gone does not, for another will be named.
func (s *slot[M]) sent(p parcel[M], err error) error {
	if !gone(err) {
		return s.r.refuse(p.id, err)
	}
	s.steer(nil)
	s.r.control.retry()
	return s.keep(p)
}

// keep buffers a message until the home is known and all before it has gone.
func (s *slot[M]) keep(p parcel[M]) error {
	if s.r.control.disagrees.Load() {
		return s.r.refuse(p.id, ErrDisagree)
	}
	if err := p.sealed(s.r.typ.Protocol); err != nil {
		return s.r.refuse(p.id, err)
	}
	if !s.r.room.take() {
		return s.r.full(p.id)
	}
	s.buffer.push(p)
	s.want()
	return nil
}

// forward takes a message that another node had accepted and that came to the
// wrong home. It is not refused any more, only dropped with a reason.
func (s *slot[M]) forward(p parcel[M]) {
	switch rt := s.direct.Load(); {
	case s.r.ended.Load():
		s.r.drop(p, DropEnded, ErrEnded)
		return
	case rt != nil && rt.here != nil:
		rt.here.accept(p)
		return
	case rt != nil:
		err := s.send(rt, &p)
		if !retryable(err) {
			s.r.dropUnsent(p, err)
			return
		}
		s.steer(nil)
		s.r.control.retry()
	}
	if !s.r.room.take() {
		s.r.drop(p, DropFull, s.r.full(p.id))
		return
	}
	s.buffer.push(p)
	s.want()
}

// want lets the core know, once, that messages wait for a home. If nobody will
// name one, for the coordinator's shards are others, they are let go.
func (s *slot[M]) want() {
	switch {
	case s.target != nil || s.carry.len()+s.buffer.len() == 0:
	case s.r.control.disagrees.Load():
		s.wanted = false
		s.dropWaiting(DropDisagree, ErrDisagree)
	case !s.wanted:
		s.wanted = true
		s.r.control.post(region.Wanted{Shard: s.shard})
	}
}

// steer opens a direct way, or closes it: nil. If it leads to entities here they
// know it, so that their tellers need not look here.
func (s *slot[M]) steer(rt *route[M]) {
	if old := s.direct.Load(); old != nil && old.here != nil {
		old.here.open.Store(false)
	}
	s.direct.Store(rt)
	if rt != nil && rt.here != nil {
		rt.here.open.Store(true)
	}
}

func (s *slot[M]) dropWaiting(why Drop, err error) {
	for _, q := range []*queue[M]{&s.carry, &s.buffer} {
		s.r.dropAll(q, why, err)
	}
}

func (s *slot[M]) giveUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.want()
}

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
		s.here = &local[M]{s: s}
	}
	s.here.epoch, s.here.await = a.Epoch, a.Await
	s.target = &route[M]{home: s.r.self, epoch: a.Epoch, here: s.here}
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
	if !s.pass(rt, &s.carry, now) || !s.pass(rt, &s.buffer, now) || !s.notify() {
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
		err := s.send(rt, q.first())
		if retryable(err) {
			return false
		}
		s.r.room.give()
		s.r.dropUnsent(q.pop(), err)
	}
	return true
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
	e := envelope{kind: s.notice.kind, shard: int32(s.number), epoch: s.notice.epoch}
	err := s.r.port.Send(s.notice.to, s.lane, e.append(nil))
	if errors.Is(err, transport.ErrFull) {
		s.r.control.retry()
		return false
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

// expire drops the asks that nobody waits for any more.
func (s *slot[M]) expire(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range []*queue[M]{&s.carry, &s.buffer} {
		for _, p := range q.takeExpired(now) {
			s.r.room.give()
			s.r.drop(p, DropExpired, context.DeadlineExceeded)
		}
	}
}

// abandon drops all that waits when the node ends.
func (s *slot[M]) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	s.dropWaiting(DropEnded, ErrEnded)
	if s.here != nil {
		s.r.dropAll(&s.here.held, DropEnded, ErrEnded)
	}
}

// describe says in words how the shard stands here.
func (s *slot[M]) describe() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := "shard " + s.shard + ": "
	switch rt := s.target; {
	case rt == nil:
		text += "home unknown or moving"
	case rt.here != nil:
		text += "hosted here"
	default:
		text += "lives on " + rt.home.String()
	}
	if n := s.carry.len() + s.buffer.len(); n > 0 {
		text += fmt.Sprintf("; %d messages wait for it here", n)
	}
	if h := s.here; h != nil {
		text += h.describe()
	}
	return text
}
