package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// SeatingConfig describes a seat and how it is kept. The durations are those of
// [LeaseConfig], with the same defaults and the same bounds.
type SeatingConfig struct {
	// Ring is where to sit. Required.
	Ring Ring
	// Runner is what the others see: unique to the process, as its address and
	// incarnation are, and to the handle. Required.
	Runner string
	// Note is what to tell the others at first; see [Seat.Note].
	Note []byte
	// TTL, 10 s by default, is how long the others wait after a crash of the
	// runner until they may have its shards. It is renewed each Renew, a fifth of
	// TTL; each request may take Try, a fifth of TTL; and the handle lets go the
	// Margin, an eighth of TTL, before the store does.
	TTL, Renew, Try, Margin time.Duration
	// Lost, if set, is called each time that the seat is lost although it was not
	// given up, as that of a lease is.
	Lost func(error)
}

// A Seating keeps a runner's seat in a ring, by the same machine and under the
// same rules as a [Lease]: it counts from when a request was sent, lets go a
// margin before the store does, also when the store hangs, and then never takes up
// the old token again. What it does not know are the runner's locks: they are
// worth as much as the seat, no longer.
type Seating struct {
	place *place
	lease *Lease
}

// A place shows a seat as the lease that it is.
type place struct {
	locks  Locks
	ring   Ring
	runner string
	note   atomic.Pointer[[]byte]
}

// NewSeating makes a handle that has no seat yet. It starts a goroutine, which
// ends with [Seating.Close].
func NewSeating(locks Locks, c SeatingConfig) (*Seating, error) {
	what := fmt.Sprintf("seat of %s in %v", c.Runner, c.Ring)
	timing, err := timing(what, c.TTL, c.Renew, c.Try, c.Margin)
	if err := errors.Join(CheckSeat(c.Ring, Seat{Runner: c.Runner, Note: c.Note}, timing.TTL), err); err != nil {
		return nil, err
	}
	s := &Seating{place: &place{locks: locks, ring: c.Ring, runner: c.Runner}}
	s.place.tell(c.Note)
	s.lease = &Lease{leases: s.place, what: what, name: c.Ring.String(), owner: c.Runner, lost: c.Lost}
	s.lease.start(timing)
	return s, nil
}

// Sit waits until the store has clearly answered. Nil: the seat is taken, with
// that token, and kept from now on; also if it was taken already. An [ErrUnknown]:
// the context ended first; the handle has no seat, and gives back what the store
// may have granted.
//
// Requests that time out are repeated, so give the context a deadline.
func (s *Seating) Sit(ctx context.Context) (Token, error) { return s.lease.Acquire(ctx) }

// Rise lets go at once, then waits until the store knows, and with it the others.
// An error means that the context ended first: the handle goes on trying, and the
// seat runs out in any case. It is no error when there is no seat.
func (s *Seating) Rise(ctx context.Context) error { return s.lease.Release(ctx) }

// Close rises as [Seating.Rise] does, and then ends the handle whether or not the
// store has answered, as [Lease.Close] does.
func (s *Seating) Close(ctx context.Context) error { return s.lease.Close(ctx) }

// Abandon ends the handle and leaves the seat to run out: for who cannot be sure
// that nothing runs any more that it is for.
func (s *Seating) Abandon() { s.lease.abandon() }

// Held tells whether the seat is certainly the runner's at this moment, and with
// which token. It reads the clock and nothing else.
func (s *Seating) Held() (Token, bool) { return s.lease.Held() }

// Valid is [Seating.Held] for a caller that has just read the clock, by time.Now,
// for reasons of its own: cheap enough for each batch of messages.
func (s *Seating) Valid(now time.Time) bool { return s.lease.Valid(now) }

// Until is the moment on the monotonic clock of the process at which the seat is
// lost unless it is kept; zero if there is none. A suspended machine may lose it
// before, by the wall clock: ask [Seating.Valid] before work is done.
func (s *Seating) Until() time.Time {
	if h := s.lease.holding.Load(); h != nil {
		return h.until
	}
	return time.Time{}
}

// Tell changes the note. The store is told at once if there is a seat, and
// otherwise by the next one; Tell does not wait for it. It is an [ErrBadArgument]
// if the note is too long.
func (s *Seating) Tell(note []byte) error {
	if err := CheckSeat(s.place.ring, Seat{Runner: s.place.runner, Note: note}, s.lease.ttl); err != nil {
		return err
	}
	s.place.tell(note)
	select {
	case s.lease.touch <- struct{}{}:
	default: // it is about to look
	}
	return nil
}

func (p *place) tell(note []byte) {
	note = slices.Clone(note)
	p.note.Store(&note)
}

func (p *place) seat() Seat { return Seat{Runner: p.runner, Note: *p.note.Load()} }

// Acquire implements [Leases].
func (p *place) Acquire(ctx context.Context, _, _ string, ttl time.Duration) (Holding, error) {
	token, err := p.locks.Sit(ctx, p.ring, p.seat(), ttl)
	return Holding{Owner: p.runner, Token: token, Left: ttl}, err
}

// Renew implements [Leases].
func (p *place) Renew(ctx context.Context, _, _ string, token Token, ttl time.Duration) (Holding, error) {
	err := p.locks.Keep(ctx, p.ring, p.seat(), token, ttl)
	return Holding{Owner: p.runner, Token: token, Left: ttl}, err
}

// Release implements [Leases].
func (p *place) Release(ctx context.Context, _, _ string, token Token) error {
	return p.locks.Rise(ctx, p.ring, p.runner, token)
}

// Holder implements [Leases]: it looks for the runner's own seat.
func (p *place) Holder(ctx context.Context, _ string) (Holding, error) {
	seats, _, err := p.locks.Table(ctx, p.ring)
	for _, s := range seats {
		if s.Runner == p.runner {
			return Holding{Owner: p.runner, Token: s.Token, Left: s.Left}, err
		}
	}
	return Holding{}, err
}
