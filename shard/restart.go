package shard

import (
	"cmp"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	life "github.com/troupe-go/troupe/shard/internal/entity"
)

// A Backoff is how long an entity that failed rests before it is started again, so
// that one which fails at once costs little. It begins where the supervision of
// [Type.Options] gives up; without [actor.Restart] there that is the first failure.
// Other entities, of the same shard too, go on meanwhile.
type Backoff struct {
	// Min is the rest after a failure. Each further one is twice as long, and up to a
	// fifth longer at random. Default 100 ms; negative for none.
	Min time.Duration
	// Max bounds the rest. An entity that has not failed for so long after its rest
	// begins with Min again. Default 30 s.
	Max time.Duration
	// Wakes has the next message end the rest. Default: messages wait for its end,
	// within [Type.Buffer].
	Wakes bool
}

const (
	defaultMinRest = 100 * time.Millisecond
	defaultMaxRest = 30 * time.Second
)

func (b Backoff) withDefaults() Backoff {
	b.Min = cmp.Or(b.Min, defaultMinRest)
	b.Max = cmp.Or(b.Max, max(defaultMaxRest, b.Min))
	return b
}

// rests are those of the entities of a type on this node. Its lock is a leaf, like
// the limiter's.
type rests struct {
	some atomic.Bool // somebody has failed not long ago
	mu   sync.Mutex
	of   *life.Rests[string] // nil if nobody ever rests
}

func newRests(b Backoff) *rests {
	if b.Min < 0 {
		return &rests{}
	}
	return &rests{of: life.NewRests[string](b.Min, b.Max)}
}

// begin has an entity rest that failed; false if there are no rests.
func (r *rests) begin(id string) bool {
	if r.of == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.some.Store(true)
	r.of.Failed(time.Now(), id, rand.Float64())
	return true
}

// hold tells whether an entity rests.
func (r *rests) hold(id string) bool {
	if !r.some.Load() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, rests := r.of.Resting(id)
	return rests
}

// end ends an entity's rest before its time.
func (r *rests) end(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of.End(id)
}

// wake is when somebody has rested enough; zero for never.
func (r *rests) wake() time.Time {
	if !r.some.Load() {
		return time.Time{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of.Wake()
}

// over gives those who have rested enough.
func (r *rests) over(now time.Time) []string {
	if !r.some.Load() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := r.of.Due(now)
	r.some.Store(!r.of.Wake().IsZero())
	return ids
}

// rested starts the entities again that have rested enough.
func (r *shell[M]) rested(now time.Time) {
	for _, id := range r.rests.over(now) {
		if s, err := r.slotOf(id); err == nil {
			s.rested(id)
		}
	}
}

func (s *slot[M]) rested(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.here; h != nil && !h.ending {
		if e := h.find(id); e != nil && e.rests() {
			h.start(e)
		}
	}
}

// rests tells whether nothing but its rest keeps an entity from being started: it
// failed, or, if nobody had been waiting for it then, it came anew.
func (e *entity[M]) rests() bool {
	return e.state == life.WaitingForRestart || e.state == life.None && e.home.memory == nil
}

// rest has an entity that failed be started again later, with what waits for it.
// One for which nobody waits, and which does not return by itself, is gone.
func (h *local[M]) rest(e *entity[M], q queue[M]) {
	r := h.s.r
	resting := r.rests.begin(e.id)
	r.control.posts.Signal() // its end is to be waited for
	if resting && r.typ.Backoff.Wakes && q.len() > 0 {
		r.rests.end(e.id)
		resting = false
	}
	switch {
	case !e.returns() && q.len() == 0:
		e.become(life.None)
		h.remove(e)
	case resting:
		e.become(life.WaitingForRestart)
		e.late.Load().wait = q
	default:
		e.become(life.WaitingForRestart)
		h.succeed(e, q)
	}
}

// start starts an entity with what waits for it.
func (h *local[M]) start(e *entity[M]) {
	l := e.late.Load()
	q := l.wait
	l.wait = queue[M]{}
	h.succeed(e, q)
}
