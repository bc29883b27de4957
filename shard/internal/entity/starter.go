package entity

import "time"

// A Pace is how remembered entities are started.
type Pace struct {
	Batch int           // how many are started in each Every; 0 for all at once
	Every time.Duration // from one batch to the next
	Retry time.Duration // after which those whose start was not acknowledged are started again; 0 for never
	Open  int           // how many may be started and not acknowledged at a time; 0 for any number
}

// A Starter has remembered entities started at a pace: those for which somebody
// waits first, else in the order in which they came. The zero Pace starts all at once.
type Starter[K comparable] struct {
	pace   Pace
	known  map[K]*start[K]
	urgent []*start[K] // wait for their turn, as do those in queue, which has the urgent ones as well
	queue  []*start[K]
	asked  []*start[K] // in the order in which they were started
	open   int         // of those in asked, have not been acknowledged
	idle   int         // of those in queue, still wait
	moved  []K

	left    int       // of the present batch
	batchAt time.Time // when the next one may begin
	retryAt time.Time // zero while nothing was started
}

// A start is an entity's way through a Starter.
type start[K comparable] struct {
	key     K
	waiting bool // for its turn
	urgent  bool // among those that come first
	open    bool // started, and not acknowledged
}

// NewStarter makes one that has nothing to do yet.
func NewStarter[K comparable](p Pace) *Starter[K] {
	return &Starter[K]{pace: p, known: map[K]*start[K]{}}
}

// Add has an entity started in its turn.
func (s *Starter[K]) Add(k K) {
	if s.known[k] != nil {
		return
	}
	e := &start[K]{key: k, waiting: true}
	s.known[k] = e
	s.queue = append(s.queue, e)
	s.idle++
}

// First has an entity started before those for which nobody waits.
func (s *Starter[K]) First(k K) {
	if e := s.known[k]; e != nil && e.waiting && !e.urgent {
		e.urgent = true
		s.urgent = append(s.urgent, e)
	}
}

// Acked says that an entity has started, here or, because it belongs there, in
// another shard.
func (s *Starter[K]) Acked(k K, here bool) {
	if s.known[k] == nil {
		return
	}
	s.drop(k)
	if !here {
		s.moved = append(s.moved, k)
	}
}

// drop forgets an entity that is not to be started any more.
func (s *Starter[K]) drop(k K) {
	e := s.known[k]
	if e == nil {
		return
	}
	delete(s.known, k)
	if e.waiting {
		s.idle--
	}
	if e.open {
		s.open--
	}
	e.waiting, e.open = false, false
}

// Done tells whether all that were added have started.
func (s *Starter[K]) Done() bool { return len(s.known) == 0 }

// Moved are those that have started in other shards, in the order of their
// acknowledgements, once all are done.
func (s *Starter[K]) Moved() []K {
	if !s.Done() {
		return nil
	}
	return s.moved
}

// Waiting is how many have not been started.
func (s *Starter[K]) Waiting() int { return s.idle }

// Step gives the entities that are to be started now.
func (s *Starter[K]) Step(now time.Time) []K {
	retry := s.retries(now)
	if s.idle > 0 && !now.Before(s.batchAt) {
		s.left, s.batchAt = s.pace.Batch, now.Add(s.pace.Every)
	}
	var batch []K
	for s.mayStart() {
		e := s.next()
		e.waiting, e.open = false, true
		s.idle--
		s.open++
		s.left--
		s.asked = append(s.asked, e)
		batch = append(batch, e.key)
	}
	if s.open == 0 {
		s.asked = nil
	}
	if s.open > 0 && s.retryAt.IsZero() && s.pace.Retry > 0 {
		s.retryAt = now.Add(s.pace.Retry)
	}
	if s.Done() {
		s.urgent, s.queue, s.retryAt = nil, nil, time.Time{}
	}
	return append(batch, retry...)
}

func (s *Starter[K]) mayStart() bool {
	return s.idle > 0 && (s.pace.Batch == 0 || s.left > 0) && (s.pace.Open == 0 || s.open < s.pace.Open)
}

// next takes the one whose turn it is; there must be one.
func (s *Starter[K]) next() *start[K] {
	for len(s.urgent) > 0 {
		e := s.urgent[0]
		if s.urgent = s.urgent[1:]; e.waiting {
			return e
		}
	}
	for {
		e := s.queue[0]
		if s.queue = s.queue[1:]; e.waiting {
			return e
		}
	}
}

// retries gives those that were started before and not acknowledged, if it is time.
func (s *Starter[K]) retries(now time.Time) []K {
	if s.retryAt.IsZero() || now.Before(s.retryAt) {
		return nil
	}
	s.retryAt = s.retryAt.Add(s.pace.Retry * (1 + now.Sub(s.retryAt)/s.pace.Retry))
	var again []K
	kept := s.asked[:0]
	for _, e := range s.asked {
		if e.open {
			kept = append(kept, e)
			again = append(again, e.key)
		}
	}
	clear(s.asked[len(kept):])
	s.asked = kept
	return again
}

// Wake is when Step has something to do next; zero for never. It may be earlier
// after an acknowledgement.
func (s *Starter[K]) Wake(now time.Time) time.Time {
	var wake time.Time
	switch {
	case s.mayStart():
		wake = now
	case s.idle > 0 && (s.pace.Open == 0 || s.open < s.pace.Open):
		wake = s.batchAt
		if wake.Before(now) { // of a batch long ago, or of none
			wake = now
		}
	}
	if s.open > 0 && !s.retryAt.IsZero() && (wake.IsZero() || s.retryAt.Before(wake)) {
		wake = s.retryAt
	}
	return wake
}
