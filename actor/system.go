package actor

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Config of a System. The zero value works.
type Config struct {
	// Name is logged with each line; empty for none.
	Name string
	// Log receives failures; default slog.Default().
	Log *slog.Logger
	// Mailbox is the bound of a mailbox that has no option of its own, in messages; default 100,000.
	Mailbox int
	// DeadLetter is called for each dead letter, on the goroutine that found it; it must not block. nil: they are only counted.
	DeadLetter func(DeadLetter)
	// Roundtrip, a switch for tests, replaces each message that a local actor is told by what it returns, or makes Tell
	// return its error; package wire encodes and decodes there. It must return a value of the actor's message type.
	Roundtrip func(m any) (any, error)
	// Shut tells whether no actor may act at present: none is started then or handles a message. It is asked before each batch
	// of messages, so it must be quick. Once it has said so, Gate tells when they may. nil: actors are never held.
	Shut func() bool
	// Gate is called before each timer fires, on a goroutine of its own, and may block: the timer fires when it returns true,
	// and never if it returns false. nil: timers are not held.
	Gate func() bool
	// Seed of the jitter in restart delays; zero draws one.
	Seed uint64
}

// System owns the actors of one node, and the workers that run them.
type System struct {
	root      root
	sched     *scheduler
	log       *slog.Logger
	defaults  *options
	roundtrip func(any) (any, error) // of all kinds
	hold      Hold
	letters   deadLetters
	start     time.Time
	over      *scope        // of all incarnations that have ended and that nobody waited for
	anonymous atomic.Uint64 // actors without a name
	types     sync.Map      // reflect.Type → what is shared by all that has to do with that type: kinds and pools

	mu     sync.Mutex
	random *rand.Rand
}

// NewSystem makes a system without actors. Stop it to end its goroutines.
func NewSystem(cfg Config) *System {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Name != "" {
		cfg.Log = cfg.Log.With("system", cfg.Name)
	}
	if cfg.Mailbox <= 0 {
		cfg.Mailbox = 100_000
	}
	if cfg.Seed == 0 {
		cfg.Seed = rand.Uint64()
	}
	s := &System{
		sched:     newScheduler(),
		log:       cfg.Log,
		defaults:  &options{mailbox: cfg.Mailbox, stash: defaultStash},
		roundtrip: cfg.Roundtrip,
		hold:      Hold{shut: cfg.Shut, gate: cfg.Gate},
		letters:   deadLetters{notify: cfg.DeadLetter},
		start:     time.Now(),
		over:      newScope(),
		random:    rand.New(rand.NewPCG(cfg.Seed, cfg.Seed)),
	}
	s.over.close()
	s.root.init(s)
	return s
}

// Home lets a System be a Host.
func (s *System) Home() Home { return Home{&s.root.core} }

// DeadLetters gives the number of dead letters so far, by reason.
func (s *System) DeadLetters() map[Reason]uint64 { return s.letters.snapshot() }

// Drop makes a message a dead letter: it is counted and published, and a request in it fails with ErrNoReply. It is
// for packages that accept messages for actors and cannot hand them over.
func (s *System) Drop(l DeadLetter) { s.drop(l, ErrNoReply) }

func (s *System) drop(l DeadLetter, err error) {
	s.letters.add(l)
	failRequest(l.Message, err)
}

// Stop ends all actors, children before their parents, and returns when they and all goroutines of the system are gone.
// If ctx ends first, its error comes with the names of those that it waits for; they go on stopping. No
// actor can be spawned any more. It may be called again, to wait once more; an actor must not call it.
func (s *System) Stop(ctx context.Context) error {
	s.root.end(Requested)
	select {
	case <-s.sched.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("actor: stop: %s: %w", s.root.hanging(), ctx.Err())
	}
}

// jitter draws from [0, 1).
func (s *System) jitter() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.Float64()
}

// root is the parent of all: it handles nothing, and when it is to end and its last child has, the workers may.
type root struct{ core }

func (r *root) init(s *System) { r.sys, r.impl, r.phase = s, r, running }

func (r *root) run() bool { return false }

func (r *root) hold() *Hold { return nil }

func (r *root) address() string { return "" }

func (r *root) end(reason StopReason) {
	r.mu.Lock()
	if r.phase == running {
		r.phase = unwinding
		r.ending.Store(uint32(reason))
	}
	r.mu.Unlock()
	for _, c := range r.children() {
		c.impl.end(reason)
	}
	r.poke()
}

func (r *root) poke() {
	r.mu.Lock()
	over := r.phase == unwinding && r.alone()
	if over {
		r.phase = ended
	}
	r.mu.Unlock()
	if over {
		r.sys.sched.close()
	}
}

// namedAtMost bounds the list of those that hang.
const namedAtMost = 10

// hanging names the innermost actors that have not ended, and what each waits for.
func (r *root) hanging() string {
	var names []string
	var visit func(c *core)
	visit = func(c *core) {
		inner := c.children()
		for _, k := range inner {
			visit(k)
		}
		if len(inner) == 0 && c != &r.core {
			names = append(names, c.path()+" "+c.doing())
		}
	}
	visit(&r.core)
	if len(names) == 0 {
		return "waiting for workers"
	}
	if more := len(names) - namedAtMost; more > 0 {
		names = append(names[:namedAtMost], fmt.Sprintf("and %d more", more))
	}
	return "waiting for " + strings.Join(names, ", ")
}

// doing says what keeps the cell from ending.
func (c *core) doing() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.phase == looping:
		return "(in its loop)"
	case c.phase == starting:
		return "(in its start)"
	case c.phase == running && c.queued:
		return "(in its behavior)"
	case c.aside > 0:
		return fmt.Sprintf("(%d Go functions)", c.aside)
	default:
		return "(cleaning up)"
	}
}

// now is the time since the system's start.
func (s *System) now() time.Duration { return time.Since(s.start) }
