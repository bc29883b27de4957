package actor_test

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/actortest"
)

func TestBehaviorHandlesInOrderAndBecomes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		var second behavior = func(c ctx, m any) error { return p.Ref().Tell(c, -m.(int)) }
		ref := actortest.Spawn(t, sys, "it", on(func(c ctx, m any) error {
			if m == 500 {
				c.Become(second)
			}
			return p.Ref().Tell(c, m)
		}))
		for i := range 1000 {
			actortest.Tell[any](t, ref, i)
		}
		for i := range 1000 {
			want := i
			if i > 500 {
				want = -i
			}
			if got := p.Next(); got != want {
				t.Fatalf("message %d: got %v, want %v", i, got, want)
			}
		}
	})
}

func TestSpawnErrors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{})
		fine := on(func(ctx, any) error { return nil })
		actortest.Spawn(t, sys, "taken", fine)
		for name, tt := range map[string]struct {
			name  string
			start start
			opts  []actor.Option
			want  error
		}{
			"taken":       {"taken", fine, nil, actor.ErrNameTaken},
			"slash":       {"a/b", fine, nil, actor.ErrBadName},
			"mailbox":     {"m", fine, []actor.Option{actor.Mailbox(0)}, actor.ErrBadOption},
			"stash":       {"s", fine, []actor.Option{actor.StashLimit(-1)}, actor.ErrBadOption},
			"backoff":     {"b", fine, []actor.Option{actor.Restart(1, actor.Backoff(2, 1))}, actor.ErrBadOption},
			"within":      {"w", fine, []actor.Option{actor.Restart(1, actor.Within(0))}, actor.ErrBadOption},
			"start fails": {"f", func(ctx) (behavior, error) { return nil, errPlanned }, nil, errPlanned},
			"panics":      {"p", func(ctx) (behavior, error) { panic(errPlanned) }, nil, errPlanned},
			"nothing":     {"n", func(ctx) (behavior, error) { return nil, nil }, nil, actor.ErrNoBehavior},
			"stops":       {"x", func(c ctx) (behavior, error) { c.Stop(); return nil, errPlanned }, []actor.Option{actor.Restart(-1)}, errPlanned},
		} {
			if _, err := actor.Spawn(sys, tt.name, tt.start, tt.opts...); !errors.Is(err, tt.want) {
				t.Errorf("%s: got %v, want %v", name, err, tt.want)
			}
		}
		if err := sys.Stop(soon(t)); err != nil {
			t.Fatal(err)
		}
		if _, err := actor.Spawn(sys, "late", fine); !errors.Is(err, actor.ErrStopped) {
			t.Errorf("after Stop: got %v, want ErrStopped", err)
		}
	})
}

func TestNameIsFreeWhenTheActorHasEnded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		actortest.Spawn(t, sys, "parent", func(c ctx) (behavior, error) {
			spawn := func() error {
				child, err := actor.Spawn(c, "child", obedient(p))
				if err != nil {
					return err
				}
				if err := actor.Watch(c, child, any("again")); err != nil {
					return err
				}
				return child.Tell(c, call(func(c ctx) error { c.Stop(); return nil }))
			}
			n := 0
			return func(c ctx, m any) error {
				if n++; n == 100 {
					return p.Ref().Tell(c, "done")
				}
				return spawn()
			}, spawn()
		})
		if got := p.Next(); got != "done" {
			t.Errorf("got %v, want done", got)
		}
	})
}

func TestFailedStartFreesItsName(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{})
		cleaned := false
		_, err := actor.Spawn(sys, "it", func(c ctx) (behavior, error) {
			c.Cleanup(func() { cleaned = true })
			actortest.Spawn(t, c, "child", on(func(ctx, any) error { return nil }))
			return nil, errPlanned
		})
		if !errors.Is(err, errPlanned) {
			t.Fatalf("got %v, want %v", err, errPlanned)
		}
		synctest.Wait()
		if !cleaned {
			t.Error("cleanup of the failed start did not run")
		}
		actortest.Spawn(t, sys, "it", on(func(ctx, any) error { return nil }))
	})
}

func TestStopOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		var tree func(name string, depth int) start
		tree = func(name string, depth int) start {
			return func(c ctx) (behavior, error) {
				for _, f := range []string{"first", "last"} {
					c.Cleanup(func() {
						if err := p.Ref().Tell(c, name+" "+f+" "+c.Stopping().String()); err != nil {
							t.Error(err)
						}
					})
				}
				if depth > 0 {
					actortest.Spawn(t, c, "inner", tree(name+"/inner", depth-1))
				}
				return func(ctx, any) error { return nil }, nil
			}
		}
		actortest.Spawn(t, sys, "outer", tree("/outer", 2))
		if err := sys.Stop(soon(t)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range p.All() {
			got = append(got, m.(string))
		}
		want := []string{
			"/outer/inner/inner last requested", "/outer/inner/inner first requested",
			"/outer/inner last requested", "/outer/inner first requested",
			"/outer last requested", "/outer first requested",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}

func TestStopDropsWhatIsLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var dead letters
		sys := actortest.NewSystem(t, actor.Config{DeadLetter: dead.add})
		ref := actortest.Spawn(t, sys, "it", func(c ctx) (behavior, error) {
			for i := range 20 {
				if err := c.Self().Tell(c, i); err != nil {
					t.Error(err)
				}
			}
			return func(c ctx, m any) error {
				switch m {
				case 0, 2:
					return c.Stash()
				case 3:
					c.Stop()
					c.Stop()
				}
				return nil
			}, nil
		})
		gone(t, sys, ref)
		if err := ref.Tell(t.Context(), "late"); !errors.Is(err, actor.ErrStopped) || !strings.Contains(err.Error(), "/it") {
			t.Errorf("Tell after the end: got %v, want ErrStopped that names /it", err)
		}
		want := []string{"stopped: 0", "stopped: 2"}
		for _, s := range strings.Fields("4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19") {
			want = append(want, "stopped: "+s)
		}
		if got := dead.texts(); !slices.Equal(got, want) {
			t.Errorf("dead letters: got %q, want %q", got, want)
		}
		if got := sys.DeadLetters()[actor.ReasonStopped]; got != 18 {
			t.Errorf("counted %d, want 18", got)
		}
	})
}

func TestUnhandledIsNoFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var dead letters
		sys := actortest.NewSystem(t, actor.Config{DeadLetter: dead.add})
		p := actortest.NewProbe[any](t)
		ref := actortest.Spawn(t, sys, "it", on(func(c ctx, m any) error {
			if m == "odd" {
				return actor.ErrUnhandled
			}
			return p.Ref().Tell(c, m)
		}))
		actortest.Tell[any](t, ref, "odd")
		actortest.Tell[any](t, ref, "even")
		if got := p.Next(); got != "even" {
			t.Errorf("got %v, want even", got)
		}
		if got := dead.texts(); !slices.Equal(got, []string{"unhandled: odd"}) {
			t.Errorf("dead letters: %q", got)
		}
	})
}

// A test's t.FailNow inside an actor ends the goroutine, not the worker and not the others.
func TestGoexitIsAFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		ref := actortest.Spawn(t, sys, "it", func(c ctx) (behavior, error) {
			c.Cleanup(func() { runtime.Goexit() })
			c.Cleanup(func() {
				if err := p.Ref().Tell(c, c.Stopping()); err != nil {
					t.Error(err)
				}
			})
			return func(ctx, any) error { runtime.Goexit(); return nil }, nil
		})
		actortest.Tell[any](t, ref, 1)
		if got := p.Next(); got != actor.Failed {
			t.Errorf("got %v, want Failed", got)
		}
		gone(t, sys, ref)
	})
}

func TestCtxIsAContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		ref := actortest.Spawn(t, sys, "it", obedient(p))
		var early, late ctx
		do(t, ref, func(c ctx) {
			early = c
			if c.Name() != "it" || c.Self() != ref || c.Err() != nil || c.Stopping() != actor.Running {
				t.Errorf("name %q, self %v, err %v, stopping %v", c.Name(), c.Self(), c.Err(), c.Stopping())
			}
			if cell := actor.Current(c); cell == nil || actor.Current(t.Context()) != nil {
				t.Errorf("Current(c) = %v, Current of another = %v", cell, actor.Current(t.Context()))
			}
		})
		done := early.Done()
		select {
		case <-done:
			t.Error("done while it lives")
		default:
		}
		do(t, ref, func(c ctx) { late = c; c.Stop() })
		<-done
		<-late.Done()
		if early.Err() == nil {
			t.Error("no Err after the end")
		}
		if err := sys.Stop(soon(t)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestZeroRefRefuses(t *testing.T) {
	var ref actor.Ref[any]
	if err := ref.Tell(t.Context(), 1); !errors.Is(err, actor.ErrStopped) {
		t.Errorf("got %v, want ErrStopped", err)
	}
	if !ref.IsZero() || ref.String() != "nobody" {
		t.Errorf("IsZero %v, String %q", ref.IsZero(), ref)
	}
}

func TestRoundtripSwitch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{Roundtrip: func(m any) (any, error) {
			if m == "bad" {
				return nil, errPlanned
			}
			return m.(string) + "!", nil
		}})
		p := actortest.NewProbe[any](t)
		ref := actortest.Spawn(t, sys, "it", forward(p))
		if err := ref.Tell(t.Context(), "bad"); !errors.Is(err, errPlanned) {
			t.Errorf("got %v, want %v", err, errPlanned)
		}
		actortest.Tell[any](t, ref, "good")
		if got := p.Next(); got != "good!" {
			t.Errorf("got %v, want good!", got)
		}
	})
}
