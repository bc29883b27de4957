package actor_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/actortest"
)

// bubble runs f in virtual time; a goroutine that outlives it fails the test.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// A test's actors understand anything.
type (
	ctx      = *actor.Ctx[any]
	behavior = actor.Behavior[any]
	start    = actor.Start[any]
)

// on makes an actor of one behavior.
func on(f behavior) start {
	return func(ctx) (behavior, error) { return f, nil }
}

// forward passes all on to a probe.
func forward(p *actortest.Probe[any]) start {
	return on(func(c ctx, m any) error { return p.Ref().Tell(c, m) })
}

// call has an actor do something with its Ctx.
type call func(c ctx) error

// obedient does what it is called for, and passes all else on to the probe.
func obedient(p *actortest.Probe[any]) start {
	return on(func(c ctx, m any) error {
		if f, ok := m.(call); ok {
			return f(c)
		}
		return p.Ref().Tell(c, m)
	})
}

// do has an obedient actor call f and waits until it has.
func do(t *testing.T, ref actor.Ref[any], f func(c ctx)) {
	t.Helper()
	done := make(chan struct{})
	actortest.Tell[any](t, ref, call(func(c ctx) error { defer close(done); f(c); return nil }))
	<-done
}

// question is answered with a string.
type question struct {
	text  string
	reply actor.Reply[string] // unexported on purpose: a dropped request fails all the same
}

func (q question) WithReply(r actor.Reply[string]) any { q.reply = r; return q }

var errPlanned = errors.New("planned")

// fault makes an actor of faulty fail.
type fault struct{ panics bool }

// faulty fails on a fault and passes all else on.
func faulty(p *actortest.Probe[any]) behavior {
	return func(c ctx, m any) error {
		switch m := m.(type) {
		case fault:
			if m.panics {
				panic(errPlanned)
			}
			return errPlanned
		case call:
			return m(c)
		}
		return p.Ref().Tell(c, m)
	}
}

// letters records dead letters.
type letters struct {
	mu  sync.Mutex
	all []actor.DeadLetter
}

func (l *letters) add(d actor.DeadLetter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, d)
}

// texts gives "reason: message" in order.
func (l *letters) texts() (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.all {
		all = append(all, fmt.Sprintf("%s: %v", d.Reason, d.Message))
	}
	return all
}

// gone waits until the actor of ref has ended.
func gone(t *testing.T, sys *actor.System, ref actor.Ref[any]) {
	t.Helper()
	p := actortest.NewProbe[any](t)
	w := actortest.Spawn(t, sys, "", obedient(p))
	do(t, w, func(c ctx) {
		if err := actor.Watch(c, ref, any("gone")); err != nil {
			t.Error(err)
		}
	})
	p.Next()
	do(t, w, func(c ctx) { c.Stop() })
}

// soon is a context that ends if a test hangs.
func soon(t *testing.T) context.Context {
	c, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return c
}
