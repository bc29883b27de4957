package actor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/actortest"
)

// jammed is an actor with a full mailbox of four, 0 to 3, that goes on when released; it tells the probe what it handles.
func jammed(t *testing.T, sys *actor.System, p *actortest.Probe[any], opts ...actor.Option) (ref actor.Ref[any], release chan struct{}) {
	t.Helper()
	release = make(chan struct{})
	ref = actortest.Spawn(t, sys, "jammed", obedient(p), append(opts, actor.Mailbox(4))...)
	actortest.Tell[any](t, ref, call(func(ctx) error { <-release; return nil }))
	synctest.Wait()
	for i := range 4 {
		actortest.Tell[any](t, ref, i)
	}
	return ref, release
}

// inLine has senders wait one behind the other, with messages from first on, and gives what TellWait returns to each.
func inLine(c context.Context, ref actor.Ref[any], first, n int) []chan error {
	outcomes := make([]chan error, n)
	for i := range outcomes {
		outcomes[i] = make(chan error, 1)
		go func() { outcomes[i] <- ref.TellWait(c, first+i) }()
		synctest.Wait()
	}
	return outcomes
}

func TestTellWaitComesInTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		ref, release := jammed(t, sys, p)
		outcomes := inLine(t.Context(), ref, 4, 20)
		for _, o := range outcomes {
			if len(o) != 0 {
				t.Fatalf("TellWait returned %v while the mailbox was full", <-o)
			}
		}
		if err := ref.Tell(t.Context(), "out of turn"); !errors.Is(err, actor.ErrFull) {
			t.Errorf("Tell: got %v, want ErrFull", err)
		}
		close(release)
		synctest.Wait()
		for i, o := range outcomes {
			if err := <-o; err != nil {
				t.Errorf("sender %d: %v", i, err)
			}
		}
		var want []any
		for i := range 24 {
			want = append(want, i)
		}
		if got := p.All(); !slices.Equal(got, want) {
			t.Errorf("handled %v, want %v", got, want)
		}
	})
}

func TestTellWaitEndsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		ref, release := jammed(t, sys, p)
		patient := inLine(t.Context(), ref, 4, 1)[0]
		c, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		err := ref.TellWait(c, "given up")
		if !errors.Is(err, actor.ErrFull) || !errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), "/jammed") || !strings.Contains(err.Error(), "actor.Mailbox") {
			t.Errorf("got %v, want ErrFull and DeadlineExceeded that name actor and setting", err)
		}
		if d := time.Since(begin); d != time.Second {
			t.Errorf("waited %v, want 1s", d)
		}
		if err := ref.TellWait(c, "too late"); !errors.Is(err, actor.ErrFull) {
			t.Errorf("with a context that is done: got %v, want ErrFull", err)
		}
		close(release)
		if err := <-patient; err != nil {
			t.Error(err)
		}
		if err := ref.TellWait(c, 5); err != nil {
			t.Errorf("with room and a context that is done: %v", err)
		}
		synctest.Wait()
		if got, want := p.All(), []any{0, 1, 2, 3, 4, 5}; !slices.Equal(got, want) {
			t.Errorf("handled %v, want %v", got, want)
		}
	})
}

func TestTellWaitEndsWithTheActor(t *testing.T) {
	for name, end := range map[string]call{
		"stop":    func(c ctx) error { c.Stop(); return nil },
		"failure": func(ctx) error { return errPlanned },
		"drain":   func(c ctx) error { actor.Current(c).(*actor.Cell[any]).Drain(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
				release := make(chan struct{})
				ref := actortest.Spawn(t, sys, "it", obedient(p), actor.Mailbox(1))
				actortest.Tell[any](t, ref, call(func(c ctx) error { <-release; return end(c) }))
				synctest.Wait()
				actortest.Tell[any](t, ref, "in the mailbox")
				outcomes := inLine(t.Context(), ref, 0, 3)
				close(release)
				for i, o := range outcomes {
					if err := <-o; !errors.Is(err, actor.ErrStopped) || errors.Is(err, actor.ErrFull) {
						t.Errorf("sender %d: got %v, want ErrStopped", i, err)
					}
				}
				if err := ref.TellWait(t.Context(), "late"); !errors.Is(err, actor.ErrStopped) {
					t.Errorf("afterwards: got %v, want ErrStopped", err)
				}
			})
		})
	}
}

// Behaviors that wait for room, in each other's mailboxes even, leave the workers to others and go on when there is some.
func TestTellWaitOfBehaviors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const pairs = 100
		sys, p := actortest.NewSystem(t, actor.Config{}), actortest.NewProbe[any](t)
		pusher := func(peer *actor.Ref[any]) start {
			return on(func(c ctx, m any) error {
				if m != "push" {
					return nil
				}
				d, cancel := context.WithTimeout(c, time.Second)
				defer cancel()
				for {
					if err := peer.TellWait(d, 0); err != nil {
						if !errors.Is(err, actor.ErrFull) {
							t.Error(err)
						}
						return nil
					}
				}
			})
		}
		for i := range pairs {
			var a, b actor.Ref[any]
			a = actortest.Spawn(t, sys, fmt.Sprint("a", i), pusher(&b), actor.Mailbox(1))
			b = actortest.Spawn(t, sys, fmt.Sprint("b", i), pusher(&a), actor.Mailbox(1))
			for _, ref := range []actor.Ref[any]{a, b} { // the first may have filled the other's mailbox
				if err := ref.TellWait(t.Context(), "push"); err != nil {
					t.Fatal(err)
				}
			}
		}
		synctest.Wait()
		other := actortest.Spawn(t, sys, "other", forward(p))
		begin := time.Now()
		actortest.Tell[any](t, other, "hello")
		p.Next()
		if d := time.Since(begin); d != 0 {
			t.Errorf("another actor waited %v", d)
		}
		time.Sleep(2 * time.Second)
		if err := sys.Stop(soon(t)); err != nil {
			t.Error(err)
		}
	})
}

func TestTellWaitForALoop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{})
		var got []any
		ref := actortest.Spawn(t, sys, "loop", actor.Loop(func(in *actor.Inbox[any]) error {
			time.Sleep(time.Second)
			for {
				m, err := in.Next(in)
				if err != nil {
					return err
				}
				got = append(got, m)
			}
		}), actor.Mailbox(2))
		for _, o := range inLine(t.Context(), ref, 0, 10) {
			if err := <-o; err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if want := []any{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(got, want) {
			t.Errorf("handled %v, want %v", got, want)
		}
	})
}

// impatient is a door that cannot wait.
type impatient struct{ full bool }

func (d impatient) Deliver(context.Context, string, any) error {
	if d.full {
		return actor.ErrFull
	}
	return nil
}
func (impatient) Describe(string) string { return "impatient" }

func TestTellWaitOfOtherDoors(t *testing.T) {
	for _, tt := range []struct {
		to   actor.Ref[any]
		want error
	}{
		{actor.Ref[any]{}, actor.ErrStopped},
		{actor.NewRef[any](impatient{full: true}, ""), actor.ErrFull},
		{actor.NewRef[any](impatient{}, ""), nil},
	} {
		if err := tt.to.TellWait(t.Context(), 0); !errors.Is(err, tt.want) {
			t.Errorf("%v: got %v, want %v", tt.to, err, tt.want)
		}
	}
}

// A line of senders that come and go is never stuck, whoever gives up.
func TestTellWaitUnderLoad(t *testing.T) {
	const senders, each = 8, 2000
	sys := actortest.NewSystem(t, actor.Config{})
	handled, done := 0, make(chan int)
	ref := actortest.Spawn(t, sys, "it", on(func(_ ctx, m any) error {
		if m == "end" {
			done <- handled
			return nil
		}
		handled++
		return nil
	}), actor.Mailbox(3))
	accepted := make(chan int)
	for range senders {
		go func() {
			n := 0
			for i := range each {
				c, cancel := context.WithCancel(t.Context())
				if i%3 == 0 {
					go cancel()
				}
				if ref.TellWait(c, i) == nil {
					n++
				}
				cancel()
			}
			accepted <- n
		}()
	}
	want := 0
	for range senders {
		want += <-accepted
	}
	if err := ref.TellWait(t.Context(), "end"); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got != want {
		t.Errorf("%d handled, want the %d that were accepted", got, want)
	}
}
