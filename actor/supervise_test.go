package actor_test

import (
	"bytes"
	"errors"
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

// journal is a log that tests may read while actors write.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(b)
}

func (j *journal) lines() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Collect(strings.Lines(j.buf.String()))
}

func TestFailureStopsByDefaultAndIsLoggedOnce(t *testing.T) {
	for _, m := range []fault{{panics: false}, {panics: true}} {
		bubble(t, func(t *testing.T) {
			var log journal
			var dead letters
			sys := actortest.NewSystem(t, actor.Config{Log: slog.New(slog.NewTextHandler(&log, nil)), DeadLetter: dead.add})
			p := actortest.NewProbe[any](t)
			ref := actortest.Spawn(t, sys, "it", on(faulty(p)))
			actortest.Tell[any](t, ref, m)
			gone(t, sys, ref)
			lines := log.lines()
			if len(lines) != 1 || !strings.Contains(lines[0], "actor=/it") || !strings.Contains(lines[0], "message=actor_test.fault") ||
				!strings.Contains(lines[0], "planned") {
				t.Errorf("%+v: log %q", m, lines)
			}
			if got := sys.DeadLetters()[actor.ReasonFailed]; got != 1 {
				t.Errorf("%+v: dead letters %v", m, sys.DeadLetters())
			}
		})
	}
}

func TestRestartKeepsRefMailboxAndStash(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		say := func(s string) {
			if err := p.Ref().Tell(t.Context(), s); err != nil {
				t.Error(err)
			}
		}
		lives := 0
		ref := actortest.Spawn(t, sys, "it", func(c ctx) (behavior, error) {
			lives++
			life := lives
			c.Cleanup(func() { say("cleanup " + c.Stopping().String()) })
			child := actortest.Spawn(t, c, "child", func(c ctx) (behavior, error) {
				c.Cleanup(func() { say("child ends") })
				return func(ctx, any) error { return nil }, nil
			})
			if err := actor.Watch(c, child, any("child is gone")); err != nil { // belongs to this life: never delivered to the next
				t.Error(err)
			}
			say("start")
			f := faulty(p)
			return func(c ctx, m any) error {
				if m == "later" && life == 1 {
					return c.Stash()
				}
				return f(c, m)
			}, nil
		}, actor.Restart(1))
		for _, m := range []any{"later", fault{}, 1, 2, fault{}, 3} {
			actortest.Tell(t, ref, m)
		}
		gone(t, sys, ref)
		want := []any{
			"start", "child ends", "cleanup failed",
			"start", "later", 1, 2, "child ends", "cleanup failed",
		}
		if got := p.All(); !slices.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		if got := sys.DeadLetters(); got[actor.ReasonFailed] != 2 || got[actor.ReasonStopped] != 1 {
			t.Errorf("dead letters %v", got)
		}
	})
}

func TestRestartBacksOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{})
		var starts []time.Duration
		begin := time.Now()
		ref := actortest.Spawn(t, sys, "it", func(ctx) (behavior, error) {
			starts = append(starts, time.Since(begin))
			if len(starts) > 1 {
				return nil, errPlanned
			}
			return func(ctx, any) error { return errPlanned }, nil
		}, actor.Restart(4, actor.Within(time.Hour), actor.Backoff(time.Second, 3*time.Second)))
		actortest.Tell[any](t, ref, 0)
		time.Sleep(time.Minute)
		gone(t, sys, ref)
		if len(starts) != 5 {
			t.Fatalf("%d starts, want 5: %v", len(starts), starts)
		}
		for i, least := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
			if d := starts[i+1] - starts[i]; d < least || d > least*6/5 {
				t.Errorf("restart %d after %v, want %v and up to a fifth more", i+1, d, least)
			}
		}
	})
}

func TestStopDuringBackOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		ref := actortest.Spawn(t, sys, "it", on(faulty(p)), actor.Restart(-1, actor.Backoff(time.Hour, time.Hour)))
		actortest.Tell[any](t, ref, fault{})
		synctest.Wait()
		actortest.Tell[any](t, ref, "waits")
		begin := time.Now()
		if err := sys.Stop(soon(t)); err != nil || time.Since(begin) != 0 {
			t.Errorf("Stop: %v after %v", err, time.Since(begin))
		}
		if got := sys.DeadLetters()[actor.ReasonStopped]; got != 1 {
			t.Errorf("dead letters %v", sys.DeadLetters())
		}
	})
}

func TestACT05SharedSupervision(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		shared := actor.Restart(1, actor.Backoff(time.Second, time.Second))
		var refs []actor.Ref[any]
		starts := make([]int, 6)
		for i := range starts {
			refs = append(refs, actortest.Spawn(t, sys, "", func(ctx) (behavior, error) {
				starts[i]++
				return faulty(p), nil
			}, shared))
		}
		do(t, refs[0], func(c ctx) { c.Stop() })
		for _, ref := range refs[1:] {
			actortest.Tell[any](t, ref, fault{})
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []int{1, 2, 2, 2, 2, 2}; !slices.Equal(starts, want) {
			t.Errorf("starts %v, want %v", starts, want)
		}
		for _, ref := range refs[1:] {
			actortest.Tell[any](t, ref, "alive")
			p.Next()
		}
	})
}

// An actor that was told to stop and passes that on as an error has not failed.
func TestPassingOnTheStopIsNoFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log journal
		sys := actortest.NewSystem(t, actor.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
		ref := actortest.Spawn(t, sys, "it", on(func(c ctx, _ any) error { <-c.Done(); return c.Err() }))
		asked := make(chan error)
		go func() {
			_, err := actor.Ask(t.Context(), ref, question{})
			asked <- err
		}()
		synctest.Wait()
		go func() {
			if err := <-asked; !errors.Is(err, actor.ErrNoReply) {
				t.Errorf("ask: %v, want ErrNoReply", err)
			}
		}()
		if err := sys.Stop(soon(t)); err != nil {
			t.Fatal(err)
		}
		if lines := log.lines(); len(lines) != 0 {
			t.Errorf("log %q", lines)
		}
	})
}

func TestCleanupPanicDoesNotKeepTheOthersFromRunning(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{})
		ran := false
		ref := actortest.Spawn(t, sys, "it", func(c ctx) (behavior, error) {
			c.Cleanup(func() { ran = true })
			c.Cleanup(func() { panic(errors.New("broken cleanup")) })
			return func(c ctx, m any) error { c.Stop(); return nil }, nil
		})
		actortest.Tell[any](t, ref, 0)
		gone(t, sys, ref)
		if !ran {
			t.Error("the other cleanup did not run")
		}
	})
}
