package shard

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
	"github.com/troupe-go/troupe/shard/internal/window"
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
	marked bool      // the last home was left gracefully: its successor knows what came to it

	// For what is delivered at least once.
	out   window.Out[letter[M]]              // what this node has sent
	keeps func(*window.Kept[letter[M]]) bool // stays, made once
	ins   map[troupe.ID]*inbound[M]          // what others have, to an owner here

	observed troupe.ID // the home that the observer was told last; the loop's
	meter    meter
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
		return rt.here.tell(p)
	case s.r.reliable:
		if !s.r.room.take() {
			return s.r.full(p.id)
		}
		err := s.postWaiting(rt, &p)
		if err != nil {
			s.r.room.give()
		}
		return s.sent(p, err)
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

// want lets the core know, once, that messages wait for a home, or may have been lost
// with the last one. If nobody will name one, for the coordinator's shards are
// others, they are let go.
func (s *slot[M]) want() {
	switch {
	case s.target != nil || s.carry.len()+s.buffer.len()+s.out.Len() == 0:
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

// expire drops the asks that nobody waits for any more.
func (s *slot[M]) expire(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	long := now.Add(-s.r.typ.DeliverWithin)
	for _, q := range []*queue[M]{&s.carry, &s.buffer} {
		for _, p := range q.takeOut(func(p *parcel[M]) bool { return p.expired(now) }) {
			s.r.room.give()
			s.r.drop(p, DropExpired, context.DeadlineExceeded)
		}
		for _, p := range q.takeOut(func(p *parcel[M]) bool { return p.overdue(long) }) {
			s.r.room.give()
			s.r.drop(p, DropHomeless, ErrHomeless)
		}
		q.stamp(now)
	}
}

// abandon drops all that waits when the node ends. It tells whether the shard is
// not hosted here any more.
func (s *slot[M]) abandon() (gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	s.dropWaiting(DropEnded, ErrEnded)
	s.out.Release(func(k *window.Kept[letter[M]]) bool {
		s.letGo(k, DropUnconfirmed, ErrEnded)
		return true
	})
	if s.here != nil {
		s.here.held.push(s.here.unordered()...)
		s.r.dropAll(&s.here.held, DropEnded, ErrEnded)
	}
	return s.here == nil
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
	if n := s.out.Waits(); n > 0 {
		text += fmt.Sprintf("; %d messages are not confirmed", n)
	}
	if h := s.here; h != nil {
		text += h.describe()
	}
	return text
}
