// Package actortest helps to test actors: a system that ends with the test, and probes, which are refs that record
// what they are told.
//
// Everything waits on channels with a deadline, so that it works inside a bubble of testing/synctest, where no real time
// passes, as well as outside. Probes are safe everywhere; those methods that may fail the test belong to its goroutine.
package actortest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// Patience is how long a probe waits for a message, and how long a system may take to stop, before the test fails.
const Patience = 10 * time.Second

// NewSystem makes a system that is stopped at the end of the test, which fails if an actor hangs. Without a Log in
// cfg it logs to the test's output.
func NewSystem(t testing.TB, cfg actor.Config) *actor.System {
	t.Helper()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	sys := actor.NewSystem(cfg)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		if err := sys.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return sys
}

// Spawn is actor.Spawn for a test: an error ends it.
func Spawn[M any](t testing.TB, h actor.Host, name string, start actor.Start[M], opts ...actor.Option) actor.Ref[M] {
	t.Helper()
	ref, err := actor.Spawn(h, name, start, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// Tell tells m and ends the test if it is refused.
func Tell[M any](t testing.TB, to actor.Ref[M], m M) {
	t.Helper()
	if err := to.Tell(t.Context(), m); err != nil {
		t.Fatalf("tell %v %#v: %v", to, m, err)
	}
}

// Probe records what its ref is told, without a bound.
type Probe[M any] struct {
	t    testing.TB
	door door[M]
}

// NewProbe makes a probe for messages of type M.
func NewProbe[M any](t testing.TB) *Probe[M] {
	p := &Probe[M]{t: t}
	p.door.more = make(chan struct{}, 1)
	return p
}

// door is the sender's side of a probe.
type door[M any] struct {
	mu   sync.Mutex
	told []M
	more chan struct{} // one token: something is told
}

func (d *door[M]) Deliver(_ context.Context, _ string, m M) error {
	d.mu.Lock()
	d.told = append(d.told, m)
	d.mu.Unlock()
	select {
	case d.more <- struct{}{}:
	default:
	}
	return nil
}

func (d *door[M]) Describe(string) string { return "probe" }

func (d *door[M]) take() (m M, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.told) == 0 {
		return m, false
	}
	m = d.told[0]
	d.told = d.told[1:]
	return m, true
}

// within waits at most d for the next message.
func (d *door[M]) within(wait time.Duration) (M, bool) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		if m, ok := d.take(); ok {
			return m, true
		}
		select {
		case <-d.more:
		case <-timer.C:
			return d.take()
		}
	}
}

// Ref is what to hand to the actor under test.
func (p *Probe[M]) Ref() actor.Ref[M] { return actor.NewRef[M](&p.door, "") }

// Next waits for the next message; without one the test ends.
func (p *Probe[M]) Next() M {
	p.t.Helper()
	m, ok := p.door.within(Patience)
	if !ok {
		p.t.Fatalf("probe: no message within %v", Patience)
	}
	return m
}

// None waits for d and fails the test if a message comes.
func (p *Probe[M]) None(d time.Duration) {
	p.t.Helper()
	if m, ok := p.door.within(d); ok {
		p.t.Errorf("probe: got %#v, want none within %v", m, d)
	}
}

// All takes the messages that are there, without waiting.
func (p *Probe[M]) All() (all []M) {
	for m, ok := p.door.take(); ok; m, ok = p.door.take() {
		all = append(all, m)
	}
	return all
}

// Expect waits for the next message, which must be a T; else the test ends.
func Expect[T, M any](p *Probe[M]) T {
	p.t.Helper()
	m := p.Next()
	v, ok := any(m).(T)
	if !ok {
		p.t.Fatalf("probe: got %#v, want a %T", m, v)
	}
	return v
}
