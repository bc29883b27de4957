package troupe_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
)

// stall keeps a node's owner goroutine from running, as a pause of its process
// would, until the returned function is called. Links go on receiving.
func stall(n *troupe.Node) (resume func()) {
	held, release := make(chan struct{}), make(chan struct{})
	go n.Subscribe(func(*troupe.View) {
		select {
		case <-held:
		default:
			close(held)
		}
		<-release
	})
	<-held
	return func() { close(release) }
}

// counter serves an actor on a node that counts what it is told and ticks.
func counter(t *testing.T, n *troupe.Node) (told, ticks *atomic.Int64) {
	t.Helper()
	told, ticks = new(atomic.Int64), new(atomic.Int64)
	type tick struct{ whisper }
	ref, err := actor.Spawn(n, "counter", func(c *actor.Ctx[greeting]) (actor.Behavior[greeting], error) {
		return func(c *actor.Ctx[greeting], m greeting) error {
			switch m := m.(type) {
			case tick:
				ticks.Add(1)
			case greet:
				told.Add(1)
				return m.Reply.Send(c, "hello "+m.Name)
			}
			return nil
		}, c.Every("tick", time.Second, tick{})
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := troupe.Serve(n, "counter", ref, greetings); err != nil {
		t.Fatal(err)
	}
	return told, ticks
}

// A node that wakes from a short pause asks first, and then handles what came.
func TestPausedNodeHoldsUntilItIsConfirmed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(3)
		told, ticks := counter(t, nodes[2])
		resume := stall(nodes[2])
		time.Sleep(4 * time.Second)
		before := ticks.Load()
		answer := make(chan error, 1)
		go func() {
			_, err := actor.Ask(t.Context(), troupe.Remote(nodes[0], nodes[2].ID(), "counter", greetings), greet{Name: "Ann"})
			answer <- err
		}()
		time.Sleep(2 * time.Second)
		if !nodes[2].Paused() || told.Load() != 0 || ticks.Load() != before {
			t.Errorf("paused node: Paused() = %v, told %d, ticks %d; want true, 0, %d", nodes[2].Paused(), told.Load(), ticks.Load(), before)
		}
		resume()
		if err := <-answer; err != nil {
			t.Errorf("the ask that waited: %v", err)
		}
		if nodes[2].Paused() {
			t.Error("still paused")
		}
		time.Sleep(3 * time.Second)
		if ticks.Load() <= before {
			t.Error("the timer does not tick any more")
		}
		w.sees(time.Minute, nodes, nodes)
	})
}

// A node that was removed while it was paused handles nothing when it wakes.
func TestNodeRemovedWhilePausedHandlesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(3)
		told, ticks := counter(t, nodes[2])
		resume := stall(nodes[2])
		go func() {
			_, _ = actor.Ask(t.Context(), troupe.Remote(nodes[0], nodes[2].ID(), "counter", greetings), greet{Name: "early"})
		}()
		time.Sleep(4 * time.Second) // the ask is handled: the pause is not noticed yet
		handled := told.Load()
		go func() {
			_, _ = actor.Ask(t.Context(), troupe.Remote(nodes[0], nodes[2].ID(), "counter", greetings), greet{Name: "late"})
		}()
		w.sees(time.Minute, nodes[:2], nodes[:2])
		before := ticks.Load()
		resume()
		<-nodes[2].Done()
		if err := nodes[2].Err(); !errors.Is(err, troupe.ErrDowned) {
			t.Errorf("Err = %v, want ErrDowned", err)
		}
		if told.Load() != handled || ticks.Load() != before {
			t.Errorf("after waking it handled %d messages and %d ticks, want none", told.Load()-handled, ticks.Load()-before)
		}
	})
}

// A loop that waited for silence must not take a pause for it.
func TestLoopRemovedWhilePausedDoesNotGoOn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(3)
		var silences atomic.Int64
		_, err := actor.Spawn(nodes[2], "loop", actor.Loop(func(in *actor.Inbox[greeting]) error {
			for {
				if _, ok, err := in.NextWithin(8 * time.Second); err != nil {
					return err
				} else if !ok {
					silences.Add(1)
				}
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		resume := stall(nodes[2])
		w.sees(time.Minute, nodes[:2], nodes[:2])
		before := silences.Load()
		resume()
		<-nodes[2].Done()
		if n := silences.Load() - before; n != 0 || before != 0 {
			t.Errorf("the loop went on %d times while its node was paused and %d times after it was removed, want never", before, n)
		}
	})
}

// When everybody was paused, everybody confirms everybody.
func TestWholeClusterPausedGoesOn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(3)
		var resume []func()
		for _, n := range nodes {
			resume = append(resume, stall(n))
		}
		time.Sleep(time.Hour)
		for _, f := range resume {
			f()
		}
		time.Sleep(10 * time.Second)
		w.sees(time.Minute, nodes, nodes)
		for _, n := range nodes {
			if n.Paused() {
				t.Errorf("%s is still paused", n.ID())
			}
		}
	})
}
