package actor_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/actortest"
)

func TestACT03TimerMessageAfterCancelOrRestart(t *testing.T) {
	for name, undo := range map[string]func(c ctx) error{
		"cancel":  func(c ctx) error { c.Cancel("k"); return nil },
		"replace": func(c ctx) error { return c.Schedule("k", time.Hour, "new") },
		"ticker":  func(c ctx) error { return c.Every("k", time.Hour, "new") },
		"restart": func(ctx) error { return errPlanned },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
				ref := actortest.Spawn(t, sys, "it", on(faulty(p)), actor.Restart(-1, actor.Backoff(0, 0)))
				for i := range 200 {
					// The tick is in the mailbox by the time that the handler goes on.
					actortest.Tell[any](t, ref, call(func(c ctx) error {
						if err := c.Schedule("k", time.Millisecond, "old"); err != nil {
							t.Error(err)
						}
						time.Sleep(10 * time.Millisecond)
						return undo(c)
					}))
					actortest.Tell[any](t, ref, i)
					if got := p.Next(); got != i {
						t.Fatalf("round %d: got %v", i, got)
					}
				}
				time.Sleep(time.Second)
				if got := p.All(); len(got) != 0 {
					t.Errorf("got %v after the end of the timers", got)
				}
			})
		})
	}
}

func TestACT04StashedTimerTick(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		ref := actortest.Spawn(t, sys, "it", func(c ctx) (behavior, error) {
			return func(c ctx, m any) error {
				if m == "ready" {
					c.Unstash()
					c.Become(faulty(p))
					return nil
				}
				return c.Stash()
			}, c.After(time.Second, "tick")
		})
		actortest.Tell[any](t, ref, "before")
		time.Sleep(2 * time.Second)
		actortest.Tell[any](t, ref, "after")
		actortest.Tell[any](t, ref, "ready")
		synctest.Wait()
		if got, want := p.All(), []any{"before", "tick", "after"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestACT09SlowHandlerDelaysNoTimers(t *testing.T) {
	const actors = 10_000
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{})
		begin := time.Now()
		late := make(chan time.Duration, actors)
		for range actors {
			actortest.Spawn(t, sys, "", func(c ctx) (behavior, error) {
				return func(ctx, any) error {
					late <- time.Since(begin) - 100*time.Millisecond
					return nil
				}, c.After(100*time.Millisecond, "tick")
			})
		}
		slow := actortest.Spawn(t, sys, "slow", on(func(ctx, any) error { time.Sleep(5 * time.Second); return nil }))
		actortest.Tell[any](t, slow, 0)
		for range actors {
			if d := <-late; d != 0 {
				t.Fatalf("a timer was %v late", d)
			}
		}
	})
}

func TestACT10ExtremeDurations(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		ref := actortest.Spawn(t, sys, "it", obedient(p))
		begin := time.Now()
		fires := []time.Duration{0, 1, 999 * time.Microsecond, 50 * 24 * time.Hour, 100 * 365 * 24 * time.Hour}
		do(t, ref, func(c ctx) {
			for _, d := range append(slices.Clone(fires), math.MaxInt64) {
				if err := c.After(d, d); err != nil {
					t.Errorf("After(%v): %v", d, err)
				}
			}
			for _, d := range []time.Duration{-1, math.MinInt64} {
				for name, err := range map[string]error{
					"After": c.After(d, 0), "Schedule": c.Schedule("k", d, 0), "Every": c.Every("k", d, 0),
				} {
					if !errors.Is(err, actor.ErrBadDuration) {
						t.Errorf("%s(%v): got %v, want ErrBadDuration", name, d, err)
					}
				}
			}
			if err := c.Every("k", 0, 0); !errors.Is(err, actor.ErrBadDuration) {
				t.Errorf("Every(0): got %v, want ErrBadDuration", err)
			}
			if err := c.Every("k", math.MaxInt64, 0); err != nil {
				t.Errorf("Every(max): %v", err)
			}
		})
		for _, want := range fires {
			time.Sleep(want - time.Since(begin))
			synctest.Wait()
			if got := p.All(); len(got) != 1 || got[0] != want {
				t.Errorf("at %v: got %v", want, got)
			}
		}
	})
}

func TestTickerKeepsTheBeatAndDoesNotPileUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		ref := actortest.Spawn(t, sys, "it", on(func(c ctx, m any) error {
			switch m := m.(type) {
			case call:
				return m(c)
			case time.Duration:
				time.Sleep(m)
				return nil
			}
			return p.Ref().Tell(c, time.Now())
		}))
		begin := time.Now()
		do(t, ref, func(c ctx) {
			if err := c.Every("beat", time.Second, "tick"); err != nil {
				t.Error(err)
			}
		})
		for i := 1; i <= 3; i++ {
			if got := p.Next().(time.Time).Sub(begin); got != time.Duration(i)*time.Second {
				t.Fatalf("tick %d after %v", i, got)
			}
		}
		actortest.Tell[any](t, ref, 3500*time.Millisecond) // from 3 s to 6.5 s
		for _, want := range []time.Duration{6500, 7000, 8000} {
			if got := p.Next().(time.Time).Sub(begin); got != want*time.Millisecond {
				t.Errorf("tick after %v, want %v", got, want*time.Millisecond)
			}
		}
		do(t, ref, func(c ctx) {
			if !c.Cancel("beat") || c.Cancel("beat") {
				t.Error("Cancel must be true once")
			}
		})
		p.None(time.Minute)
	})
}
