package actor_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/actortest"
)

func TestGoTellsItsResult(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		ref := actortest.Spawn(t, sys, "it", obedient(p))
		do(t, ref, func(c ctx) {
			c.Go(func(inner context.Context) any {
				if actor.Current(inner) == nil {
					t.Error("the context of a Go function does not know its actor")
				}
				time.Sleep(time.Second)
				return "result"
			})
		})
		actortest.Tell[any](t, ref, "meanwhile")
		for _, want := range []any{"meanwhile", "result"} {
			if got := p.Next(); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		}
	})
}

func TestGoEndsWithTheActorAndIsWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var dead letters
		sys, p := actortest.NewSystem(t, actor.Config{DeadLetter: dead.add}), actortest.NewProbe[any](t)
		ref := actortest.Spawn(t, sys, "it", func(c ctx) (behavior, error) {
			c.Cleanup(func() {
				if err := p.Ref().Tell(c, "cleanup"); err != nil {
					t.Error(err)
				}
			})
			return obedient(p)(c)
		})
		begin := time.Now()
		do(t, ref, func(c ctx) {
			c.Go(func(inner context.Context) any {
				limit, cancel := context.WithTimeout(inner, time.Hour) // derived contexts end too
				defer cancel()
				<-limit.Done()
				time.Sleep(time.Second)
				if err := p.Ref().Tell(inner, "aside"); err != nil {
					t.Error(err)
				}
				return "result"
			})
			c.Stop()
		})
		gone(t, sys, ref)
		if d := time.Since(begin); d != time.Second {
			t.Errorf("ended after %v, want 1s", d)
		}
		for _, want := range []any{"aside", "cleanup"} {
			if got := p.Next(); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		}
		if got := dead.texts(); len(got) != 1 || got[0] != "stopped: result" {
			t.Errorf("dead letters %q", got)
		}
	})
}

func TestGoResultOfAFormerLife(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		ref := actortest.Spawn(t, sys, "it", on(faulty(p)), actor.Restart(1))
		actortest.Tell[any](t, ref, call(func(c ctx) error {
			c.Go(func(inner context.Context) any { <-inner.Done(); return "former" })
			return errPlanned
		}))
		actortest.Tell[any](t, ref, "next")
		if got := p.Next(); got != "next" {
			t.Errorf("got %v, want next", got)
		}
		synctest.Wait()
		if got := sys.DeadLetters()[actor.ReasonRestarted]; got != 1 {
			t.Errorf("dead letters %v", sys.DeadLetters())
		}
	})
}

func TestGoPanicIsAFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		starts := 0
		ref := actortest.Spawn(t, sys, "it", func(ctx) (behavior, error) {
			starts++
			return faulty(p), nil
		}, actor.Restart(1))
		do(t, ref, func(c ctx) { c.Go(func(context.Context) any { panic(errPlanned) }) })
		time.Sleep(time.Minute)
		actortest.Tell[any](t, ref, "next")
		if got := p.Next(); got != "next" || starts != 2 {
			t.Errorf("got %v after %d starts", got, starts)
		}
	})
}

func TestFailuresOfGoFunctionsThatComeTooLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		ref := actortest.Spawn(t, sys, "it", obedient(p))
		do(t, ref, func(c ctx) {
			c.Go(func(inner context.Context) any { <-inner.Done(); runtime.Goexit(); return nil })
			c.Stop()
		})
		gone(t, sys, ref)
		synctest.Wait()
		if got := sys.DeadLetters(); len(got) != 0 {
			t.Errorf("dead letters %v", got)
		}
	})
}
