package seldom

import (
	"maps"
	"testing"
	"time"
)

func TestOneOfEachKindPassesInAnInterval(t *testing.T) {
	f := New[string](10 * time.Second)
	start := time.Unix(0, 0)
	for _, step := range []struct {
		at   time.Duration
		kind string
		more int
		due  bool
	}{
		{0, "a", 0, true},
		{0, "a", 0, false},
		{1 * time.Second, "b", 0, true},
		{9 * time.Second, "a", 0, false},
		{10 * time.Second, "a", 2, true},
		{10 * time.Second, "b", 0, false},
		{19 * time.Second, "a", 0, false},
		{time.Hour, "b", 1, true},
	} {
		if more, due := f.Due(start.Add(step.at), step.kind); more != step.more || due != step.due {
			t.Errorf("%s at %v: %d more, due %v; want %d, %v", step.kind, step.at, more, due, step.more, step.due)
		}
	}
	if got, want := f.Rest(), map[string]int{"a": 1}; !maps.Equal(got, want) {
		t.Errorf("rest %v, want %v", got, want)
	}
	if got := f.Rest(); len(got) > 0 {
		t.Errorf("rest %v was told twice", got)
	}
}

func TestKindsThatAreOverAreForgotten(t *testing.T) {
	f := New[int](time.Minute)
	now := time.Unix(0, 0)
	for i := range 100_000 {
		f.Due(now.Add(time.Duration(i)*time.Second), i)
		if n := len(f.kinds); n > many+1 {
			t.Fatalf("%d kinds are kept, of which 60 are not over", n)
		}
	}
}
