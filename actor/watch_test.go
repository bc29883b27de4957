package actor_test

import (
	"errors"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/actortest"
)

func TestACT02WatchLeavesNothingBehind(t *testing.T) {
	const children = 10_000
	sys := actortest.NewSystem(t, actor.Config{})
	done := make(chan struct{})
	type ended [1024]byte
	parent := actortest.Spawn(t, sys, "parent", func(c ctx) (behavior, error) {
		left := 0
		return func(c ctx, m any) error {
			switch m.(type) {
			case int:
				left = children
			case ended:
				left--
			}
			if left == 0 {
				done <- struct{}{}
				return nil
			}
			child := actortest.Spawn(t, c, "", on(func(c ctx, _ any) error { c.Stop(); return nil }))
			return errors.Join(actor.Watch(c, child, any(ended{})), child.Tell(c, 0))
		}, nil
	})
	heap := func() uint64 {
		actortest.Tell[any](t, parent, 0)
		<-done
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range 3 {
		heap()
	}
	if after := heap(); after > before+1<<20 {
		t.Errorf("heap grew from %d to %d bytes", before, after)
	}
}

// A watcher that ends before what it watches must not stay registered there.
func TestWatchersThatEndAreForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		target := actortest.Spawn(t, sys, "target", obedient(p))
		for range 100 {
			w := actortest.Spawn(t, sys, "", obedient(p))
			do(t, w, func(c ctx) {
				if err := actor.Watch(c, target, any("never")); err != nil {
					t.Error(err)
				}
				c.Stop()
			})
		}
		synctest.Wait()
		if n := actor.Watchers(target); n != 0 {
			t.Errorf("%d watchers are left", n)
		}
	})
}

func TestREM03DeathNoticeComesBehindAllThatWasSent(t *testing.T) {
	const messages = 1000
	runs := 1000
	if testing.Short() {
		runs = 50
	}
	sys := actortest.NewSystem(t, actor.Config{})
	for run := range runs {
		done := make(chan struct{})
		next := 0
		actortest.Spawn(t, sys, "", func(c ctx) (behavior, error) {
			sender := actortest.Spawn(t, c, "", on(func(s ctx, _ any) error {
				s.Stop()
				s.Cleanup(func() {
					if err := c.Self().Tell(s, messages); err != nil {
						t.Error(err)
					}
				})
				for i := range messages {
					if err := c.Self().Tell(s, i); err != nil {
						return err
					}
				}
				return nil
			}))
			return func(c ctx, m any) error {
				if m == "terminated" {
					if next != messages+1 {
						t.Errorf("run %d: terminated after %d messages, want %d", run, next, messages+1)
					}
					close(done)
					c.Stop()
					return nil
				}
				if m != next {
					t.Errorf("run %d: got %v, want %d", run, m, next)
				}
				next++
				return nil
			}, errors.Join(actor.Watch(c, sender, any("terminated")), sender.Tell(c, "go"))
		})
		<-done
	}
}

func TestWatchOfTheDeadIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		dead := actortest.Spawn(t, sys, "dead", obedient(p))
		do(t, dead, func(c ctx) { c.Stop() })
		synctest.Wait()
		ref := actortest.Spawn(t, sys, "it", obedient(p))
		do(t, ref, func(c ctx) {
			if err := actor.Watch(c, dead, any("gone")); err != nil {
				t.Error(err)
			}
			if err := actor.Watch(c, p.Ref(), any("never")); !errors.Is(err, actor.ErrNotWatchable) {
				t.Errorf("Watch(probe): %v, want ErrNotWatchable", err)
			}
		})
		if got := p.Next(); got != "gone" {
			t.Errorf("got %v", got)
		}
	})
}

// A notice that came before would find the name taken, and requests unanswered.
func TestWatchOfOneThatIsEndingComesLast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		reached, release := make(chan struct{}), make(chan struct{})
		sys := actortest.NewSystem(t, actor.Config{DeadLetter: func(actor.DeadLetter) {
			close(reached)
			<-release
		}})
		p := actortest.NewProbe[any](t)
		dying := actortest.Spawn(t, sys, "dying", func(c ctx) (behavior, error) {
			stop := func(c ctx, _ any) error { c.Stop(); return nil }
			return stop, errors.Join(c.Self().Tell(c, "stop"), c.Self().Tell(c, "left"))
		})
		<-reached
		ref := actortest.Spawn(t, sys, "it", obedient(p))
		do(t, ref, func(c ctx) {
			if err := actor.Watch(c, dying, any("gone")); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if got := p.All(); len(got) > 0 {
			t.Errorf("told %v while what was left was still being dropped, want nothing", got)
		}
		close(release)
		if got := p.Next(); got != "gone" {
			t.Errorf("got %v, want gone", got)
		}
	})
}
