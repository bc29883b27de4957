package entity

import (
	"container/heap"
	"time"
)

// Rests are the times for which entities that failed are not started again: Min
// after a failure, twice as long after each further one, at most Max, each up to a fifth
// longer so that entities which failed together do not come back together. Who has
// not failed for Max after its rest begins with Min again.
type Rests[K comparable] struct {
	min, max time.Duration
	of       map[K]*rest
	due      moments[K]
}

// A rest is what is remembered of an entity that failed.
type rest struct {
	failures int
	until    time.Time
	over     bool // the entity has been let go on
}

// NewRests makes one in which nobody rests.
func NewRests[K comparable](minimum, maximum time.Duration) *Rests[K] {
	return &Rests[K]{min: minimum, max: maximum, of: map[K]*rest{}}
}

// Failed begins the rest of an entity, and tells when it will be over. Jitter is
// from [0, 1).
func (r *Rests[K]) Failed(now time.Time, k K, jitter float64) (until time.Time) {
	e := r.of[k]
	if e == nil {
		e = new(rest)
		r.of[k] = e
	}
	d := r.min
	for range e.failures {
		if d > r.max/2 {
			d = r.max
			break
		}
		d *= 2
	}
	e.failures++
	e.over, e.until = false, now.Add(d+time.Duration(float64(d)/5*jitter))
	heap.Push(&r.due, moment[K]{e.until, k})
	return e.until
}

// End ends a rest before its time; that it failed is still remembered.
func (r *Rests[K]) End(k K) {
	if e := r.of[k]; e != nil {
		e.over = true
	}
}

// Resting tells until when an entity rests; ok is false if it does not.
func (r *Rests[K]) Resting(k K) (until time.Time, ok bool) {
	e := r.of[k]
	if e == nil || e.over {
		return time.Time{}, false
	}
	return e.until, true
}

// Due gives those whose rest is over now, by the time of its end.
func (r *Rests[K]) Due(now time.Time) []K {
	var rested []K
	for len(r.due) > 0 && !now.Before(r.due[0].at) {
		m := heap.Pop(&r.due).(moment[K])
		e := r.of[m.key]
		switch {
		case e == nil: // forgotten
		case m.at.Equal(e.until):
			if !e.over {
				e.over = true
				rested = append(rested, m.key)
			}
			heap.Push(&r.due, moment[K]{e.until.Add(r.max), m.key})
		case m.at.Equal(e.until.Add(r.max)):
			delete(r.of, m.key)
		}
	}
	return rested
}

// Wake is when Due has something to do next; zero for never.
func (r *Rests[K]) Wake() time.Time {
	if len(r.due) == 0 {
		return time.Time{}
	}
	return r.due[0].at
}

// A moment is when something ends for an entity: its rest, or the memory of it.
type moment[K comparable] struct {
	at  time.Time
	key K
}

type moments[K comparable] []moment[K]

func (m moments[K]) Len() int           { return len(m) }
func (m moments[K]) Less(i, j int) bool { return m[i].at.Before(m[j].at) }
func (m moments[K]) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *moments[K]) Push(x any)        { *m = append(*m, x.(moment[K])) }

func (m *moments[K]) Pop() any {
	old := *m
	last := old[len(old)-1]
	*m = old[:len(old)-1]
	return last
}
