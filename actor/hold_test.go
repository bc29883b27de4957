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
