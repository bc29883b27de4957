package shard

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/placement"
)

func TestReadingAverages(t *testing.T) {
	now := time.Unix(0, 0)
	r := reading{began: now, at: now, messages: 1000}
	total := uint64(1000)
	run := func(d time.Duration, perSecond uint64) {
		for end := now.Add(d); now.Before(end); {
			now = now.Add(5 * time.Second)
			total += 5 * perSecond
			r.read(now, total, 100*total)
		}
	}
	run(30*time.Second, 10)
	if got := r.load("1"); got.Messages != 10_000 || got.Seconds != 30 {
		t.Errorf("after 30 s with 10 a second: %+v", got)
	}
	run(30*time.Second, 30)
	if got := r.load("1").Messages; got < 19_900 || got > 20_100 {
		t.Errorf("after 30 s more with 30 a second: %d in 1000 s, want the mean, 20,000", got)
	}
	run(10*time.Minute, 0)
	if got := r.load("1").Messages; got > 1 {
		t.Errorf("after 10 quiet minutes: %d in 1000 s", got)
	}
	r.read(now, total, total) // no time has passed
}

func TestLoadsAreMeasuredOnlyForWhoReadsThem(t *testing.T) {
	for _, tt := range []struct {
		s    placement.Strategy
		want bool
	}{
		{nil, false},
		{placement.LeastShards{}, false},
		{placement.External{}, false},
		{placement.External{Otherwise: placement.LeastLoad{}}, true},
		{placement.LeastLoad{}, true},
		{struct{ placement.Strategy }{}, true},
	} {
		if got := newLoads(tt.s) != nil; got != tt.want {
			t.Errorf("%T: measured %t, want %t", tt.s, got, tt.want)
		}
	}
}
