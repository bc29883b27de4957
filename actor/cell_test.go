package actor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/actortest"
)

// ending is what Ended was called with.
type ending struct {
	left   []any
	reason actor.StopReason
	err    error
}

// managed makes a cell and the channel of its ending.
func managed(t *testing.T, sys *actor.System, s start, opts ...actor.Option) (*actor.Cell[any], chan ending) {
	t.Helper()
	ends := make(chan ending, 2) // room for a wrong second one
	cell, err := actor.NewCell(sys, actor.CellConfig[any]{
		Name: "id", Start: s, Options: opts,
		Ended: func(left []actor.Leftover[any], reason actor.StopReason, err error) {
			ends <- ending{messages(left), reason, err}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return cell, ends
}

func messages(left []actor.Leftover[any]) (all []any) {
	for _, l := range left {
		all = append(all, l.Message)
	}
	return all
}

func deliver(t *testing.T, cell *actor.Cell[any], messages ...any) {
	t.Helper()
	for _, m := range messages {
		if err := cell.Deliver(t.Context(), "", m); err != nil {
			t.Fatalf("deliver %v: %v", m, err)
		}
	}
}

// Whatever ends a cell, what it did not handle comes back in order: stash, then mailbox.
func TestCellEnds(t *testing.T) {
	stashing := func(p *actortest.Probe[any]) behavior {
		f := faulty(p)
		return func(c ctx, m any) error {
			if m == 0 {
				return c.Stash()
			}
			return f(c, m)
		}
	}
	rest := []any{0, 1, 2, 3}
	for _, tt := range []struct {
		name string
		// in runs inside the actor, with 0 in the stash and 1, 2, 3 in the mailbox.
		in   func(cell *actor.Cell[any], c ctx) error
		want ending
		told []any
	}{
		{"stopped", func(cell *actor.Cell[any], _ ctx) error { cell.Stop(); return nil }, ending{rest, actor.Requested, nil}, nil},
		{"drained", func(cell *actor.Cell[any], _ ctx) error { cell.Drain(); return nil }, ending{rest[:1], actor.Requested, nil}, rest[1:]},
		{"finished", func(_ *actor.Cell[any], c ctx) error { c.Stop(); return nil }, ending{rest, actor.Finished, nil}, nil},
		{"failed", func(*actor.Cell[any], ctx) error { return errPlanned }, ending{rest, actor.Failed, errPlanned}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
				cell, ends := managed(t, sys, on(stashing(p)))
				gate := make(chan struct{})
				deliver(t, cell, 0, call(func(c ctx) error { <-gate; return tt.in(cell, c) }), 1, 2, 3)
				close(gate)
				got := <-ends
				if !slices.Equal(got.left, tt.want.left) || got.reason != tt.want.reason || !errors.Is(got.err, tt.want.err) {
					t.Errorf("ended with %v, want %v", got, tt.want)
				}
				if told := p.All(); !slices.Equal(told, tt.told) {
					t.Errorf("handled %v, want %v", told, tt.told)
				}
				if err := cell.Deliver(t.Context(), "", 4); !errors.Is(err, actor.ErrStopped) {
					t.Errorf("deliver after the end: %v", err)
				}
				if len(ends) != 0 {
					t.Error("Ended was called twice")
				}
			})
		})
	}
}

func TestCellStartsOnAWorker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{})
		gate := make(chan struct{})
		self := actortest.NewProbe[any](t)
		cell, err := actor.NewCell(sys, actor.CellConfig[any]{
			Name: "id", Self: self.Ref(),
			Start: func(c ctx) (behavior, error) {
				<-gate
				return func(c ctx, m any) error { return c.Self().Tell(c, fmt.Sprint(c.Name(), m)) }, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		deliver(t, cell, 1)
		close(gate)
		if got := self.Next(); got != "id1" {
			t.Errorf("got %v, want id1", got)
		}
	})
}

func TestCellWhoseStartFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{})
		starts := 0
		gate := make(chan struct{})
		cell, ends := managed(t, sys, func(ctx) (behavior, error) {
			<-gate
			starts++
			return nil, errPlanned
		}, actor.Restart(2, actor.Backoff(time.Second, time.Second)))
		deliver(t, cell, 1, 2)
		close(gate)
		got := <-ends
		if !slices.Equal(got.left, []any{1, 2}) || got.reason != actor.Failed || !errors.Is(got.err, errPlanned) || starts != 3 {
			t.Errorf("ended with %v after %d starts", got, starts)
		}
	})
}

func TestPassivate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		cell, ends := managed(t, sys, obedient(p))
		made := cell.IdleSince()
		gate := make(chan struct{})
		aside := make(chan struct{})
		time.Sleep(time.Minute)
		deliver(t, cell, call(func(c ctx) error {
			c.Go(func(context.Context) any { <-aside; return "result" })
			<-gate
			return c.Schedule("k", time.Hour, "tick")
		}))
		synctest.Wait()
		if cell.Passivate() {
			t.Error("passivated while running")
		}
		close(gate)
		synctest.Wait()
		if cell.Passivate() {
			t.Error("passivated while a Go function is pending")
		}
		close(aside)
		p.Next()
		synctest.Wait()
		if d := cell.IdleSince().Sub(made); d < 59*time.Second {
			t.Errorf("IdleSince moved by %v, want a minute", d)
		}
		if !cell.Passivate() || cell.Passivate() {
			t.Error("an idle actor must passivate, once")
		}
		if got := <-ends; got.reason != actor.Passivated || len(got.left) != 0 {
			t.Errorf("ended with %v", got)
		}
		p.None(2 * time.Hour)
	})
}

func TestStashedMessageKeepsFromPassivating(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{})
		cell, _ := managed(t, sys, on(func(c ctx, _ any) error { return c.Stash() }))
		deliver(t, cell, 1)
		synctest.Wait()
		if cell.Passivate() {
			t.Error("passivated with a stash")
		}
	})
}

// A message that was accepted is handled or left, exactly once, however delivery and end interleave.
func TestNothingIsLostAtTheEnd(t *testing.T) {
	ends := map[string]func(*actor.Cell[any]){
		"stop":      (*actor.Cell[any]).Stop,
		"drain":     (*actor.Cell[any]).Drain,
		"passivate": func(c *actor.Cell[any]) { c.Passivate() },
	}
	styles := map[string]func(see func(any)) start{
		"behavior": func(see func(any)) start { return on(func(_ ctx, m any) error { see(m); return nil }) },
		"loop": func(see func(any)) start {
			return actor.Loop(func(in inbox) error {
				for {
					m, ok, err := in.NextWithin(time.Hour)
					if err != nil {
						return err
					}
					if ok {
						see(m)
					}
				}
			})
		},
	}
	for style, actorOf := range styles {
		for name, end := range ends {
			t.Run(style+"/"+name, func(t *testing.T) {
				for range 30 {
					everythingIsSeenOnce(t, actorOf, end)
				}
			})
		}
	}
}

func everythingIsSeenOnce(t *testing.T, style func(see func(any)) start, end func(*actor.Cell[any])) {
	const senders, each = 4, 500
	sys := actor.NewSystem(actor.Config{})
	var mu sync.Mutex
	seen := map[any]int{}
	see := func(m any) {
		mu.Lock()
		defer mu.Unlock()
		seen[m]++
	}
	cell, ends := managed(t, sys, style(see), actor.Mailbox(100))
	var wg sync.WaitGroup
	accepted := make([]int, senders)
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				switch err := cell.Deliver(context.Background(), "", s*each+i); {
				case err == nil:
					accepted[s]++
				case errors.Is(err, actor.ErrStopped):
					return
				}
				if i == each/2 {
					end(cell)
				}
			}
		})
	}
	wg.Wait()
	if err := sys.Stop(soon(t)); err != nil {
		t.Fatal(err)
	}
	for _, m := range (<-ends).left {
		see(m)
	}
	total := 0
	for _, n := range accepted {
		total += n
	}
	if len(seen) != total {
		t.Fatalf("%d accepted, %d seen", total, len(seen))
	}
	for m, n := range seen {
		if n != 1 {
			t.Fatalf("message %v was seen %d times", m, n)
		}
	}
}

// People know a managed actor by what its messages are sent to: two of different types may have one name.
func TestManagedCellIsNamedByItsRef(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var dead letters
		var log bytes.Buffer
		sys := actortest.NewSystem(t, actor.Config{Log: slog.New(slog.NewTextHandler(&log, nil)), DeadLetter: dead.add})
		cell, err := actor.NewCell(sys, actor.CellConfig[any]{
			Name: "7", Self: actor.NewRef[any](doorFunc(nil), "7"),
			Start: func(c ctx) (behavior, error) {
				return func(c ctx, m any) error { c.Log().Info("hears"); return errors.New("no") }, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		deliver(t, cell, "m")
		synctest.Wait()
		if len(dead.all) != 1 || dead.all[0].To != "door" {
			t.Errorf("dead letters: got %v, want one to the door", dead.all)
		}
		if !strings.Contains(log.String(), "msg=hears actor=door") {
			t.Errorf("got %s, want a log that names the door", &log)
		}
	})
}

// What an actor waits for comes from its own doing: a drain that threw it away would lose it.
func TestDrainWaitsForGoFunctions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		cell, err := actor.NewCell(sys, actor.CellConfig[any]{Name: "it", Start: obedient(p)})
		if err != nil {
			t.Fatal(err)
		}
		slow := func(m any) call {
			return func(c ctx) error {
				c.Go(func(context.Context) any { time.Sleep(time.Second); return m })
				return nil
			}
		}
		for _, m := range []any{slow("first"), slow(slow("second"))} {
			if err := cell.Deliver(t.Context(), "", m); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		begin := time.Now()
		cell.Drain()
		for _, want := range []any{"first", "second"} {
			if got := p.Next(); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		}
		if err := cell.Deliver(t.Context(), "", "late"); !errors.Is(err, actor.ErrStopped) {
			t.Errorf("while draining: got %v, want ErrStopped", err)
		}
		if err := sys.Stop(soon(t)); err != nil {
			t.Error(err)
		}
		if d := time.Since(begin); d != 2*time.Second {
			t.Errorf("drained in %v, want 2s", d)
		}
	})
}
