package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-go/troupe/store"
)

// testStateOfManyAtOnce has owners of growing epochs count in one entry, each as
// if it were the only one: nothing is counted twice or lost, and once an owner has
// written, no older one has.
func testStateOfManyAtOnce(t *testing.T, w *world) {
	stores := []store.Store{w.open(), w.open()}
	const owners, rounds = 6, 10
	counts := make([]int, owners)
	var wg sync.WaitGroup
	for i := range owners {
		wg.Go(func() {
			var err error
			if counts[i], err = count(wait(t), stores[i%len(stores)], of(1, uint64(i+1)), rounds); err != nil {
				t.Errorf("owner %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	e, err := stores[0].Get(wait(t), of(1, 1).Shard, "key")
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, n := range counts {
		sum += n
	}
	log := strings.Fields(string(e.Value))
	if len(log) != sum || e.Revision != store.Revision(sum) || counts[owners-1] != rounds {
		t.Errorf("%v writes were confirmed to the owners, and %d are there at revision %d: %q; want all, and %d of the last owner", counts, len(log), e.Revision, log, rounds)
	}
	before := 0
	for _, word := range log {
		n, err := strconv.Atoi(word)
		if err != nil || n < before {
			t.Fatalf("owner %d wrote after owner %d: %q, %v", n, before, log, err)
		}
		before = n
	}
}

// count appends the epoch's count to an entry, so often or until a newer owner has
// the shard, and tells how often it did.
func count(ctx context.Context, s store.Store, as store.Tenure, rounds int) (done int, err error) {
	if err = s.Claim(ctx, as); err == nil {
		for done < rounds && err == nil {
			var e store.Entry
			if e, err = s.Get(ctx, as.Shard, "key"); err != nil {
				break
			}
			_, err = s.Put(ctx, as, "key", e.Revision, fmt.Append(e.Value, " ", as.Epoch.N))
			switch {
			case err == nil:
				done++
			case errors.Is(err, store.ErrConflict):
				err = nil // an older owner was quicker, and can be so only until the claim
			}
		}
	}
	if errors.Is(err, store.ErrStaleEpoch) {
		return done, nil
	}
	return done, err
}

// testAsInMemory has the driver and a [store.Memory] do the same at random: they
// answer alike.
func testAsInMemory(t *testing.T, w *world) {
	const seed, steps = 20261130, 600
	r := rand.New(rand.NewPCG(seed, 0))
	a, model := w.open(), store.NewMemory()
	for step := range steps {
		as := of(1, uint64(1+step/100+r.IntN(3)))
		as.Shard.ID = strconv.Itoa(r.IntN(2))
		key, at, value := strconv.Itoa(r.IntN(4)), store.Revision(r.IntN(5)), strconv.Itoa(r.IntN(2))
		if e, err := model.Get(wait(t), as.Shard, key); err == nil && r.IntN(4) > 0 {
			at = e.Revision
		}
		var what string
		var call func(store.Store) (any, error)
		switch r.IntN(8) {
		case 0:
			what, call = "Claim", func(s store.Store) (any, error) { return nil, s.Claim(wait(t), as) }
		case 1, 2, 3:
			what, call = "Put", func(s store.Store) (any, error) { return s.Put(wait(t), as, key, at, []byte(value)) }
		case 4, 5:
			what, call = "Delete", func(s store.Store) (any, error) { return s.Delete(wait(t), as, key, at) }
		case 6:
			what, call = "Get", func(s store.Store) (any, error) { return s.Get(wait(t), as.Shard, key) }
		case 7:
			what, call = "List", func(s store.Store) (any, error) { return s.List(wait(t), as.Shard, key, 2) }
		}
		got, gotErr := call(a)
		want, wantErr := call(model)
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) || kind(gotErr) != kind(wantErr) {
			t.Fatalf("seed %d, step %d: %s of %q at %d by %v = %+v, %v; in memory it is %+v, %v", seed, step, what, key, at, as, got, gotErr, want, wantErr)
		}
	}
}

// kind is what a refusal is, with what it tells.
func kind(err error) string {
	var stale *store.StaleEpochError
	var conflict *store.ConflictError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &stale):
		return stale.Error()
	case errors.As(err, &conflict):
		return conflict.Error()
	default:
		return err.Error()
	}
}

// BenchmarkPut measures what it takes an owner to overwrite an entry, again and
// again, with one write at a time.
func BenchmarkPut(b *testing.B, s store.Store) {
	b.ReportAllocs()
	as, value := of(1, 1), []byte("the one about the horse")
	var at store.Revision
	for b.Loop() {
		var err error
		if at, err = s.Put(b.Context(), as, "key", at, value); err != nil {
			b.Fatal(err)
		}
	}
}
