package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe/store"
)

// shardsOf are so many names.
func shardsOf(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprint("shard ", i)
	}
	slices.Sort(ids)
	return ids
}

// testLocksOfManyAtOnce has many take and give all shards: each has one holder at a
// time, each holder a higher epoch than the one before it, by exactly one.
func testLocksOfManyAtOnce(t *testing.T, w *world) {
	stores := []store.Store{w.open(), w.open()}
	const runners, rounds, shards = 6, 15, 8
	ids := shardsOf(shards)
	ctx := wait(t)
	var mu sync.Mutex
	holders, last := map[string]string{}, map[string]uint64{}
	enter := func(name string, locks []store.Lock) {
		mu.Lock()
		defer mu.Unlock()
		for _, l := range locks {
			if holders[l.Shard] != "" || l.Epoch.N != last[l.Shard]+1 {
				t.Errorf("%s got %+v while %q had it, after epoch %d", name, l, holders[l.Shard], last[l.Shard])
			}
			holders[l.Shard], last[l.Shard] = name, l.Epoch.N
		}
	}
	leave := func(locks []store.Lock) {
		mu.Lock()
		defer mu.Unlock()
		for _, l := range locks {
			holders[l.Shard] = ""
		}
	}
	taken := make([]int, runners)
	var wg sync.WaitGroup
	for i := range runners {
		s, name := stores[i%len(stores)], fmt.Sprint("runner ", i)
		wg.Go(func() {
			for range rounds {
				n, err := turn(ctx, s, name, ids, enter, leave)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				taken[i] += n
			}
		})
	}
	wg.Wait()
	sum, epochs := 0, uint64(0)
	for _, n := range taken {
		sum += n
	}
	for _, n := range last {
		epochs += n
	}
	if sum == 0 || epochs != uint64(sum) {
		t.Errorf("%v shards were taken under %d epochs; want as many", taken, epochs)
	}
}

// turn sits down, takes what is free of the shards, gives one half of it back and
// rises from the other.
func turn(ctx context.Context, s store.Store, name string, ids []string, enter func(string, []store.Lock), leave func([]store.Lock)) (int, error) {
	token, err := s.Sit(ctx, dads, store.Seat{Runner: name}, ttl)
	if err != nil {
		return 0, err
	}
	locks, err := s.Take(ctx, dads, name, token, ids)
	if err != nil {
		return 0, err
	}
	enter(name, locks)
	leave(locks)
	if err := s.Give(ctx, dads, name, token, locks[:len(locks)/2]); err != nil {
		return 0, err
	}
	return len(locks), s.Rise(ctx, dads, name, token)
}

// testManyLocks: calls may be about many shards, and take no longer for each.
func testManyLocks(t *testing.T, w *world) {
	s := w.open()
	ids := shardsOf(3000)
	a, b := sits(t, s, "a", 1), sits(t, s, "b", 2)
	locks, err := s.Take(wait(t), dads, "a", a.token, ids)
	if err != nil || len(locks) != len(ids) {
		t.Fatalf("Take of %d shards = %d locks, %v", len(ids), len(locks), err)
	}
	if _, all, err := s.Table(wait(t), dads); err != nil || !slices.Equal(all, locks) {
		t.Errorf("Table = %d locks, %v; want the %d that were taken", len(all), err, len(locks))
	}
	a.give(locks)
	got, err := s.Take(wait(t), dads, "b", b.token, ids)
	if err != nil || len(got) != len(ids) || got[0].Epoch != (store.Epoch{Term: 1, N: 2}) {
		t.Errorf("Take of %d shards that were given back = %d locks, %v", len(ids), len(got), err)
	}
}

// testLocksAsInMemory: whatever is called at random has the same outcome as with
// the store in memory, which decides by [store.Latch].
func testLocksAsInMemory(t *testing.T, w *world) {
	s, model := w.open(), store.NewMemory()
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, seed))
	runners, ids := []string{"a", "b", "c"}, []string{"1", "2", "3", "4"}
	tokens, had := map[string]store.Token{}, map[string][]store.Lock{}
	for step := range 600 {
		name := runners[rng.IntN(len(runners))]
		some := ids[rng.IntN(len(ids)):]
		seat := store.Seat{Runner: name, Note: fmt.Append(nil, step)}
		token := tokens[name]
		if rng.IntN(10) == 0 {
			token = store.Token(rng.IntN(5))
		}
		call, what := (func(store.Store) (any, error))(nil), ""
		switch n := rng.IntN(20); {
		case n < 4:
			what, call = "Sit", func(s store.Store) (any, error) {
				got, err := s.Sit(wait(t), dads, seat, ttl)
				tokens[name] = got
				return got, err
			}
		case n < 7:
			what, call = "Keep", func(s store.Store) (any, error) { return nil, s.Keep(wait(t), dads, seat, token, ttl) }
		case n < 8:
			what, call = "Rise", func(s store.Store) (any, error) { return nil, s.Rise(wait(t), dads, name, token) }
		case n < 13:
			what, call = "Take", func(s store.Store) (any, error) {
				got, err := s.Take(wait(t), dads, name, token, some)
				had[name] = got
				return got, err
			}
		case n < 15:
			what, call = "Give", func(s store.Store) (any, error) { return nil, s.Give(wait(t), dads, name, token, had[name]) }
		case n < 16:
			what, call = "RaiseTerm", func(s store.Store) (any, error) { return s.RaiseTerm(wait(t), dads, uint64(step/4)) }
		case n < 18:
			as := store.Tenure{Shard: dads.Shard(some[0]), Epoch: store.Epoch{Term: rng.Uint64N(uint64(step/4 + 2)), N: 1 + rng.Uint64N(9)}}
			what, call = "Claim", func(s store.Store) (any, error) { return nil, s.Claim(wait(t), as) }
		default:
			w.pass(time.Duration(rng.Int64N(int64(ttl))))
			continue
		}
		got, gotErr := call(s)
		want, wantErr := call(model)
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) || kind(gotErr) != kind(wantErr) {
			t.Fatalf("seed %d, step %d: %s of %s with token %d, shards %q = %+v, %v; in memory it is %+v, %v", seed, step, what, name, token, some, got, gotErr, want, wantErr)
		}
		same(t, step, s, model)
	}
}

// same expects both to show the same table, but for the rounding of times.
func same(t *testing.T, step int, a, b store.Store) {
	t.Helper()
	var looks [2]string
	for i, s := range []store.Store{a, b} {
		seats, locks, err := s.Table(wait(t), dads)
		if err != nil {
			t.Fatal(err)
		}
		for i := range seats {
			seats[i].Left = seats[i].Left.Round(time.Millisecond)
		}
		looks[i] = fmt.Sprintf("%+v %+v", seats, locks)
	}
	if looks[0] != looks[1] {
		t.Fatalf("after step %d the table is\n%s; in memory it is\n%s", step, looks[0], looks[1])
	}
}

// BenchmarkLocks measures what it takes a runner to take, to look at and to give
// back 1,000 shards.
func BenchmarkLocks(b *testing.B, s store.Store) {
	const runner = "10.0.0.1:2551#1"
	token, err := s.Sit(b.Context(), dads, store.Seat{Runner: runner}, time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	ids := shardsOf(1000)
	var locks []store.Lock
	take := func(b *testing.B) {
		if locks, err = s.Take(b.Context(), dads, runner, token, ids); err != nil || len(locks) != len(ids) {
			b.Fatalf("Take = %d locks, %v", len(locks), err)
		}
	}
	give := func(b *testing.B) {
		if err := s.Give(b.Context(), dads, runner, token, locks); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("TakeAndGive", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			take(b)
			give(b)
		}
	})
	b.Run("TakeWhatItHas", func(b *testing.B) {
		b.ReportAllocs()
		take(b)
		for b.Loop() {
			take(b)
		}
	})
	b.Run("Table", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, all, err := s.Table(b.Context(), dads); err != nil || len(all) != len(ids) {
				b.Fatalf("Table = %d locks, %v", len(all), err)
			}
		}
	})
	b.Run("Keep", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Keep(b.Context(), dads, store.Seat{Runner: runner}, token, time.Hour); err != nil {
				b.Fatal(err)
			}
		}
	})
}
