package actor_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/actortest"
)

func TestBlockedBehaviorsDoNotStopTheRest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		blocked := make(chan struct{}, 1000)
		for range 1000 {
			ref := actortest.Spawn(t, sys, "", on(func(ctx, any) error {
				time.Sleep(time.Second)
				blocked <- struct{}{}
				return nil
			}))
			actortest.Tell[any](t, ref, 0)
		}
		begin := time.Now()
		other := actortest.Spawn(t, sys, "other", forward(p))
		actortest.Tell[any](t, other, 0)
		p.Next()
		if d := time.Since(begin); d != 0 {
			t.Errorf("waited %v for the blocked ones", d)
		}
		for range 1000 {
			<-blocked
		}
		if d := time.Since(begin); d != time.Second {
			t.Errorf("all together took %v, want 1s", d)
		}
		synctest.Wait()
		if got, most := actor.Workers(sys), max(16, 2*runtime.GOMAXPROCS(0)); got > most {
			t.Errorf("%d workers are left, want at most %d", got, most)
		}
	})
}

// An actor may block on another one that it has just told, even when there was but one worker.
func TestBehaviorMayWaitForAnother(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		next := actortest.Spawn(t, sys, "", on(oracle))
		for range 100 {
			to := next
			next = actortest.Spawn(t, sys, "", on(func(c ctx, m any) error {
				answer, err := actor.Ask(c, to, question{text: "echo"})
				if err != nil {
					return err
				}
				return m.(question).reply.Send(c, answer)
			}))
		}
		go func() {
			answer, err := actor.Ask(t.Context(), next, question{})
			if err == nil {
				err = p.Ref().Tell(t.Context(), answer)
			}
			if err != nil {
				t.Error(err)
			}
		}()
		if got := p.Next(); got != "echo" {
			t.Errorf("got %v", got)
		}
	})
}

// The busy actor's mailbox is never empty, and it never waits: the other has its turn all the same.
func TestBusyActorDoesNotStarveOthers(t *testing.T) {
	const backlog, patience = 100_000, 50_000_000
	sys := actortest.NewSystem(t, actor.Config{})
	turn := make(chan struct{})
	other := actortest.Spawn(t, sys, "other", on(func(ctx, any) error { close(turn); return nil }))
	done := make(chan int)
	busy := actortest.Spawn(t, sys, "busy", func(c ctx) (behavior, error) {
		for range backlog {
			if err := c.Self().Tell(c, 0); err != nil {
				return nil, err
			}
		}
		handled := 0
		return func(c ctx, m any) error {
			if handled++; handled == 1 {
				return other.Tell(c, 0)
			}
			select {
			case <-turn:
				c.Stop()
				done <- handled
				return nil
			default:
				if handled == patience {
					close(done)
				}
				return c.Self().Tell(c, m)
			}
		}, nil
	}, actor.Mailbox(backlog+1))
	if <-done == 0 {
		t.Errorf("%v handled %d messages, and the other none", busy, patience)
	}
}

func TestACT08StopHasALimitAndNamesWhatHangs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys := actor.NewSystem(actor.Config{})
		release := make(chan struct{})
		outer := actortest.Spawn(t, sys, "outer", func(c ctx) (behavior, error) {
			inner := actortest.Spawn(t, c, "inner", on(func(ctx, any) error { <-release; return nil }))
			return func(ctx, any) error { return nil }, inner.Tell(c, 0)
		})
		asides := actortest.Spawn(t, sys, "asides", on(func(c ctx, _ any) error {
			c.Go(func(context.Context) any { <-release; return nil })
			return nil
		}))
		actortest.Tell[any](t, asides, 0)
		actortest.Spawn(t, sys, "looping", actor.Loop(func(*actor.Inbox[any]) error { <-release; return nil }))
		actortest.Spawn(t, sys, "fine", on(func(ctx, any) error { return nil }))
		synctest.Wait()
		begin := time.Now()
		limit, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := sys.Stop(limit)
		if d := time.Since(begin); d != 5*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Stop: %v after %v", err, d)
		}
		for _, want := range []string{"/outer/inner (in its behavior)", "/asides (1 Go functions)", "/looping (in its loop)"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Stop: %v; want it to name %s", err, want)
			}
		}
		if err != nil && strings.Contains(err.Error(), "fine") {
			t.Errorf("Stop: %v; fine does not hang", err)
		}
		if err := outer.Tell(t.Context(), 0); !errors.Is(err, actor.ErrStopped) {
			t.Errorf("Tell while stopping: %v", err)
		}
		close(release)
		if err := sys.Stop(soon(t)); err != nil {
			t.Error(err)
		}
	})
}

// Nothing in a system may grow with the actors that have been.
func TestACT11NothingRemainsOfAnActor(t *testing.T) {
	const actors = 20_000
	sys := actortest.NewSystem(t, actor.Config{})
	round := func() {
		for range actors {
			done := make(chan struct{})
			ref := actortest.Spawn(t, sys, "", func(c ctx) (behavior, error) {
				c.Cleanup(func() { close(done) })
				return func(c ctx, m any) error { c.Stop(); return nil }, c.After(time.Hour, 1)
			})
			actortest.Tell[any](t, ref, 0)
			<-done
		}
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	round()
	before := heap()
	round()
	if after := heap(); after > before+2<<20 {
		t.Errorf("heap grew from %d to %d bytes with %d more actors", before, after, actors)
	}
}

// A stop that ran out of time still ends everything, workers included, without being called again.
func TestStopThatRanOutOfTimeGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys := actor.NewSystem(actor.Config{})
		ref, err := actor.Spawn(sys, "slow", on(func(ctx, any) error { time.Sleep(time.Minute); return nil }))
		if err != nil {
			t.Fatal(err)
		}
		actortest.Tell[any](t, ref, 0)
		synctest.Wait()
		c, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := sys.Stop(c); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want DeadlineExceeded", err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := actor.Workers(sys); n != 0 {
			t.Errorf("%d workers remain", n)
		}
	})
}

// Workers that lose their processor in the midst of a cell, as Gosched has it here, do not become ever more.
func TestBusySystemHasFewWorkers(t *testing.T) {
	const actors, rounds = 200, 500
	sys := actortest.NewSystem(t, actor.Config{})
	pairs := make([]actor.Ref[any], 2*actors) // neighbors play with one ball
	var busy sync.WaitGroup
	busy.Add(actors)
	most := 0
	for i := range pairs {
		pairs[i] = actortest.Spawn(t, sys, "", on(func(c ctx, m any) error {
			if i == 0 {
				most = max(most, actor.Workers(sys))
			}
			runtime.Gosched()
			if m == rounds {
				busy.Done()
				return nil
			}
			return pairs[i^1].Tell(c, m.(int)+1)
		}))
	}
	for i := range actors {
		actortest.Tell[any](t, pairs[2*i], 1)
	}
	busy.Wait()
	if limit := runtime.GOMAXPROCS(0) + 16; most > limit {
		t.Errorf("%d workers for %d busy actors, want at most %d", most, actors, limit)
	}
}

// A hundred thousand unpaced asks to one actor, which takes its time for each, leave the beat of another exactly as it is.
func TestAsksToOneActorLeaveTimersOnTime(t *testing.T) {
	const asks, askers, each, beat = 100_000, 64, 10 * time.Microsecond, 10 * time.Millisecond
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{})
		begin := time.Now()
		var beats []time.Duration
		actortest.Spawn(t, sys, "heart", func(c ctx) (behavior, error) {
			return func(ctx, any) error {
				beats = append(beats, time.Since(begin))
				return nil
			}, c.Every("beat", beat, "beat")
		})
		busy := actortest.Spawn(t, sys, "busy", on(func(c ctx, m any) error {
			time.Sleep(each)
			return m.(question).reply.Send(c, "")
		}))
		var asking sync.WaitGroup
		for i := range askers {
			asking.Go(func() {
				for range asks*(i+1)/askers - asks*i/askers {
					if _, err := actor.Ask(t.Context(), busy, question{}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		asking.Wait()
		synctest.Wait()
		if got, want := time.Since(begin), asks*each; got != want {
			t.Errorf("the asks took %v, want %v", got, want)
		}
		if len(beats) != int(asks*each/beat) {
			t.Errorf("%d beats, want %d", len(beats), asks*each/beat)
		}
		for i, at := range beats {
			if want := time.Duration(i+1) * beat; at != want {
				t.Fatalf("beat %d came at %v, want %v", i, at, want)
			}
		}
	})
}
