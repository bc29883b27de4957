package actor

import (
	"testing"
	"time"
)

func TestPolicyDecides(t *testing.T) {
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	ago := func(seconds ...int) (past []time.Time) {
		for _, s := range seconds {
			past = append(past, now.Add(-time.Duration(s)*time.Second))
		}
		return past
	}
	many := make([]time.Time, 200)
	for i := range many {
		many[i] = now
	}
	p := policy{limit: 3, within: time.Minute, min: time.Second, max: 5 * time.Second}
	forever := policy{limit: -1, within: 1<<63 - 1, min: time.Second, max: 1<<63 - 1}
	for _, tt := range []struct {
		name   string
		policy policy
		past   []time.Time
		jitter float64
		delay  time.Duration
		kept   int
		ok     bool
	}{
		{"default stops", policy{}, nil, 0, 0, 0, false},
		{"first", p, nil, 0, time.Second, 0, true},
		{"jitter", p, nil, 0.5, 1100 * time.Millisecond, 0, true},
		{"second doubles", p, ago(10), 0, 2 * time.Second, 1, true},
		{"third", p, ago(20, 10), 0, 4 * time.Second, 2, true},
		{"over the limit", p, ago(30, 20, 10), 0, 0, 3, false},
		{"old ones do not count", p, ago(80, 70, 61, 60), 0, 2 * time.Second, 1, true},
		{"at once", policy{limit: 1, within: time.Minute}, nil, 0.9, 0, 0, true},
		{"capped", policy{limit: 9, within: time.Minute, min: time.Second, max: 5 * time.Second}, ago(3, 2, 1), 0, 5 * time.Second, 3, true},
		{"for ever", forever, many, 0.99, 1<<62 - 1, remembered - 1, true},
		{"large limit is a limit", policy{limit: 100, within: time.Minute, max: 1}, many[:100], 0, 0, 100, false},
	} {
		delay, kept, ok := tt.policy.decide(tt.past, now, tt.jitter)
		if ok != tt.ok || len(kept) != tt.kept || delay != tt.delay && (delay-tt.delay).Abs() > 1 {
			t.Errorf("%s: got %v, %d kept, %v; want %v, %d, %v", tt.name, delay, len(kept), ok, tt.delay, tt.kept, tt.ok)
		}
	}
}
