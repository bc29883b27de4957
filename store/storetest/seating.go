package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/store"
)

// A sitter is a runner that keeps a seat by a way to the store that can be bad, and
// serves shards as one has to: under locks of the seat that it has, which it does
// not take again before it is sure that it gave them.
type sitter struct {
	*store.Seating
	name   string
	way    *Faulty
	serves map[string]store.Lock
	owes   []store.Lock // to give, without a clear answer yet
}

func (w *world) sitter(name string) *sitter {
	w.t.Helper()
	way := NewFaulty(w.open())
	h, err := store.NewSeating(way, store.SeatingConfig{Ring: dads, Runner: name, TTL: ttl})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = h.Close(ctx)
	})
	return &sitter{Seating: h, name: name, way: way, serves: map[string]store.Lock{}}
}

// look forgets what hangs on a seat that is over.
func (s *sitter) look() {
	token, _ := s.Held()
	for id, l := range s.serves {
		if l.Token != token {
			delete(s.serves, id)
		}
	}
	s.owes = slices.DeleteFunc(s.owes, func(l store.Lock) bool { return l.Token != token })
}

// briefly bounds a call by so little that a database's clock that the test sets
// need not follow meanwhile.
func briefly(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), ttl/100)
}

func (s *sitter) take(t *testing.T, ids []string) {
	ctx, cancel := briefly(t)
	defer cancel()
	token, held := s.Held()
	if !held || len(s.owes) > 0 {
		return
	}
	locks, err := s.way.Take(ctx, dads, s.name, token, ids)
	if err != nil {
		return
	}
	for _, l := range locks {
		s.serves[l.Shard] = l
	}
	s.look() // it may have been lost meanwhile
}

func (s *sitter) give(t *testing.T, ids []string) {
	ctx, cancel := briefly(t)
	defer cancel()
	token, _ := s.Held()
	for _, id := range ids {
		if l, ok := s.serves[id]; ok {
			delete(s.serves, id)
			s.owes = append(s.owes, l)
		}
	}
	if s.way.Give(ctx, dads, s.name, token, s.owes) == nil {
		s.owes = nil
	}
}

// testSeatsInAStorm has runners sit down, rise, take and give while their ways to
// the store fail at random: never two serve one shard, each by a higher epoch than
// all before, and afterwards all shards are to be had.
func testSeatsInAStorm(t *testing.T, w *world) {
	const seed, steps = 20261201, 1000
	r := rand.New(rand.NewPCG(seed, 0))
	sitters := []*sitter{w.sitter("a"), w.sitter("b"), w.sitter("c")}
	faults := []Fault{None, None, None, LoseRequest, LoseAnswer, Hang, Delay}
	ids := shardsOf(6)
	calls := make(chan struct{}, steps)
	last := map[string]store.Lock{}
	served := 0
	for step := range steps {
		s := sitters[r.IntN(len(sitters))]
		some := ids[r.IntN(len(ids)):]
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.Int64N(int64(ttl))))
		call := func(f func()) { go func() { defer func() { cancel(); calls <- struct{}{} }(); f() }() }
		switch n := r.IntN(100); {
		case n < 30:
			call(func() { _, _ = s.Sit(ctx) })
		case n < 33:
			clear(s.serves)
			call(func() { _ = s.Rise(ctx) })
		case n < 40:
			s.way.Set(faults[r.IntN(len(faults))])
			call(func() {})
		case n < 45:
			call(func() { s.way.Deliver(ctx) })
		case n < 75:
			s.take(t, some)
			call(func() {})
		default:
			s.give(t, some)
			call(func() {})
		}
		w.pass(time.Duration(r.Int64N(int64(ttl / 10))))
		synctest.Wait()
		n, err := exclusive(sitters, last)
		if err != nil {
			t.Fatalf("seed %d, step %d: %v", seed, step, err)
		}
		served += n
	}
	for range steps {
		<-calls
	}
	calm(t, w, sitters, ids)
	if served < steps {
		t.Errorf("shards were served %d times in %d steps: too few to show anything", served, steps)
	}
}

// calm expects all shards to be had when all have risen and nothing is bad any more.
func calm(t *testing.T, w *world, sitters []*sitter, ids []string) {
	t.Helper()
	for _, s := range sitters {
		s.way.Set(None)
		if err := s.Rise(wait(t)); err != nil {
			t.Errorf("Rise in calm = %v", err)
		}
	}
	w.pass(2 * ttl) // for requests that were delivered late
	token, err := sitters[0].Sit(wait(t))
	if err != nil {
		t.Fatalf("Sit in calm = %v", err)
	}
	locks, err := sitters[0].way.Take(wait(t), dads, "a", token, ids)
	if err != nil || len(locks) != len(ids) {
		t.Errorf("Take of %d shards in calm = %v, %v", len(ids), locks, err)
	}
}

// exclusive tells how many shards are served, and what is wrong about that.
func exclusive(sitters []*sitter, last map[string]store.Lock) (served int, err error) {
	by := map[string]string{}
	for _, s := range sitters {
		s.look()
		for id, l := range s.serves {
			if other := by[id]; other != "" {
				err = errors.Join(err, fmt.Errorf("%s and %s serve %s at once", other, s.name, id))
			}
			if before := last[id]; before != l && l.Epoch.Compare(before.Epoch) <= 0 {
				err = errors.Join(err, fmt.Errorf("%s serves by %+v after %+v", s.name, l, before))
			}
			by[id], last[id] = s.name, l
		}
	}
	return len(by), err
}
