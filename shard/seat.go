package shard

import (
	"bytes"
	"context"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/shard/internal/ring"
	"github.com/troupe-go/troupe/store"
)

// A seat keeps this node's place in a ring as the core wishes, on a goroutine of
// its own, and tells the core how it stands.
type seat struct {
	handle *store.Seating
	lease  time.Duration
	tell   func(ring.Input)

	note    []byte // that the store was told last; the loop's
	sit     atomic.Bool
	spent   atomic.Uint64 // seats up to this one are over for the core
	changed chan struct{} // a token: sit or spent has changed
	lost    chan string   // why; holds one

	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{}
}

// tries is how many requests to the store, one after the other, fit in a lease:
// that is the time between two renewals, and the limit of each request.
const tries = 5

func newSeat(locks ringLocks, lease time.Duration, tell func(ring.Input)) (*seat, error) {
	s := &seat{lease: lease, tell: tell, changed: make(chan struct{}, 1), lost: make(chan string, 1), ended: make(chan struct{})}
	var err error
	s.handle, err = store.NewSeating(locks.store, store.SeatingConfig{
		Ring: locks.ring, Runner: locks.runner, TTL: lease, Renew: lease / tries, Try: lease / tries,
		Lost: func(err error) {
			select {
			case s.lost <- err.Error():
			default: // nobody has looked since the last time
			}
		},
	})
	if err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.run()
	return s, nil
}

// wish takes over what the core wishes at present. The loop calls it after each step.
func (s *seat) wish(w ring.Wish) {
	if !bytes.Equal(w.Note, s.note) {
		s.note = w.Note
		_ = s.handle.Tell(w.Note) // too long only if Join has let pass what it must refuse
	}
	spent := s.spent.Swap(w.Spent) != w.Spent
	if s.sit.Swap(w.Sit) != w.Sit || spent {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
}

func (s *seat) run() {
	defer close(s.ended)
	for s.wanted() {
		token, err := s.sitDown()
		if err != nil {
			s.tell(ring.SeatLost{Cause: err.Error()})
			continue
		}
		s.keep(uint64(token))
	}
}

// wanted waits until the core wants a seat; false when it never will.
func (s *seat) wanted() bool {
	for !s.sit.Load() {
		select {
		case <-s.changed:
		case <-s.ctx.Done():
			return false
		}
	}
	return s.ctx.Err() == nil
}

// sitDown tries for the time of a lease, then lets the core know how it goes.
func (s *seat) sitDown() (store.Token, error) {
	select {
	case <-s.lost: // of the seat before
	default:
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.lease)
	defer cancel()
	token, err := s.handle.Sit(ctx)
	if store.Refused(err) { // at once, and it would be again
		<-ctx.Done()
	}
	return token, err
}

// keep watches over the seat until it is lost or not wanted any more.
func (s *seat) keep(token uint64) {
	until := s.handle.Until()
	s.tell(ring.Seated{Token: token, Until: until})
	look := time.NewTicker(s.lease / tries / 2)
	defer look.Stop()
	for {
		select {
		case cause := <-s.lost:
			s.tell(ring.SeatLost{Cause: cause})
			return
		case <-look.C:
			if later := s.handle.Until(); later.After(until) {
				until = later
				s.tell(ring.Seated{Token: token, Until: until})
			}
		case <-s.changed:
			if !s.sit.Load() || s.spent.Load() >= token {
				s.rise()
				return
			}
		case <-s.ctx.Done():
			return
		}
	}
}

func (s *seat) rise() {
	ctx, cancel := context.WithTimeout(s.ctx, s.lease)
	defer cancel()
	_ = s.handle.Rise(ctx) // else it runs out
	s.tell(ring.SeatLost{Cause: "given up"})
}

// close ends the keeping. A busy node leaves the seat to run out, since something
// may still run here that its locks are for.
func (s *seat) close(busy bool) {
	s.cancel()
	<-s.ended
	if busy {
		s.handle.Abandon()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), riseWithin)
	defer cancel()
	_ = s.handle.Close(ctx) // else it runs out
}

// riseWithin is how long a node's end may wait for the store to free its seat: a
// part of the second that components have then.
const riseWithin = 250 * time.Millisecond
