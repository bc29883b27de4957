package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/lease"
)

// A Lease holds a named lock for its owner, once acquired, by renewing it in
// the background until it is released, closed or lost. It never takes itself
// for the holder when another may have got the lease: it counts from when a
// request was sent, lets go a margin before the store does, and believes
// nothing but clear answers. It cannot stop what its user is already doing:
// guard writes by the token.
type Lease struct {
	leases Leases
	what   string // it is, in errors
	name   string
	owner  string
	ttl    time.Duration
	lost   func(error)

	holding atomic.Pointer[holding] // nil when not held
	command chan command
	touch   chan struct{} // what a renewal tells has changed; has room for one
	ended   chan struct{} // closed when run has returned

	ctx  context.Context // of the requests to the store
	stop context.CancelFunc
	work sync.WaitGroup // the request in hand and calls of lost
}

type holding struct {
	token Token
	until time.Time
}

// A command goes from a caller to the goroutine that owns the machine. Each is
// answered once, at the latest when another one takes its place.
type command struct {
	in     lease.Input    // Want or Drop
	answer chan<- outcome // has room for one
	ends   chan<- outcome // if set, the answer of the command that it may replace
}

type outcome struct {
	token Token
	err   error
}

// NewLease makes a handle that holds nothing yet. It starts a goroutine, which
// ends with [Lease.Close].
func NewLease(leases Leases, c LeaseConfig) (*Lease, error) {
	timing, err := c.timing()
	if err != nil {
		return nil, err
	}
	l := &Lease{
		leases: leases,
		what:   fmt.Sprintf("lease %q", c.Name),
		name:   c.Name,
		owner:  c.Owner + "/" + rand.Text(),
		lost:   c.Lost,
	}
	l.start(timing)
	return l, nil
}

func (l *Lease) start(timing lease.Config) {
	l.ttl = timing.TTL
	l.command, l.touch, l.ended = make(chan command), make(chan struct{}, 1), make(chan struct{})
	l.ctx, l.stop = context.WithCancel(context.Background())
	go l.run(lease.New(timing))
}

// Name is that of the lease.
func (l *Lease) Name() string { return l.name }

// Owner is what others see as its holder, as in [HeldError].
func (l *Lease) Owner() string { return l.owner }

// Acquire waits until the store has clearly answered. Nil: the lease is held,
// with that token, and renewed from now on; also if it was held already. A
// *[HeldError]: another holds it; it may be tried again. An [ErrUnknown]: the
// context ended first; the handle does not hold the lease, finds out in the
// background whether the store granted it, and gives it back if so.
//
// Requests that time out are repeated, so give the context a deadline.
func (l *Lease) Acquire(ctx context.Context) (Token, error) {
	got, err := l.do(ctx, lease.Want{})
	if err != nil {
		return 0, fmt.Errorf("acquire %s: %w", l.what, err)
	}
	return got, nil
}

// Release lets go at once, then waits until the store has freed the lease. An
// error means that the context ended first: the handle goes on trying, and the
// lease runs out in any case. It is no error when the lease is not held.
func (l *Lease) Release(ctx context.Context) error {
	if _, err := l.do(ctx, lease.Drop{}); err != nil {
		return fmt.Errorf("release %s: %w", l.what, err)
	}
	return nil
}

// Close releases the lease as [Lease.Release] does, and then ends the handle
// whether or not the store has answered. It waits for what runs in the
// background; only a driver that ignores its context can make that long. After
// Close the other methods act as if the store did not answer.
func (l *Lease) Close(ctx context.Context) error {
	var err error
	select {
	case <-l.ended:
	default:
		err = l.Release(ctx)
	}
	l.abandon()
	return err
}

// abandon ends the handle; what the store has granted runs out.
func (l *Lease) abandon() {
	l.stop()
	<-l.ended
	l.work.Wait()
}

// Held tells whether the lease is held at this moment, and with which token. It
// reads the clock and nothing else: cheap enough for each batch of work.
func (l *Lease) Held() (Token, bool) {
	h := l.holding.Load()
	if h == nil || !h.covers(time.Now()) {
		return 0, false
	}
	return h.token, true
}

// Valid is [Lease.Held] for a caller that has just read the clock, by time.Now,
// for reasons of its own. It knows nothing of moments long gone.
func (l *Lease) Valid(now time.Time) bool {
	h := l.holding.Load()
	return h != nil && h.covers(now)
}

// covers asks the monotonic clock, and the wall clock of this machine as well,
// because the former stands still while the machine is suspended. If the wall
// clock was merely set, the next renewal makes the holding valid again.
func (h *holding) covers(now time.Time) bool {
	return now.Before(h.until) && now.Round(0).Before(h.until.Round(0))
}

// do commands the machine and waits for the answer. When the context ends first
// the lease is given up, so that an error of Acquire is true.
func (l *Lease) do(ctx context.Context, in lease.Input) (Token, error) {
	answer := make(chan outcome, 1)
	if !l.tell(command{in: in, answer: answer}) {
		return 0, unknown(errClosed, nil)
	}
	select {
	case got := <-answer:
		return got.token, got.err
	case <-ctx.Done():
	}
	l.tell(command{in: lease.Drop{}, answer: make(chan outcome, 1), ends: answer})
	switch got := <-answer; {
	case Refused(got.err):
		return 0, got.err
	case got.err != nil:
		return 0, unknown(ctx.Err(), got.err)
	default: // granted a moment too late
		return 0, unknown(ctx.Err(), nil)
	}
}

func (l *Lease) tell(c command) bool {
	select {
	case l.command <- c:
		return true
	case <-l.ended:
		return false
	}
}
