package troupe

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/sbr"
	"github.com/troupe-go/troupe/store"
)

// farStore is one side's way to a store: its requests arrive late, and its answers
// come late, until a time after which all is well.
type farStore struct {
	store.Store
	rand *rand.Rand
	bad  time.Time // until then
	slow time.Duration
}

func (f *farStore) delay() time.Duration {
	if time.Now().Before(f.bad) {
		return time.Duration(f.rand.Int64N(int64(f.slow)))
	}
	return time.Duration(f.rand.Int64N(int64(10 * time.Millisecond)))
}

// Acquire is carried out, late, even if nobody waits for the answer any more.
func (f *farStore) Acquire(ctx context.Context, name, owner string, ttl time.Duration) (store.Holding, error) {
	there, back := f.delay(), f.delay()
	var got store.Holding
	var err error
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		time.Sleep(there)
		got, err = f.Store.Acquire(context.WithoutCancel(ctx), name, owner, ttl)
		time.Sleep(back)
	}()
	select {
	case <-answered:
		return got, err
	case <-ctx.Done():
		return store.Holding{}, fmt.Errorf("%w: %w", store.ErrUnknown, ctx.Err())
	}
}

func (f *farStore) Release(ctx context.Context, name, owner string, token store.Token) error {
	if !sleep(ctx, f.delay()) {
		return fmt.Errorf("%w: %w", store.ErrUnknown, ctx.Err())
	}
	return f.Store.Release(ctx, name, owner, token)
}

// A timed-out request for the lease is unknown, not denied: it is asked again
// before anything is decided, and what is not wanted is given back. In each of a
// thousand runs exactly one of two sides gets the lease when the store answers again
// in time, and at most one when it does not.
func TestDWN02TimedOutLeaseIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = 30 * time.Second
		for seed := range uint64(1000) {
			r := rand.New(rand.NewPCG(seed, 2))
			shared := store.NewMemory()
			inTime := r.IntN(4) > 0
			var sides [2]*arbiter
			for i := range sides {
				outage := time.Duration(r.Int64N(int64(3 * time.Second)))
				if !inTime {
					outage *= 4
				}
				sides[i] = newArbiter(settings{Config: Config{Name: "c"}})
				sides[i].leases = &farStore{shared, rand.New(rand.NewPCG(seed, uint64(i))), time.Now().Add(outage), 3 * time.Second}
				at := time.Now().Add(time.Duration(r.Int64N(int64(time.Second))))
				sides[i].ask(member.ID{UID: int64(i + 1)}, at, ttl)
			}
			granted := 0
			for _, a := range sides {
				if yes, current := a.settle(<-a.answers, false); yes && current {
					granted++
				}
			}
			if granted > 1 || inTime && granted != 1 {
				t.Errorf("seed %d: %d sides have the lease", seed, granted)
			}
			time.Sleep(ttl / 2) // what is not wanted has been given back
			if h, err := shared.Holder(t.Context(), "c/downing"); err != nil || granted == 0 && h.Left > ttl/2 {
				t.Errorf("seed %d: nobody survives, and yet the lease is held: %+v, %v", seed, h, err)
			}
			for _, a := range sides {
				a.end(t.Context())
			}
		}
	})
}

func TestArbiterWinsOnWithoutLosingToItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := store.NewMemory()
		a := newArbiter(settings{Config: Config{Name: "c", Store: shared}})
		defer a.end(t.Context())
		ask := func(woken bool) (granted bool) {
			t.Helper()
			a.ask(member.ID{UID: 1}, time.Now(), 30*time.Second)
			granted, _ = a.settle(<-a.answers, woken)
			return granted
		}
		if ask(true) {
			t.Error("a node that has just woken won")
		}
		time.Sleep(time.Second)
		if h, _ := shared.Holder(t.Context(), a.name); h.Owner != "" {
			t.Errorf("the lease that a woken node may not use is held: %+v", h)
		}
		for range 3 { // also when the lease of before has nearly run out, or has
			if !ask(false) {
				t.Error("lost against itself")
			}
			if h, _ := shared.Holder(t.Context(), a.name); h.Left < 30*time.Second-sbr.AskWithin {
				t.Errorf("after winning again the lease lasts %v only", h.Left)
			}
			time.Sleep(29 * time.Second)
		}
		time.Sleep(time.Minute)
		if !ask(false) {
			t.Error("did not get the lease that had run out")
		}
	})
}

// An answer to a question that was replaced counts for nothing, and takes nothing
// from the one that counts.
func TestArbiterForgetsOldQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := store.NewMemory()
		a := newArbiter(settings{Config: Config{Name: "c", Store: shared}})
		defer a.end(t.Context())
		a.ask(member.ID{UID: 1}, time.Now(), 30*time.Second)
		old := <-a.answers
		a.ask(member.ID{UID: 1}, time.Now().Add(time.Second), 30*time.Second)
		if granted, current := a.settle(old, false); granted || current {
			t.Errorf("an old answer: granted %v, current %v", granted, current)
		}
		if granted, current := a.settle(<-a.answers, false); !granted || !current {
			t.Errorf("the new answer: granted %v, current %v", granted, current)
		}
		time.Sleep(time.Second)
		if h, _ := shared.Holder(t.Context(), a.name); h.Owner != a.won || a.won == "" {
			t.Errorf("held by %q, want the winner %q", h.Owner, a.won)
		}
	})
}
