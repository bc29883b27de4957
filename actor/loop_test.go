package actor_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/actortest"
)

type inbox = *actor.Inbox[any]

// relay is the plainest loop: it passes on what comes until it is told to stop.
func relay(p *actortest.Probe[any]) start {
	return actor.Loop(func(in inbox) error {
		for {
			m, err := in.Next(in)
			if err != nil {
				return err
			}
			if err := faulty(p)(in.Ctx, m); err != nil {
				return err
			}
		}
	})
}

func TestLoopTakesMessagesInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		ref := actortest.Spawn(t, sys, "it", relay(p))
		for i := range 1000 {
			actortest.Tell[any](t, ref, i)
		}
		for i := range 1000 {
			if got := p.Next(); got != i {
				t.Fatalf("got %v, want %d", got, i)
			}
		}
		if err := sys.Stop(soon(t)); err != nil {
			t.Error(err)
		}
	})
}

func TestLoopNextWithin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		ref := actortest.Spawn(t, sys, "it", actor.Loop(func(in inbox) error {
			for {
				begin := time.Now()
				m, ok, err := in.NextWithin(time.Second)
				if err != nil {
					return err
				}
				if !ok {
					m = time.Since(begin)
				}
				if err := p.Ref().Tell(in, m); err != nil {
					return err
				}
				if _, ok, err := in.NextWithin(-1); ok || err != nil {
					t.Errorf("NextWithin(-1) on an empty mailbox: %v, %v", ok, err)
				}
			}
		}))
		time.Sleep(500 * time.Millisecond)
		actortest.Tell[any](t, ref, "early")
		for _, want := range []any{"early", time.Second, time.Second} {
			if got := p.Next(); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		}
	})
}

func TestLoopNextEndsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		ref := actortest.Spawn(t, sys, "it", actor.Loop(func(in inbox) error {
			limit, cancel := context.WithTimeout(in, time.Second)
			defer cancel()
			if _, err := in.Next(limit); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Next: %v, want DeadlineExceeded", err)
			}
			m, err := in.Next(in)
			if err != nil {
				return err
			}
			return p.Ref().Tell(in, m)
		}))
		time.Sleep(2 * time.Second)
		actortest.Tell[any](t, ref, "after")
		if got := p.Next(); got != "after" {
			t.Errorf("got %v", got)
		}
		gone(t, sys, ref)
	})
}

func TestLoopTimersWatchesGoAndStash(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		other := actortest.Spawn(t, sys, "other", obedient(p))
		ref := actortest.Spawn(t, sys, "it", actor.Loop(func(in inbox) error {
			err := errors.Join(in.Schedule("k", time.Second, "cancelled"), in.After(2*time.Second, "tick"), actor.Watch(in.Ctx, other, any("notice")))
			in.Go(func(context.Context) any { return "result" })
			open := false
			for err == nil {
				var m any
				if m, err = in.Next(in); err != nil {
					break
				}
				switch {
				case m == "later" && !open:
					err = in.Stash()
				case m == "now":
					open = true
					in.Unstash()
				default:
					err = p.Ref().Tell(in, m)
				}
				if m == "result" {
					time.Sleep(1500 * time.Millisecond) // the keyed tick is in the mailbox now
					in.Cancel("k")
				}
			}
			return err
		}))
		synctest.Wait()
		actortest.Tell[any](t, ref, "later")
		time.Sleep(3 * time.Second)
		actortest.Tell[any](t, ref, "now")
		actortest.Tell[any](t, ref, "told")
		synctest.Wait()
		do(t, other, func(c ctx) { c.Stop() })
		synctest.Wait()
		if got, want := p.All(), []any{"result", "tick", "later", "told", "notice"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestLoopDrains(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		gate := make(chan struct{})
		cell, ends := managed(t, sys, actor.Loop(func(in inbox) error {
			<-gate
			for {
				m, err := in.Next(in)
				if errors.Is(err, actor.ErrStopped) {
					if r := in.Stopping(); r != actor.Requested {
						t.Errorf("Stopping() = %v, want requested", r)
					}
					return p.Ref().Tell(in, "told after the end")
				}
				if err != nil {
					return err
				}
				if err := p.Ref().Tell(in, m); err != nil {
					return err
				}
			}
		}))
		deliver(t, cell, 1, 2, 3)
		cell.Drain()
		if err := cell.Deliver(t.Context(), "", 4); !errors.Is(err, actor.ErrStopped) {
			t.Errorf("deliver to a draining cell: %v", err)
		}
		close(gate)
		if got := <-ends; len(got.left) != 0 || got.reason != actor.Requested || got.err != nil {
			t.Errorf("ended with %v", got)
		}
		if got, want := p.All(), []any{1, 2, 3, "told after the end"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestLoopStopsAndPassivatesWhileItWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(c *actor.Cell[any])
		want actor.StopReason
	}{
		"stop":      {(*actor.Cell[any]).Stop, actor.Requested},
		"drain":     {(*actor.Cell[any]).Drain, actor.Requested},
		"passivate": {func(c *actor.Cell[any]) { c.Passivate() }, actor.Passivated},
	} {
		bubble(t, func(t *testing.T) {
			sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
			cell, ends := managed(t, sys, relay(p))
			deliver(t, cell, 1)
			p.Next()
			synctest.Wait()
			tt.end(cell)
			if got := <-ends; got.reason != tt.want || got.err != nil {
				t.Errorf("%s: ended with %v", name, got)
			}
		})
	}
}

func TestLoopIsNotIdleWhileItWorks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{})
		cell, _ := managed(t, sys, actor.Loop(func(in inbox) error {
			for {
				if _, _, err := in.NextWithin(time.Second); err != nil {
					return err
				}
				time.Sleep(time.Second)
			}
		}))
		time.Sleep(1500 * time.Millisecond)
		if cell.Passivate() {
			t.Error("passivated a loop that works")
		}
		time.Sleep(time.Second)
		if !cell.Passivate() {
			t.Error("did not passivate a loop that waits")
		}
	})
}

func TestLoopFailsAndRestarts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		cell, ends := managed(t, sys, func(c ctx) (behavior, error) {
			c.Cleanup(func() {
				if err := p.Ref().Tell(c, c.Stopping()); err != nil {
					t.Error(err)
				}
			})
			return relay(p)(c)
		}, actor.Restart(2))
		deliver(t, cell, fault{}, 1, fault{panics: true}, 2,
			call(func(c ctx) error { c.Go(func(context.Context) any { panic(errPlanned) }); return nil }))
		got := <-ends
		if got.reason != actor.Failed || !errors.Is(got.err, errPlanned) {
			t.Errorf("ended with %v", got)
		}
		if got, want := p.All(), []any{actor.Failed, 1, actor.Failed, 2, actor.Failed}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// A loop that fails before it asks for the next message has failed that message.
func TestLoopFailsTheRequestInHand(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{})
		ref := actortest.Spawn(t, sys, "it", actor.Loop(func(in inbox) error {
			if _, err := in.Next(in); err != nil {
				return err
			}
			return errPlanned
		}))
		if _, err := actor.Ask(t.Context(), ref, question{}); !errors.Is(err, errPlanned) {
			t.Errorf("got %v, want %v", err, errPlanned)
		}
	})
}

func TestLoopThatReturnsHasFinished(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{})
		_, ends := managed(t, sys, actor.Loop(func(inbox) error { return nil }))
		if got := <-ends; got.reason != actor.Finished || got.err != nil {
			t.Errorf("ended with %v", got)
		}
	})
}
