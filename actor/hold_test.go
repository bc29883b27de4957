package actor_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/actortest"
)

// gate is one that a test shuts and opens; closing never lets nothing through for good.
type gate struct {
	shut  atomic.Bool
	open  chan struct{}
	never chan struct{}
}

func newGate() *gate { return &gate{open: make(chan struct{}), never: make(chan struct{})} }

func (g *gate) config() actor.Config {
	return actor.Config{Shut: g.shut.Load, Gate: func() bool {
		if !g.shut.Load() {
			return true
		}
		select {
		case <-g.open:
			return true
		case <-g.never:
			return false
		}
	}}
}

func (g *gate) reopen() {
	g.shut.Store(false)
	close(g.open)
}

// Behind a shut gate nobody acts, by whatever way the messages come; behind the
// opened one all do, in order.
func TestShutGateHoldsAllActors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate()
		sys := actortest.NewSystem(t, g.config())
		var heard, looped []any
		plain := actortest.Spawn(t, sys, "plain", on(func(c ctx, m any) error { heard = append(heard, m); return nil }))
		loop := actortest.Spawn(t, sys, "loop", actor.Loop(func(in *actor.Inbox[any]) error {
			for {
				m, err := in.Next(context.Background())
				if err != nil {
					return err
				}
				looped = append(looped, m)
			}
		}))
		synctest.Wait()
		g.shut.Store(true)
		started := false
		cell, err := actor.NewCell(sys, actor.CellConfig[any]{Name: "late", Start: func(ctx) (behavior, error) {
			started = true
			return func(ctx, any) error { return nil }, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			actortest.Tell[any](t, plain, i)
			actortest.Tell[any](t, loop, i)
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		if len(heard)+len(looped) > 0 || started {
			t.Errorf("behind the shut gate: handled %v and %v, started %v; want nothing", heard, looped, started)
		}
		g.reopen()
		synctest.Wait()
		if want := []any{0, 1, 2}; !slices.Equal(heard, want) || !slices.Equal(looped, want) || !started {
			t.Errorf("behind the opened gate: handled %v and %v, started %v; want %v, %v, true", heard, looped, started, want, want)
		}
		cell.Stop()
	})
}

// Who waits behind a gate that never opens can still be stopped, and tells what it
// was not able to handle.
func TestHeldActorStops(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate()
		sys := actor.NewSystem(g.config())
		ref := actortest.Spawn(t, sys, "held", on(func(ctx, any) error { t.Error("handled a message"); return nil }))
		synctest.Wait()
		g.shut.Store(true)
		answer := make(chan error, 1)
		go func() {
			_, err := actor.Ask(t.Context(), ref, question{text: "anything"})
			answer <- err
		}()
		synctest.Wait()
		close(g.never)
		if err := sys.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-answer; !errors.Is(err, actor.ErrNoReply) && !errors.Is(err, actor.ErrStopped) {
			t.Errorf("the ask ended with %v, want ErrNoReply or ErrStopped", err)
		}
		if got := sys.DeadLetters()[actor.ReasonStopped]; got != 1 {
			t.Errorf("dead letters: %v, want 1 because it stopped", sys.DeadLetters())
		}
	})
}

// A hold of its own keeps an actor and its children from acting, in whatever style they are written, and nobody else. When
// its gate lets nobody through, who is made later is held only if the gate is shut then.
func TestHeldActorsAndTheirChildren(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate()
		hold := actor.NewHold(g.config().Shut, g.config().Gate)
		sys := actortest.NewSystem(t, actor.Config{})
		var heard []any
		hear := on(func(_ ctx, m any) error { heard = append(heard, m); return nil })
		var child actor.Ref[any]
		start := func(c ctx) (b behavior, err error) {
			child, err = actor.Spawn(c, "child", hear)
			return func(_ ctx, m any) error { heard = append(heard, m); return nil }, err
		}
		parent, err := actor.Spawn(sys, "parent", start, actor.Held(hold))
		if err != nil {
			t.Fatal(err)
		}
		loop, err := actor.Spawn(sys, "loop", actor.Loop(func(in *actor.Inbox[any]) error {
			for {
				m, err := in.Next(context.Background())
				if err != nil {
					return err
				}
				heard = append(heard, m)
			}
		}), actor.Held(hold))
		if err != nil {
			t.Fatal(err)
		}
		free := actortest.Spawn(t, sys, "free", hear)
		g.shut.Store(true)
		for i, ref := range []actor.Ref[any]{parent, child, loop, free} {
			actortest.Tell[any](t, ref, i)
			synctest.Wait()
		}
		if want := []any{3}; !slices.Equal(heard, want) {
			t.Errorf("with the gate shut %v were handled, want %v: what the free actor was told", heard, want)
		}
		close(g.never)
		synctest.Wait()
		g.shut.Store(false)
		late, err := actor.Spawn(sys, "late", hear, actor.Held(hold))
		if err != nil {
			t.Fatal(err)
		}
		actortest.Tell[any](t, late, 4)
		synctest.Wait()
		if want := []any{3, 4}; !slices.Equal(heard, want) {
			t.Errorf("%v were handled, want %v: nobody came through the gate", heard, want)
		}
	})
}

func TestHeldNeedsAHold(t *testing.T) {
	sys := actortest.NewSystem(t, actor.Config{})
	if _, err := actor.Spawn(sys, "", on(nil), actor.Held(nil)); !errors.Is(err, actor.ErrBadOption) {
		t.Errorf("Held(nil): %v, want ErrBadOption", err)
	}
}

// A Loop that waits for the end of a hold can be stopped meanwhile, and acts no more, whatever it waited for.
func TestHeldLoopStops(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate()
		sys := actortest.NewSystem(t, actor.Config{})
		over := make(chan error, 1)
		start := actor.Loop(func(in *actor.Inbox[any]) error {
			_, ok, err := in.NextWithin(time.Second)
			if ok || err == nil {
				t.Errorf("a held loop went on: message %v", ok)
			}
			over <- err
			return err
		})
		cell, err := actor.NewCell(sys, actor.CellConfig[any]{
			Name: "loop", Start: start, Options: []actor.Option{actor.Held(actor.NewHold(g.config().Shut, g.config().Gate))},
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		g.shut.Store(true)
		time.Sleep(time.Minute) // its time is over meanwhile
		if err := cell.Deliver(context.Background(), "", "late"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cell.Stop()
		if err := <-over; !errors.Is(err, actor.ErrStopped) {
			t.Errorf("it ended with %v, want ErrStopped", err)
		}
		close(g.never)
	})
}
