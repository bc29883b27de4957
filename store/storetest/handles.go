package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/store"
)

// A handle is a lease whose way to the store can be bad.
type handle struct {
	*store.Lease
	way  *Faulty
	lost chan error
}

func (w *world) handle(name, owner string) *handle {
	w.t.Helper()
	h := &handle{way: NewFaulty(w.Open(w.t)), lost: make(chan error, 1000)}
	l, err := store.NewLease(h.way, store.LeaseConfig{
		Name: name, Owner: owner, TTL: ttl,
		Lost: func(err error) { h.lost <- err },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	h.Lease = l
	w.t.Cleanup(func() {
		h.way.Set(None)
		h.close(w.t)
		if err := h.way.Close(); err != nil {
			w.t.Errorf("Close = %v", err)
		}
	})
	return h
}

func (h *handle) close(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // also in a cleanup
	defer cancel()
	if err := h.Close(ctx); err != nil {
		t.Errorf("Close of the lease of %s = %v", h.Owner(), err)
	}
}

// takes expects the handle to get the lease.
func (h *handle) takes(t testing.TB, want store.Token) {
	t.Helper()
	got, err := h.Acquire(wait(t))
	if err != nil || got != want {
		t.Fatalf("Acquire by %s = %d, %v; want token %d", h.Owner(), got, err, want)
	}
	h.holds(t, want)
}

// holds expects the handle to hold with that token, or not at all if it is 0.
func (h *handle) holds(t testing.TB, want store.Token) {
	t.Helper()
	if got, held := h.Held(); got != want || held != (want > 0) || h.Valid(time.Now()) != held {
		t.Fatalf("Held by %s = %d, %t; want token %d", h.Owner(), got, held, want)
	}
}

// losses expects so many calls of Lost since the last time.
func (h *handle) losses(t testing.TB, want int) {
	t.Helper()
	synctest.Wait()
	got := len(h.lost)
	for range got {
		if err := <-h.lost; !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("Lost(%v); want a %v", err, store.ErrLeaseLost)
		}
	}
	if got != want {
		t.Fatalf("Lost was called %d times for %s; want %d", got, h.Owner(), want)
	}
}

func testHandleKeepsALease(t *testing.T, w *world) {
	a, b := w.handle("lease", "a"), w.handle("lease", "b")
	a.holds(t, 0)
	a.takes(t, 1)
	a.takes(t, 1) // held already
	_, err := b.Acquire(wait(t))
	refused(t, "Acquire what a holds", err, store.ErrHeld)
	var held *store.HeldError
	if !errors.As(err, &held) || held.By != a.Owner() {
		t.Errorf("Acquire what a holds = %v; want it held by %s", err, a.Owner())
	}
	w.pass(10 * ttl)
	a.holds(t, 1)
	a.losses(t, 0)
	_, err = b.Acquire(wait(t))
	refused(t, "Acquire what a has kept", err, store.ErrHeld)
	b.losses(t, 0)
}

// testHandleGivesALeaseOn: the next holder does not wait for the ttl.
func testHandleGivesALeaseOn(t *testing.T, w *world) {
	a, b := w.handle("lease", "a"), w.handle("lease", "b")
	a.takes(t, 1)
	if err := a.Release(wait(t)); err != nil {
		t.Fatalf("Release = %v", err)
	}
	a.holds(t, 0)
	b.takes(t, 2)
	b.close(t)
	b.holds(t, 0)
	a.takes(t, 3)
	a.losses(t, 0)
	b.losses(t, 0)
	if _, err := b.Acquire(wait(t)); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("Acquire after Close = %v; want %v", err, store.ErrUnknown)
	}
}

// testAnswerLost: what was granted unheard is held once that is clear, and
// given back if nobody waits for it any more.
func testAnswerLost(t *testing.T, w *world) {
	a, b := w.handle("lease", "a"), w.handle("lease", "b")
	a.way.Set(LoseAnswer)
	ctx, cancel := context.WithTimeout(t.Context(), ttl/2)
	defer cancel()
	go func() {
		time.Sleep(ttl / 4)
		a.way.Set(None)
	}()
	if got, err := a.Acquire(ctx); err != nil || got != 1 {
		t.Fatalf("Acquire when the first answers are lost = %d, %v; want token 1", got, err)
	}
	if err := a.Release(wait(t)); err != nil {
		t.Fatal(err)
	}

	a.way.Set(LoseAnswer)
	short, cancel := context.WithTimeout(t.Context(), ttl/4)
	defer cancel()
	if _, err := a.Acquire(short); !errors.Is(err, store.ErrUnknown) || store.Refused(err) {
		t.Fatalf("Acquire when all answers are lost = %v; want %v", err, store.ErrUnknown)
	}
	a.holds(t, 0)
	_, err := b.Acquire(wait(t))
	refused(t, "Acquire what the store gave to a", err, store.ErrHeld)
	a.way.Set(None)
	w.pass(ttl / 4)
	b.takes(t, 3) // long before it would have run out
	a.losses(t, 0)
}

// testGrantedTooLate: requests that arrive after they were given up, and reads
// from a copy that is behind, give nobody a second lease.
func testGrantedTooLate(t *testing.T, w *world) {
	a, b := w.handle("lease", "a"), w.handle("lease", "b")
	a.way.Set(Delay)
	short, cancel := context.WithTimeout(t.Context(), ttl/8) // one request long
	defer cancel()
	if _, err := a.Acquire(short); !errors.Is(err, store.ErrUnknown) {
		t.Fatalf("Acquire when all requests are delayed = %v; want %v", err, store.ErrUnknown)
	}
	a.way.Set(Stale) // tells that nobody holds it
	w.pass(ttl / 4)
	if n := a.way.Deliver(wait(t)); n == 0 {
		t.Fatal("no request was delayed")
	}
	a.holds(t, 0)
	_, err := b.Acquire(wait(t))
	refused(t, "Acquire what a was granted too late", err, store.ErrHeld)
	w.pass(2 * ttl)
	b.takes(t, 2)
	a.way.Set(Delay)
	b.way.Set(Delay)
	if err := release(t, b); !errors.Is(err, store.ErrUnknown) {
		t.Fatalf("Release when all requests are delayed = %v; want %v", err, store.ErrUnknown)
	}
	b.holds(t, 0)
	b.way.Set(None)
	w.pass(ttl / 4)
	b.takes(t, 3)
	b.way.Deliver(wait(t)) // the release of token 2
	b.holds(t, 3)
	a.way.Set(None)
	_, err = a.Acquire(wait(t))
	refused(t, "Acquire what b holds anew", err, store.ErrHeld)
}

func release(t testing.TB, h *handle) error {
	ctx, cancel := context.WithTimeout(t.Context(), ttl/8)
	defer cancel()
	return h.Release(ctx)
}

// testPausedHolder: the lease of one that was paused is free after its ttl. On
// waking it sees by its own clock that it may not go on, and the store refuses
// it by its token.
func testPausedHolder(t *testing.T, w *world) {
	s := w.open()
	acquire(t, s, "lease", "paused", 1)
	w.pass(ttl * 5 / 4)
	b := w.handle("lease", "b")
	b.takes(t, 2)
	_, err := s.Renew(wait(t), "lease", "paused", 1, ttl)
	refused(t, "Renew by a woken one", err, store.ErrLeaseLost)
	if err := s.Release(wait(t), "lease", "paused", 1); err != nil {
		t.Errorf("Release by a woken one = %v; want nothing to be done", err)
	}
	b.holds(t, 2)
	holder(t, s, "lease", b.Owner(), 2)
}

// testHungStore: when nothing is answered, the holder lets go before another
// can have the lease.
func testHungStore(t *testing.T, w *world) {
	for _, fault := range []Fault{Hang, LoseRequest, LoseAnswer, Delay} {
		name := fmt.Sprint("lease ", fault)
		a, b := w.handle(name, "a"), w.handle(name, "b")
		a.takes(t, 1)
		a.way.Set(fault)
		step, let := ttl/100, time.Duration(0)
		began := time.Now()
		for {
			if _, held := a.Held(); !held && let == 0 {
				let = time.Since(began)
			}
			_, err := b.Acquire(wait(t))
			if err == nil {
				break
			}
			refused(t, "Acquire while a may hold it", err, store.ErrHeld)
			if time.Since(began) > 3*ttl {
				t.Fatalf("fault %d: the lease was not free after %v", fault, time.Since(began))
			}
			w.pass(step)
		}
		a.holds(t, 0)
		if let == 0 {
			t.Errorf("fault %d: a let go no sooner than b had the lease", fault)
		}
		a.losses(t, 1)
		a.way.Set(None)
		w.pass(ttl)
		b.holds(t, 2)
		a.losses(t, 0)
	}
}

// testHandleThroughARestart: a restart that is shorter than the ttl costs nothing.
func testHandleThroughARestart(t *testing.T, w *world) {
	if w.Restart == nil {
		return
	}
	a, b := w.handle("lease", "a"), w.handle("lease", "b")
	a.takes(t, 1)
	w.Restart(t)
	w.pass(3 * ttl)
	a.holds(t, 1)
	a.losses(t, 0)
	_, err := b.Acquire(wait(t))
	refused(t, "Acquire what was held through the restart", err, store.ErrHeld)
}

// testStorm has three handles want and drop one lease while their ways to the
// store fail at random: never two hold it, tokens only grow, and afterwards it
// is to be had.
func testStorm(t *testing.T, w *world) {
	const seed, steps = 20261130, 400
	r := rand.New(rand.NewPCG(seed, 0))
	handles := []*handle{w.handle("lease", "a"), w.handle("lease", "b"), w.handle("lease", "c")}
	faults := []Fault{None, None, None, LoseRequest, LoseAnswer, Hang, Delay, Stale}
	calls := make(chan struct{}, steps)
	var last store.Token
	held := 0
	for step := range steps {
		h := handles[r.IntN(len(handles))]
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.Int64N(int64(ttl))))
		call := func(f func()) { go func() { defer func() { cancel(); calls <- struct{}{} }(); f() }() }
		switch r.IntN(4) {
		case 0, 1:
			call(func() { _, _ = h.Acquire(ctx) })
		case 2:
			call(func() { _ = h.Release(ctx) })
		case 3:
			h.way.Set(faults[r.IntN(len(faults))])
			call(func() { h.way.Deliver(ctx) })
		}
		w.pass(time.Duration(r.Int64N(int64(ttl / 4))))
		synctest.Wait()
		var holders []string
		for _, h := range handles {
			if token, is := h.Held(); is {
				holders = append(holders, h.Owner())
				if token < last {
					t.Fatalf("seed %d, step %d: %s holds token %d after %d", seed, step, h.Owner(), token, last)
				}
				last = token
			}
		}
		if held += len(holders); len(holders) > 1 {
			t.Fatalf("seed %d, step %d: held by %q at once", seed, step, holders)
		}
	}
	for range steps {
		<-calls
	}
	for _, h := range handles {
		h.way.Set(None)
		if err := h.Release(wait(t)); err != nil {
			t.Errorf("Release in calm = %v", err)
		}
	}
	w.pass(2 * ttl) // for requests that were delivered late
	if _, err := handles[0].Acquire(wait(t)); err != nil {
		t.Errorf("Acquire in calm = %v", err)
	}
	if held < steps/10 {
		t.Errorf("held in %d of %d steps: too few to show anything", held, steps)
	}
}
