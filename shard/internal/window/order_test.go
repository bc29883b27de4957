package window

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Messages that come within the window leave in the order of their keys, whatever order
// they come in; one that is later than that is told apart.
func TestOrder(t *testing.T) {
	begin := time.Unix(0, 0)
	const window = 100 * time.Millisecond
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 1))
		type message struct {
			key  int64
			come time.Duration
		}
		var all []message
		for i := range 50 { // sent one each 10 ms, less than the window late
			all = append(all, message{int64(i), time.Duration(i)*10*time.Millisecond + time.Duration(rng.Int64N(int64(window)))})
		}
		slices.SortFunc(all, func(a, b message) int { return int(a.come - b.come) })
		var o Order[int64]
		var out []int64
		release := func(now time.Time, limit int) {
			for {
				key, ok := o.Next(now, limit)
				if !ok {
					return
				}
				out = append(out, key)
			}
		}
		for _, m := range all {
			now := begin.Add(m.come)
			for at := o.Wake(); !at.IsZero() && !now.Before(at); at = o.Wake() {
				release(at, math.MaxInt)
			}
			if !o.Add(m.key, now.Add(window), m.key) {
				t.Fatalf("seed %d: %d is late after %v", seed, m.key, out)
			}
		}
		release(begin.Add(time.Hour), math.MaxInt)
		if len(out) != len(all) || !slices.IsSorted(out) {
			t.Fatalf("seed %d: released %v", seed, out)
		}
		if o.Add(48, begin, 48) || !o.Add(49, begin, 49) {
			t.Error("48 behind 49 is not late, or 49 is")
		}
	}
}

// What is held is bounded: beyond it the first goes early.
func TestOrderIsBounded(t *testing.T) {
	var o Order[int]
	now := time.Unix(0, 0)
	for key := range 10 {
		o.Add(int64(-key), now.Add(time.Hour), key)
	}
	var out []int
	for {
		item, ok := o.Next(now, 7)
		if !ok {
			break
		}
		out = append(out, item)
	}
	if !slices.Equal(out, []int{9, 8, 7}) || o.Len() != 7 || o.Over(now.Add(time.Hour)) {
		t.Errorf("released %v, %d held", out, o.Len())
	}
	if got := o.Take(); len(got) != 7 || got[0] != 6 || !o.Over(now.Add(time.Second)) {
		t.Errorf("took %v", got)
	}
}
