package actor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/actortest"
)

func TestACT06LargeStash(t *testing.T) {
	const reads, patience = 500_000, 50_000_000
	sys := actortest.NewSystem(t, actor.Config{})
	turn, all := make(chan struct{}), make(chan int)
	other := actortest.Spawn(t, sys, "other", on(func(ctx, any) error { close(turn); return nil }))
	n, tries := 0, 0
	recovered := func(c ctx, m any) error {
		if m != n {
			t.Errorf("got %v, want %d", m, n)
		}
		if n == reads/2 { // stays in front of the stash until another actor has had its turn
			select {
			case <-turn:
			default:
				tries++
				if tries == 1 {
					actortest.Tell[any](t, other, 0)
				}
				if tries == patience {
					close(all)
				}
				err := c.Stash()
				c.Unstash()
				return err
			}
		}
		if n++; n == reads {
			all <- n
		}
		return nil
	}
	ref := actortest.Spawn(t, sys, "it", on(func(c ctx, m any) error {
		if m == "recovered" {
			c.Unstash()
			c.Become(recovered)
			return nil
		}
		return c.Stash()
	}), actor.Mailbox(reads+1), actor.StashLimit(reads))
	for i := range reads {
		actortest.Tell[any](t, ref, i)
	}
	actortest.Tell[any](t, ref, "recovered")
	if got := <-all; got != reads {
		t.Errorf("the other actor had no turn within %d tries", patience)
	}
}

func TestStash(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		var handle behavior
		handle = func(c ctx, m any) error {
			switch m := m.(type) {
			case int:
				err := c.Stash()
				if err == nil {
					err = c.Stash() // twice is once
				}
				if errors.Is(err, actor.ErrStashFull) {
					return p.Ref().Tell(c, fmt.Sprint("full at ", m))
				}
				return err
			case string:
				c.Unstash()
				c.Become(func(c ctx, m any) error {
					if m == 1 { // unstash in the midst of what was unstashed
						c.Become(handle)
						return c.Stash()
					}
					return p.Ref().Tell(c, m)
				})
			}
			return nil
		}
		ref := actortest.Spawn(t, sys, "it", func(c ctx) (behavior, error) {
			if err := c.Stash(); !errors.Is(err, actor.ErrNoMessage) {
				t.Errorf("Stash in Start: %v", err)
			}
			return handle, nil
		}, actor.StashLimit(3))
		for _, m := range []any{0, 1, 2, 3, "open", 4, "open", 5} {
			actortest.Tell(t, ref, m)
		}
		synctest.Wait()
		// The first open tells 0 on; 1 is stashed again and 2, 4 behind it. The second one goes the same way, and leaves no room for 5.
		want := "[full at 3 0 full at 5]"
		if got := fmt.Sprint(p.All()); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestACT07FullMailbox(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		watched := actortest.Spawn(t, sys, "watched", obedient(p))
		release := make(chan struct{})
		ref := actortest.Spawn(t, sys, "it", obedient(p), actor.Mailbox(100))
		actortest.Tell[any](t, ref, call(func(c ctx) error {
			if err := actor.Watch(c, watched, any("notice")); err != nil {
				t.Error(err)
			}
			if err := c.After(time.Second, "tick"); err != nil {
				t.Error(err)
			}
			c.Go(func(context.Context) any { return "result" })
			<-release
			return nil
		}))
		synctest.Wait()
		accepted := 0
		for range 1000 {
			err := ref.Tell(t.Context(), "told")
			switch {
			case err == nil:
				accepted++
			case !errors.Is(err, actor.ErrFull) || !strings.Contains(err.Error(), "/it") || !strings.Contains(err.Error(), "actor.Mailbox"):
				t.Fatalf("got %v, want ErrFull that names actor and setting", err)
			}
		}
		if accepted != 100 {
			t.Errorf("%d accepted, want 100", accepted)
		}
		begin := time.Now()
		for range 100 {
			if _, err := actor.Ask(t.Context(), ref, question{}); !errors.Is(err, actor.ErrFull) {
				t.Fatalf("ask: got %v, want ErrFull", err)
			}
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("asks took %v to fail", d)
		}
		do(t, watched, func(c ctx) { c.Stop() })
		time.Sleep(2 * time.Second)
		close(release)
		synctest.Wait()
		counts := map[any]int{}
		for _, m := range p.All() {
			counts[m]++
		}
		for m, want := range map[any]int{"told": 100, "result": 1, "notice": 1, "tick": 1} {
			if counts[m] != want {
				t.Errorf("%v: got %d, want %d", m, counts[m], want)
			}
		}
		if err := sys.Stop(soon(t)); err != nil {
			t.Error(err)
		}
	})
}

// Each sender's messages stay in order, and none is lost, whatever the interleaving.
func TestOrderPerSender(t *testing.T) {
	const senders, each = 8, 5000
	type numbered struct{ sender, n int }
	sys := actortest.NewSystem(t, actor.Config{})
	next := make([]int, senders)
	done := make(chan struct{})
	left := senders * each
	ref := actortest.Spawn(t, sys, "it", func(*actor.Ctx[numbered]) (actor.Behavior[numbered], error) {
		return func(_ *actor.Ctx[numbered], m numbered) error {
			if m.n != next[m.sender] {
				t.Errorf("sender %d: got %d, want %d", m.sender, m.n, next[m.sender])
			}
			next[m.sender]++
			if left--; left == 0 {
				close(done)
			}
			return nil
		}, nil
	})
	for s := range senders {
		go func() {
			for n := range each {
				if err := ref.Tell(context.Background(), numbered{s, n}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	<-done
}

func TestTellDoesNotAllocate(t *testing.T) {
	sys := actortest.NewSystem(t, actor.Config{})
	ref := actortest.Spawn(t, sys, "it", on(func(ctx, any) error { return nil }))
	c, m := t.Context(), any(1)
	if got := testing.AllocsPerRun(1000, func() {
		if err := ref.Tell(c, m); err != nil {
			t.Error(err)
		}
	}); got >= 1 {
		t.Errorf("%v allocations per tell", got)
	}
}
