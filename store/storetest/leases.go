package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe/store"
)

// acquire expects the lease to be given, with this token.
func acquire(t testing.TB, s store.Store, name, owner string, want store.Token) {
	t.Helper()
	h, err := s.Acquire(wait(t), name, owner, ttl)
	if err != nil || h.Owner != owner || h.Token != want || h.Left <= 0 || h.Left > ttl {
		t.Fatalf("Acquire %q for %s = %+v, %v; want token %d and at most %v left", name, owner, h, err, want, ttl)
	}
}

// holder expects the lease to be held by owner, or by nobody if it is empty.
func holder(t testing.TB, s store.Store, name, owner string, want store.Token) store.Holding {
	t.Helper()
	h, err := s.Holder(wait(t), name)
	if err != nil || h.Owner != owner || h.Token != want || (h.Left > 0) != (owner != "") || h.Left > ttl {
		t.Fatalf("Holder %q = %+v, %v; want %q with token %d", name, h, err, owner, want)
	}
	return h
}

// refused expects an error of that kind.
func refused(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || !store.Refused(err) {
		t.Fatalf("%s = %v; want the refusal %v", what, err, want)
	}
}

func testLease(t *testing.T, w *world) {
	a, b := w.open(), w.open()
	holder(t, a, "lease", "", 0)
	acquire(t, a, "lease", "a", 1)
	holder(t, b, "lease", "a", 1)

	_, err := b.Acquire(wait(t), "lease", "b", ttl)
	refused(t, "Acquire what a holds", err, store.ErrHeld)
	var held *store.HeldError
	if !errors.As(err, &held) || held.Name != "lease" || held.By != "a" || held.For <= 0 || held.For > ttl {
		t.Errorf("Acquire what a holds = %#v; want a HeldError by a for at most %v", err, ttl)
	}
	acquire(t, b, "lease of b", "b", 1)

	if err := b.Release(wait(t), "lease", "b", 1); err != nil {
		t.Errorf("Release what a holds = %v; want nothing to be done", err)
	}
	if err := a.Release(wait(t), "lease", "a", 2); err != nil {
		t.Errorf("Release with a token that never was = %v; want nothing to be done", err)
	}
	holder(t, b, "lease", "a", 1)
	if err := a.Release(wait(t), "lease", "a", 1); err != nil {
		t.Fatalf("Release = %v", err)
	}
	holder(t, b, "lease", "", 1)
	acquire(t, b, "lease", "b", 2)
	_, err = a.Renew(wait(t), "lease", "a", 1, ttl)
	refused(t, "Renew what b holds", err, store.ErrLeaseLost)
}

func testLeaseRunsOut(t *testing.T, w *world) {
	a, b := w.open(), w.open()
	acquire(t, a, "lease", "a", 1)
	w.pass(ttl * 3 / 4)
	h, err := a.Renew(wait(t), "lease", "a", 1, ttl)
	if err != nil || h.Owner != "a" || h.Token != 1 || h.Left <= ttl/2 || h.Left > ttl {
		t.Fatalf("Renew = %+v, %v; want token 1 and %v left", h, err, ttl)
	}
	w.pass(ttl * 3 / 4)
	if h := holder(t, b, "lease", "a", 1); h.Left > ttl/2 {
		t.Errorf("%v left at three quarters of the ttl; want a quarter of %v", h.Left, ttl)
	}
	_, err = b.Acquire(wait(t), "lease", "b", ttl)
	refused(t, "Acquire before the end", err, store.ErrHeld)
	w.pass(ttl / 2)
	holder(t, b, "lease", "", 1)
	_, err = a.Renew(wait(t), "lease", "a", 1, ttl)
	refused(t, "Renew what ran out", err, store.ErrLeaseLost)
	acquire(t, b, "lease", "b", 2)
	w.pass(2 * ttl)
	acquire(t, b, "lease", "b", 3) // its own, which ran out, is a new one
}

func testLeaseIsIdempotent(t *testing.T, w *world) {
	a := w.open()
	acquire(t, a, "lease", "a", 1)
	w.pass(ttl / 2)
	h, err := a.Acquire(wait(t), "lease", "a", ttl)
	if err != nil || h.Token != 1 || h.Left > ttl*3/4 {
		t.Errorf("Acquire again = %+v, %v; want token 1, not made longer", h, err)
	}
	for range 2 {
		if err := a.Release(wait(t), "lease", "a", 1); err != nil {
			t.Errorf("Release = %v", err)
		}
	}
	_, err = a.Renew(wait(t), "lease", "a", 1, ttl)
	refused(t, "Renew what was released", err, store.ErrLeaseLost)
	acquire(t, a, "lease", "a", 2)
}

// testLeaseOfManyAtOnce has many compete by two ways: all are given the lease,
// one after the other, each with the next token.
func testLeaseOfManyAtOnce(t *testing.T, w *world) {
	stores := []store.Store{w.open(), w.open()}
	const owners, rounds = 6, 10
	ctx := wait(t)
	var (
		mu     sync.Mutex
		inside string
		last   store.Token
		wg     sync.WaitGroup
	)
	enter := func(owner string, token store.Token) {
		mu.Lock()
		defer mu.Unlock()
		if inside != "" || token != last+1 {
			t.Errorf("%s got the lease with token %d while %q had it, after token %d", owner, token, inside, last)
		}
		inside, last = owner, token
	}
	leave := func() {
		mu.Lock()
		defer mu.Unlock()
		inside = ""
	}
	for i := range owners {
		s, owner := stores[i%len(stores)], fmt.Sprint("owner ", i)
		wg.Go(func() {
			for got := 0; got < rounds; {
				switch h, err := s.Acquire(ctx, "lease", owner, ttl); {
				case err == nil:
					enter(owner, h.Token)
					leave()
					got++
					if err := s.Release(ctx, "lease", owner, h.Token); err != nil {
						t.Errorf("Release by %s = %v", owner, err)
						return
					}
				case !errors.Is(err, store.ErrHeld):
					t.Errorf("Acquire by %s = %v", owner, err)
					return
				default:
					time.Sleep(time.Millisecond) // in virtual time: else the clock stands still, and who waits for the database's lock with it
				}
			}
		})
	}
	wg.Wait()
	holder(t, stores[0], "lease", "", owners*rounds)
}

// testLongNames: names that share more than a database takes are still two.
func testLongNames(t *testing.T, w *world) {
	a := w.open()
	const names = 10_000
	long := strings.Repeat("entity-type/ähnlich/", 20)
	ctx := wait(t)
	var wg sync.WaitGroup
	const workers = 4
	for part := range workers {
		wg.Go(func() {
			for i := part; i < names; i += workers {
				if h, err := a.Acquire(ctx, fmt.Sprint(long, i), fmt.Sprint(long, "owner", i), ttl); err != nil || h.Token != 1 {
					t.Errorf("Acquire by name %d = %+v, %v; want it to be free", i, h, err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, i := range []int{0, 1, names / 2, names - 1} {
		holder(t, a, fmt.Sprint(long, i), fmt.Sprint(long, "owner", i), 1)
	}
	holder(t, a, long, "", 0)
	holder(t, a, long[:60], "", 0)
}

func testBadArguments(t *testing.T, w *world) {
	a := w.open()
	good := store.Runner{Cluster: "c", ClusterID: "id", Address: "a:1", Incarnation: 1}
	for what, call := range map[string]func(context.Context) error{
		"acquire without a name": func(ctx context.Context) error {
			_, err := a.Acquire(ctx, "", "a", ttl)
			return err
		},
		"acquire without an owner": func(ctx context.Context) error {
			_, err := a.Acquire(ctx, "lease", "", ttl)
			return err
		},
		"acquire for no time": func(ctx context.Context) error {
			_, err := a.Acquire(ctx, "lease", "a", 0)
			return err
		},
		"acquire for ever": func(ctx context.Context) error {
			_, err := a.Acquire(ctx, "lease", "a", store.MaxTTL+1)
			return err
		},
		"acquire what is not UTF-8": func(ctx context.Context) error {
			_, err := a.Acquire(ctx, "\xff", "a", ttl)
			return err
		},
		"acquire with a zero byte": func(ctx context.Context) error {
			_, err := a.Acquire(ctx, "lease", "a\x00", ttl)
			return err
		},
		"renew for no time": func(ctx context.Context) error {
			_, err := a.Renew(ctx, "lease", "a", 1, 0)
			return err
		},
		"release without a name": func(ctx context.Context) error { return a.Release(ctx, "", "a", 1) },
		"found without a proposal": func(ctx context.Context) error {
			_, err := a.Found(ctx, "c", "", ttl)
			return err
		},
		"register without an address": func(ctx context.Context) error {
			_, err := a.Register(ctx, store.Runner{Cluster: "c", ClusterID: "id"}, ttl)
			return err
		},
		"refresh for no time": func(ctx context.Context) error { return a.Refresh(ctx, good, 1, 0) },
	} {
		refused(t, what, call(wait(t)), store.ErrBadArgument)
	}
}

// testEndedContext: nobody waits for a call that nobody waits for.
func testEndedContext(t *testing.T, w *world) {
	a := w.open()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.Acquire(ctx, "lease", "a", ttl)
	if !errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.Canceled) || store.Refused(err) {
		t.Errorf("Acquire when its context has ended = %v; want an unknown outcome because of %v", err, context.Canceled)
	}
	if _, err := a.Holder(wait(t), "lease"); err != nil {
		t.Errorf("Holder after a call was cancelled = %v", err)
	}
}

// testRestart: what was confirmed is still there when the database is back.
func testRestart(t *testing.T, w *world) {
	if w.Restart == nil {
		return
	}
	a, b := w.open(), w.open()
	acquire(t, a, "lease", "a", 1)
	if _, err := a.Found(wait(t), "restart", "id", ttl); err != nil {
		t.Fatal(err)
	}
	r := store.Runner{Cluster: "restart", ClusterID: "id", Address: "a:1", Incarnation: 1}
	g, err := a.Register(wait(t), r, ttl)
	if err != nil {
		t.Fatal(err)
	}
	w.Restart(t)
	again(t, func(ctx context.Context) error {
		_, err := b.Holder(ctx, "lease")
		return err
	})
	holder(t, b, "lease", "a", 1)
	again(t, func(ctx context.Context) error { return a.Refresh(ctx, r, g, ttl) })
	w.pass(2 * ttl)
	acquire(t, b, "lease", "b", 2)
}

// again repeats a call as long as its outcome is unknown, as one does while a
// database restarts.
func again(t testing.TB, call func(context.Context) error) {
	t.Helper()
	ctx := wait(t)
	for {
		switch err := call(ctx); {
		case err == nil:
			return
		case store.Refused(err) || ctx.Err() != nil:
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
