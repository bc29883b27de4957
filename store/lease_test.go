package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/store/storetest"
)

// newLease makes a handle that ends with the test.
func newLease(t testing.TB, s store.Leases, c store.LeaseConfig) *store.Lease {
	t.Helper()
	if c.Name == "" {
		c.Name, c.Owner = "lease", "node"
	}
	l, err := store.NewLease(s, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = l.Close(ctx) // the store may be a faulty one
	})
	return l
}

func TestLeaseConfig(t *testing.T) {
	good := store.LeaseConfig{Name: "lease", Owner: "node"}
	for _, tt := range []struct {
		name   string
		change func(*store.LeaseConfig)
		says   string // empty if it is allowed
	}{
		{"defaults", func(*store.LeaseConfig) {}, ""},
		{"other ttl", func(c *store.LeaseConfig) { c.TTL = time.Minute }, ""},
		{"all set", func(c *store.LeaseConfig) { c.TTL, c.Renew, c.Try, c.Margin = 10, 10, 10, 10; c.TTL = time.Second }, ""},
		{"no name", func(c *store.LeaseConfig) { c.Name = "" }, "lease is empty"},
		{"no owner", func(c *store.LeaseConfig) { c.Owner = "" }, "owner is empty"},
		{"negative ttl", func(c *store.LeaseConfig) { c.TTL = -1 }, "choose one from 1ms"},
		{"negative margin", func(c *store.LeaseConfig) { c.Margin = -1 }, "must not be negative"},
		{"no time for a second try", func(c *store.LeaseConfig) { c.Try = 4 * time.Second }, "raise TTL or lower Try"},
		{"several", func(c *store.LeaseConfig) { c.Name, c.Renew = "", time.Hour }, "lease is empty"},
		{"several, again", func(c *store.LeaseConfig) { c.Name, c.Renew = "", time.Hour }, "raise TTL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := good
			tt.change(&c)
			l, err := store.NewLease(store.NewMemory(), c)
			if tt.says == "" {
				if err != nil {
					t.Fatalf("NewLease(%+v) = %v", c, err)
				}
				_ = l.Close(t.Context())
				return
			}
			if !errors.Is(err, store.ErrBadArgument) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("NewLease(%+v) = %v; want an error that says %q", c, err, tt.says)
			}
		})
	}
}

// TestLostTellsWhy: the callback comes when the lease is no longer shown as
// held, once, with the cause; and may use the handle.
func TestLostTellsWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		way := storetest.NewFaulty(store.NewMemory())
		var l *store.Lease
		var lost []error
		l = newLease(t, way, store.LeaseConfig{Name: "shop", Owner: "node", Lost: func(err error) {
			if token, held := l.Held(); held {
				t.Errorf("Lost was called while token %d is held", token)
			}
			if err := l.Release(t.Context()); err != nil {
				t.Errorf("Release within Lost = %v", err)
			}
			lost = append(lost, err)
		}})
		if _, err := l.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		way.Set(storetest.LoseRequest)
		time.Sleep(9 * time.Second)
		way.Set(storetest.None)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(lost) != 1 || !errors.Is(lost[0], store.ErrLeaseLost) || !errors.Is(lost[0], store.ErrUnknown) ||
			!strings.Contains(lost[0].Error(), `"shop", held with token 1`) || !strings.Contains(lost[0].Error(), "the request was lost") {
			t.Errorf("Lost was called with %v; want once, with the name, the token and the cause", lost)
		}
		if got, err := l.Acquire(t.Context()); err != nil || got != 2 {
			t.Errorf("Acquire after a loss = %d, %v; want token 2", got, err)
		}
	})
}

// TestDWN06SilentStore: a store that is silent, and a driver that does not even
// heed its context, do not keep the holder from letting go.
func TestDWN06SilentStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := &deafStore{Memory: store.NewMemory(), hear: make(chan struct{})}
		lost := 0
		l := newLease(t, deaf, store.LeaseConfig{Lost: func(err error) {
			lost++
			if !strings.Contains(err.Error(), "did not answer") {
				t.Errorf("Lost(%v); want it to say that the store did not answer", err)
			}
		}})
		if _, err := l.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(8749 * time.Millisecond)
		if _, held := l.Held(); !held {
			t.Error("not held within the ttl less the margin")
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if _, held := l.Held(); held || lost != 1 {
			t.Errorf("held %t, lost %d times after the ttl less the margin; want it lost once", held, lost)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Acquire(ctx); !errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Acquire from a silent store = %v; want %v", err, store.ErrUnknown)
		}
		close(deaf.hear)
	})
}

// A deafStore does not answer renewals until it hears again.
type deafStore struct {
	*store.Memory
	hear chan struct{}
}

func (d *deafStore) Renew(ctx context.Context, name, owner string, token store.Token, ttl time.Duration) (store.Holding, error) {
	<-d.hear
	return d.Memory.Renew(ctx, name, owner, token, ttl)
}

// TestALaterCallTakesThePlace: nobody waits for what somebody else has ended.
func TestALaterCallTakesThePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		way := storetest.NewFaulty(store.NewMemory())
		way.Set(storetest.LoseRequest)
		l := newLease(t, way, store.LeaseConfig{})
		first := make(chan error)
		go func() {
			_, err := l.Acquire(t.Context())
			first <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		second := make(chan error)
		go func() {
			_, err := l.Acquire(ctx)
			second <- err
		}()
		if err := <-first; !errors.Is(err, store.ErrUnknown) || !strings.Contains(err.Error(), "another call") {
			t.Errorf("the first Acquire = %v; want to hear of the second", err)
		}
		if err := <-second; !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the request was lost") {
			t.Errorf("the second Acquire = %v; want the end of its context, and what was wrong", err)
		}
		if err := l.Release(ctx); err == nil {
			t.Error("Release = nil; want an error while the store is in doubt")
		}
		way.Set(storetest.None)
		if err := l.Release(t.Context()); err != nil {
			t.Errorf("Release = %v", err)
		}
	})
}

// TestValid: a moment from after the end is outside, also by the wall clock
// alone, which goes on while a machine is suspended.
func TestValid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLease(t, store.NewMemory(), store.LeaseConfig{})
		if l.Valid(time.Now()) {
			t.Error("valid before it is acquired")
		}
		if _, err := l.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		suspended := now.Round(0).Add(time.Hour) // without a monotonic reading
		for moment, want := range map[time.Time]bool{now: true, now.Add(8749 * time.Millisecond): true, now.Add(8750 * time.Millisecond): false, suspended: false} {
			if got := l.Valid(moment); got != want {
				t.Errorf("valid %v after: %t; want %t", moment.Sub(now), got, want)
			}
		}
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if l.Valid(time.Now()) {
			t.Error("valid after Close")
		}
		if err := l.Close(t.Context()); err != nil {
			t.Errorf("Close again = %v", err)
		}
	})
}

func BenchmarkHeld(b *testing.B) {
	b.ReportAllocs()
	l := newLease(b, store.NewMemory(), store.LeaseConfig{TTL: time.Hour})
	if _, err := l.Acquire(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, held := l.Held(); !held {
			b.Fatal("not held")
		}
	}
}

func BenchmarkMemoryRenew(b *testing.B) {
	b.ReportAllocs()
	m := store.NewMemory()
	h, err := m.Acquire(b.Context(), "lease", "node", time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := m.Renew(b.Context(), "lease", "node", h.Token, time.Hour); err != nil {
			b.Fatal(err)
		}
	}
}
