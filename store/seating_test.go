package store_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/store/storetest"
)

var dads = store.Ring{Cluster: "dadbot", Type: "Dad"}

// seated makes a handle that sits by a way to the store, with a ttl of 10 s.
func seated(t *testing.T, s store.Store, runner string, lost func(error)) *store.Seating {
	t.Helper()
	h, err := store.NewSeating(s, store.SeatingConfig{Ring: dads, Runner: runner, Note: []byte("new"), Lost: lost})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(t.Context()) }) // whose context has ended
	if _, err := h.Sit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

// seats are the notes of those who sit, by runner.
func seats(t *testing.T, s store.Store) map[string]string {
	t.Helper()
	taken, _, err := s.Table(t.Context(), dads)
	if err != nil {
		t.Fatal(err)
	}
	notes := map[string]string{}
	for _, s := range taken {
		notes[s.Runner] = string(s.Note)
	}
	return notes
}

func TestSeatingKeepsASeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewMemory()
		h := seated(t, m, "a:1#1", nil)
		if _, err := m.Take(t.Context(), dads, "a:1#1", 1, []string{"7"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if token, held := h.Held(); token != 1 || !held || !h.Valid(time.Now()) || time.Until(h.Until()) < 6*time.Second {
			t.Errorf("after an hour: token %d, held %t until %v; want token 1", token, held, h.Until())
		}
		if err := h.Tell([]byte("leaving")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := seats(t, m)["a:1#1"]; got != "leaving" {
			t.Errorf("the note is %q; want what was told, at once", got)
		}
		if err := h.Rise(t.Context()); err != nil || len(seats(t, m)) > 0 {
			t.Errorf("Rise = %v, and there sit %v; want nobody", err, seats(t, m))
		}
		if _, held := h.Held(); held || !h.Until().IsZero() {
			t.Error("held after Rise")
		}
		if token, err := h.Sit(t.Context()); token != 2 || err != nil {
			t.Errorf("Sit again = %d, %v; want token 2", token, err)
		}
	})
}

// TestDWN06SeatWhenTheStoreHangs: the seat is given up before the store can give
// its shards to another, with no word from it; afterwards the runner gets a new
// token, and with it none of its old locks.
func TestDWN06SeatWhenTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewMemory()
		way := storetest.NewFaulty(m)
		lost := make(chan error, 1)
		start := time.Now()
		h := seated(t, way, "a:1#1", func(err error) { lost <- err })
		if _, err := m.Take(t.Context(), dads, "a:1#1", 1, []string{"7"}); err != nil {
			t.Fatal(err)
		}
		way.Set(storetest.Hang)
		if err := <-lost; !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("lost by %v; want %v", err, store.ErrLeaseLost)
		}
		if _, held := h.Held(); held || time.Since(start) > 10*time.Second*7/8 || len(seats(t, m)) == 0 {
			t.Errorf("held: %t, lost after %v; want it before the store lets go", held, time.Since(start))
		}
		way.Set(storetest.None)
		token, err := h.Sit(t.Context())
		if err != nil || token != 2 {
			t.Errorf("Sit = %d, %v; want a new token, though the old seat has not run out", token, err)
		}
		if _, locks, err := m.Table(t.Context(), dads); err != nil || len(locks) > 0 {
			t.Errorf("the locks are %+v, %v; want none", locks, err)
		}
	})
}

// TestDWN02SeatGrantedTooLate: what the store grants when nobody waits is given back.
func TestDWN02SeatGrantedTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewMemory()
		way := storetest.NewFaulty(m)
		way.Set(storetest.LoseAnswer)
		h, err := store.NewSeating(way, store.SeatingConfig{Ring: dads, Runner: "a:1#1"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if token, err := h.Sit(ctx); !errors.Is(err, store.ErrUnknown) {
			t.Errorf("Sit without an answer = %d, %v; want %v", token, err, store.ErrUnknown)
		}
		if len(seats(t, m)) != 1 {
			t.Error("the store has granted nothing: the test is none")
		}
		way.Set(storetest.None)
		if err := h.Close(t.Context()); err != nil || len(seats(t, m)) > 0 {
			t.Errorf("Close = %v, and there sit %v; want nobody", err, seats(t, m))
		}
	})
}

func TestSeatingRefuses(t *testing.T) {
	for what, c := range map[string]store.SeatingConfig{
		"no ring":         {Runner: "a"},
		"no runner":       {Ring: dads},
		"a note too long": {Ring: dads, Runner: "a", Note: make([]byte, store.MaxNote+1)},
		"no second try":   {Ring: dads, Runner: "a", Try: 6 * time.Second},
	} {
		if _, err := store.NewSeating(store.NewMemory(), c); !errors.Is(err, store.ErrBadArgument) {
			t.Errorf("NewSeating with %s = %v; want %v", what, err, store.ErrBadArgument)
		}
	}
	h, err := store.NewSeating(store.NewMemory(), store.SeatingConfig{Ring: dads, Runner: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Tell(make([]byte, store.MaxNote+1)); !errors.Is(err, store.ErrBadArgument) {
		t.Errorf("Tell of too much = %v; want %v", err, store.ErrBadArgument)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
