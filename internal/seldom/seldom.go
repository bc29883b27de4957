// Package seldom keeps what goes wrong again and again from filling the log: the
// first of each kind is due at once, then one in each interval, with the number of
// those that were left out since.
//
// It reads no clock, writes nothing and calls nobody; a [Filter] is safe for
// concurrent use.
package seldom

import (
	"sync"
	"time"
)

// many is how many kinds are kept before those whose interval is over are forgotten.
const many = 64

// A Filter tells what is due, for each kind by itself.
type Filter[K comparable] struct {
	every time.Duration

	mu    sync.Mutex
	kinds map[K]kind
}

type kind struct {
	last time.Time
	more int // since then
}

// New makes a filter that lets one of each kind pass in an interval.
func New[K comparable](every time.Duration) *Filter[K] {
	return &Filter[K]{every: every, kinds: map[K]kind{}}
}

// Due tells whether one of a kind is due now, and how many more there were since the
// last one that was.
func (f *Filter[K]) Due(now time.Time, k K) (more int, due bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen, known := f.kinds[k]
	if known && now.Sub(seen.last) < f.every {
		seen.more++
		f.kinds[k] = seen
		return 0, false
	}
	if !known && len(f.kinds) >= many {
		f.forget(now)
	}
	f.kinds[k] = kind{last: now}
	return seen.more, true
}

// forget drops the kinds whose interval is over; mu is held.
func (f *Filter[K]) forget(now time.Time) {
	for k, seen := range f.kinds {
		if now.Sub(seen.last) >= f.every {
			delete(f.kinds, k)
		}
	}
}

// Rest gives how many of each kind were left out since the last that was due, and
// forgets that: for the last line before the end.
func (f *Filter[K]) Rest() map[K]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	rest := map[K]int{}
	for k, seen := range f.kinds {
		if seen.more > 0 {
			rest[k] = seen.more
			f.kinds[k] = kind{last: seen.last}
		}
	}
	return rest
}
