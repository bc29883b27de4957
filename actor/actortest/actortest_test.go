package actortest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/actortest"
)

func TestProbe(t *testing.T) {
	check := func(t *testing.T) {
		p := actortest.NewProbe[any](t)
		go func() {
			for _, m := range []any{1, "two", 3.0} {
				if err := p.Ref().Tell(context.Background(), m); err != nil {
					t.Error(err)
				}
			}
		}()
		if got := p.Next(); got != 1 {
			t.Errorf("Next() = %v, want 1", got)
		}
		if got := actortest.Expect[string](p); got != "two" {
			t.Errorf("Expect[string]() = %v, want two", got)
		}
		if got := p.Next(); got != 3.0 {
			t.Errorf("Next() = %v, want 3", got)
		}
		p.None(time.Millisecond)
		if got := p.All(); len(got) != 0 {
			t.Errorf("All() = %v, want nothing", got)
		}
	}
	t.Run("bubble", func(t *testing.T) { synctest.Test(t, check) })
}

func TestProbeIsOneAddress(t *testing.T) {
	p, q := actortest.NewProbe[int](t), actortest.NewProbe[int](t)
	if p.Ref() != p.Ref() || p.Ref() == q.Ref() {
		t.Error("refs of one probe must be equal, of two must differ")
	}
}

func TestSystemEndsWithTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // leftover goroutines fail a bubble
		sys := actortest.NewSystem(t, actor.Config{})
		p := actortest.NewProbe[string](t)
		ref := actortest.Spawn(t, sys, "echo", func(*actor.Ctx[string]) (actor.Behavior[string], error) {
			return func(c *actor.Ctx[string], m string) error { return p.Ref().Tell(c, m) }, nil
		})
		actortest.Tell(t, ref, "hello")
		if got := p.Next(); got != "hello" {
			t.Errorf("got %q, want hello", got)
		}
	})
}
