package entity

import (
	"slices"
	"testing"
	"time"
)

func TestStarterKeepsItsPace(t *testing.T) {
	now := time.Unix(0, 0)
	s := NewStarter[int](Pace{Batch: 4, Every: 100 * time.Millisecond, Open: 6})
	for i := range 20 {
		s.Add(i)
	}
	s.Add(3) // known
	s.First(17)
	s.First(17)
	if got := s.Wake(now); !got.Equal(now) {
		t.Errorf("the first batch is due at %v, want at once", got)
	}
	step := func(want ...int) {
		t.Helper()
		if got := s.Step(now); !slices.Equal(got, want) {
			t.Errorf("after %v starts %v, want %v", now.Sub(time.Unix(0, 0)), got, want)
		}
	}
	step(17, 0, 1, 2)
	step()
	if wake := s.Wake(now); wake != now.Add(100*time.Millisecond) {
		t.Errorf("wakes at %v, want with the next batch", wake)
	}
	now = now.Add(100 * time.Millisecond)
	step(3, 4) // six are open
	if wake := s.Wake(now); !wake.IsZero() {
		t.Errorf("wakes at %v, want never before an acknowledgement", wake)
	}
	s.Acked(17, true)
	s.Acked(5, true) // was to be next
	if wake := s.Wake(now); wake != now {
		t.Errorf("wakes at %v, want at once", wake)
	}
	step(6)
	if got := s.Waiting(); got != 12 {
		t.Errorf("%d wait, want 12", got)
	}
	for i := range 20 {
		s.Acked(i, true)
	}
	if !s.Done() || s.Moved() != nil || !s.Wake(now).IsZero() {
		t.Errorf("done %v, moved %v, wakes at %v", s.Done(), s.Moved(), s.Wake(now))
	}
	step()
	s.Add(30)
	now = now.Add(time.Hour)
	step(30)
}

func TestRestsGrowAndAreForgotten(t *testing.T) {
	now := time.Unix(0, 0)
	r := NewRests[string](time.Second, 5*time.Second)
	var rests []time.Duration
	for range 5 {
		until := r.Failed(now, "x", 0)
		rests = append(rests, until.Sub(now))
		now = until
		if got := r.Due(now); !slices.Equal(got, []string{"x"}) {
			t.Errorf("rested are %v, want x", got)
		}
	}
	if want := []time.Duration{1, 2, 4, 5, 5}; !slices.EqualFunc(rests, want, func(a, b time.Duration) bool { return a == b*time.Second }) {
		t.Errorf("rests of %v, want %v s", rests, want)
	}
	now = now.Add(5 * time.Second)
	if got := r.Due(now); len(got) > 0 || !r.Wake().IsZero() {
		t.Errorf("rested are %v, wakes at %v; want that x is forgotten", got, r.Wake())
	}
	if until := r.Failed(now, "x", 0.5); until.Sub(now) != 1100*time.Millisecond {
		t.Errorf("after a good life rests for %v, want 1.1 s", until.Sub(now))
	}
}

// A rest that was ended early does not end again, and the next one is longer.
func TestRestEndedEarly(t *testing.T) {
	now := time.Unix(0, 0)
	r := NewRests[string](time.Second, time.Minute)
	r.Failed(now, "x", 0)
	if _, ok := r.Resting("x"); !ok {
		t.Error("x does not rest")
	}
	r.End("x")
	if _, ok := r.Resting("x"); ok {
		t.Error("x rests although its rest was ended")
	}
	now = now.Add(time.Second / 2)
	second := r.Failed(now, "x", 0)
	if second.Sub(now) != 2*time.Second {
		t.Errorf("second rest %v, want 2 s", second.Sub(now))
	}
	if got := r.Due(now.Add(time.Second)); len(got) > 0 {
		t.Errorf("%v rested by the first rest's end", got)
	}
	if got := r.Due(second); !slices.Equal(got, []string{"x"}) {
		t.Errorf("rested are %v, want x", got)
	}
}
