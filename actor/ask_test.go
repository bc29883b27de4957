package actor_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/actortest"
)

// oracle answers, fails, forgets, and so on, as the question says.
func oracle(c ctx, m any) error {
	q := m.(question)
	switch q.text {
	case "echo":
		return q.reply.Send(c, "echo")
	case "twice":
		return errors.Join(q.reply.Send(c, "first"), q.reply.Send(c, "second"))
	case "no":
		return q.reply.Fail(c, errPlanned)
	case "break":
		return errPlanned
	case "answer and break":
		return errors.Join(q.reply.Send(c, "answered"), errPlanned)
	case "panic":
		panic(errPlanned)
	case "unknown":
		return actor.ErrUnhandled
	}
	return nil
}

func TestAskEnds(t *testing.T) {
	for _, tt := range []struct {
		text  string
		want  string
		err   error
		asked bool // the error is an *AskError
		fate  actor.Fate
	}{
		{"echo", "echo", nil, false, 0},
		{"twice", "first", nil, false, 0},
		{"no", "", errPlanned, false, 0},
		{"break", "", errPlanned, true, actor.Handled},
		{"answer and break", "answered", nil, false, 0},
		{"panic", "", errPlanned, true, actor.Handled},
		{"unknown", "", actor.ErrUnhandled, true, actor.Handled},
		{"forget", "", context.DeadlineExceeded, true, actor.Unknown},
	} {
		t.Run(tt.text, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				sys := actortest.NewSystem(t, actor.Config{})
				ref := actortest.Spawn(t, sys, "oracle", on(oracle))
				begin := time.Now()
				c, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				got, err := actor.Ask(c, ref, question{text: tt.text})
				if got != tt.want || !errors.Is(err, tt.err) {
					t.Errorf("Ask(%q) = %q, %v; want %q, %v", tt.text, got, err, tt.want, tt.err)
				}
				var ask *actor.AskError
				if errors.As(err, &ask) != tt.asked || tt.asked && (ask.To != "/oracle" || ask.Fate != tt.fate || ask.Request != "actor_test.question") {
					t.Errorf("Ask(%q): error %#v", tt.text, err)
				}
				if tt.text != "forget" && time.Since(begin) != 0 {
					t.Errorf("Ask(%q) took %v, want an answer at once", tt.text, time.Since(begin))
				}
			})
		})
	}
}

func TestAskRefusedIsSafeToRepeat(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{})
		ref := actortest.Spawn(t, sys, "it", on(func(c ctx, m any) error { c.Stop(); return nil }))
		actortest.Tell[any](t, ref, 0)
		gone(t, sys, ref)
		_, err := actor.Ask(t.Context(), ref, question{})
		var ask *actor.AskError
		if !errors.As(err, &ask) || !ask.SafeToRetry() || !errors.Is(err, actor.ErrStopped) {
			t.Errorf("got %v, want an undelivered AskError of ErrStopped", err)
		}
	})
}

// Asks in mailbox and stash end when the actor does, not at their deadline.
func TestAskOfAnActorThatEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{})
		release := make(chan struct{})
		ref := actortest.Spawn(t, sys, "it", on(func(c ctx, m any) error {
			if m == "stop" {
				<-release
				c.Stop()
				return nil
			}
			return c.Stash()
		}))
		results := make(chan error, 20)
		ask := func() {
			_, err := actor.Ask(t.Context(), ref, question{})
			results <- err
		}
		for range 10 {
			go ask()
		}
		synctest.Wait()
		actortest.Tell[any](t, ref, "stop")
		for range 10 {
			go ask()
		}
		synctest.Wait()
		close(release)
		for range 20 {
			if err := <-results; !errors.Is(err, actor.ErrNoReply) {
				t.Errorf("got %v, want ErrNoReply", err)
			}
		}
	})
}

func TestACT01TimedOutAsk(t *testing.T) {
	const asks = 20_000
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{})
		var kept []actor.Reply[string]
		ref := actortest.Spawn(t, sys, "it", on(func(c ctx, m any) error {
			if m == "answer" {
				for _, r := range kept {
					if err := r.Send(c, "late"); err != nil {
						return err
					}
				}
				return nil
			}
			kept = append(kept, m.(question).reply)
			return nil
		}))
		const workers = 2 // may come meanwhile
		before := runtime.NumGoroutine() + workers
		for i := range asks {
			if i%2 == 0 {
				c, cancel := context.WithCancel(t.Context())
				cancel()
				if _, err := actor.Ask(c, ref, question{}); !errors.Is(err, context.Canceled) {
					t.Fatalf("ask %d: got %v, want Canceled", i, err)
				}
				continue
			}
			c, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			if _, err := actor.Ask(c, ref, question{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("ask %d: got %v, want DeadlineExceeded", i, err)
			}
			cancel()
		}
		synctest.Wait()
		if after := runtime.NumGoroutine(); after > before {
			t.Errorf("%d goroutines, want at most %d", after, before)
		}
		actortest.Tell[any](t, ref, "answer")
		synctest.Wait()
		if got := sys.DeadLetters()[actor.ReasonLateReply]; got != asks {
			t.Errorf("%d late replies, want %d", got, asks)
		}
	})
}

// A reused promise must not take the late answer to a former ask for its own.
func TestLateAnswerDoesNotReachTheNextAsk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{})
		var former actor.Reply[string]
		ref := actortest.Spawn(t, sys, "it", on(func(c ctx, m any) error {
			q := m.(question)
			if q.text == "keep" {
				former = q.reply
				return nil
			}
			return errors.Join(former.Send(c, "former"), q.reply.Send(c, "mine"))
		}))
		for range 100 {
			c, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if _, err := actor.Ask(c, ref, question{text: "keep"}); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			cancel()
			if got, err := actor.Ask(t.Context(), ref, question{}); got != "mine" || err != nil {
				t.Fatalf("got %q, %v; want mine", got, err)
			}
		}
	})
}

func TestPromise(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{})
		promises := make(chan actor.Promise[string], 1)
		ref := actortest.Spawn(t, sys, "router", on(func(c ctx, m any) error {
			p, ok := m.(question).reply.Promise()
			if !ok {
				t.Error("no promise for an open ask")
			}
			promises <- p
			return nil
		}))
		for name, tt := range map[string]struct {
			resolve func(p actor.Promise[string])
			want    string
			err     error
		}{
			"resolved":  {func(p actor.Promise[string]) { p.Resolve("far") }, "far", nil},
			"failed":    {func(p actor.Promise[string]) { p.Fail(errPlanned) }, "", errPlanned},
			"rejected":  {func(p actor.Promise[string]) { p.Reject(errPlanned) }, "", errPlanned},
			"abandoned": {func(actor.Promise[string]) {}, "", context.DeadlineExceeded},
		} {
			ends, asked := 0, make(chan struct{})
			c, cancel := context.WithTimeout(t.Context(), time.Second)
			go func() {
				p := <-promises
				if d, ok := p.Deadline(); !ok || time.Until(d) != time.Second {
					t.Errorf("%s: deadline in %v, %v", name, time.Until(d), ok)
				}
				p.OnEnd(func() { ends++ })
				tt.resolve(p)
				<-asked
				p.OnEnd(func() { ends++ })
				p.Reject(errPlanned)
			}()
			got, err := actor.Ask(c, ref, question{})
			close(asked)
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%s: got %q, %v; want %q, %v", name, got, err, tt.want, tt.err)
			}
			if unanswered, is := errors.AsType[*actor.AskError](err); is != (name == "rejected" || name == "abandoned") || is && unanswered.Fate != actor.Unknown {
				t.Errorf("%s: got %#v; want an AskError about a delivered request if, and only if, nobody has answered", name, err)
			}
			cancel()
			synctest.Wait()
			if ends != 2 {
				t.Errorf("%s: OnEnd ran %d times, want 2", name, ends)
			}
		}
	})
}

// far records what a Responder is called with.
type far struct{ calls []any }

func (f *far) Respond(v string) error { f.calls = append(f.calls, v); return nil }
func (f *far) Fail(err error) error   { f.calls = append(f.calls, err); return nil }

func TestResponderIsCalledOnce(t *testing.T) {
	for _, tt := range []struct {
		text string
		want any
	}{
		{"echo", "echo"},
		{"twice", "first"},
		{"no", errPlanned},
		{"break", errPlanned},
		{"answer and break", "answered"},
		{"unknown", actor.ErrUnhandled},
		{"stay in the mailbox", actor.ErrNoReply},
	} {
		bubble(t, func(t *testing.T) {
			sys := actortest.NewSystem(t, actor.Config{})
			ref := actortest.Spawn(t, sys, "oracle", func(c ctx) (behavior, error) {
				if tt.want == actor.ErrNoReply {
					c.Stop()
				}
				return oracle, nil
			})
			f := new(far)
			err := ref.Tell(t.Context(), question{text: tt.text, reply: actor.ReplyTo[string](f)})
			if tt.want == actor.ErrNoReply {
				if err == nil {
					t.Error("a stopping actor accepted a message")
				}
				return
			}
			synctest.Wait()
			want, isError := tt.want.(error)
			if len(f.calls) != 1 || !isError && f.calls[0] != tt.want {
				t.Fatalf("%s: calls %v, want [%v]", tt.text, f.calls, tt.want)
			}
			if got, _ := f.calls[0].(error); !errors.Is(got, want) {
				t.Errorf("%s: failed with %v, want %v", tt.text, got, want)
			}
		})
	}
}

func TestResponderForwards(t *testing.T) {
	f := new(far)
	r := actor.ReplyTo[string](f)
	p, ok := r.Promise()
	if !ok || p.Responder() != f {
		t.Fatalf("promise of an open remote request: %v, by %v; want one by its responder", ok, p.Responder())
	}
	ended := 0
	p.OnEnd(func() { ended++ })
	p.Resolve("farther")
	p.Reject(errPlanned)
	if _, ok := r.Promise(); ok || ended != 1 || len(f.calls) != 1 || f.calls[0] != "farther" {
		t.Errorf("promise %v, ended %d times, calls %v", ok, ended, f.calls)
	}
}

func TestZeroReplyDiscards(t *testing.T) {
	var r actor.Reply[string]
	if err := errors.Join(r.Send(t.Context(), "x"), r.Fail(t.Context(), errPlanned)); err != nil {
		t.Error(err)
	}
	if _, ok := r.Promise(); ok {
		t.Error("the zero Reply has a promise")
	}
}

// mute cannot put answers on their way.
type mute struct{}

func (mute) Respond(string) error { return errPlanned }
func (mute) Fail(error) error     { return errPlanned }

func TestUnsentReplyIsADeadLetter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var l letters
		sys := actortest.NewSystem(t, actor.Config{DeadLetter: l.add})
		ref := actortest.Spawn(t, sys, "oracle", on(oracle))
		for _, text := range []string{"echo", "no"} {
			actortest.Tell[any](t, ref, question{text: text, reply: actor.ReplyTo[string](mute{})})
		}
		synctest.Wait()
		if got, want := l.texts(), []string{"unsent reply: echo", "unsent reply: planned"}; !slices.Equal(got, want) {
			t.Errorf("dead letters %q, want %q", got, want)
		}
		if got, err := actor.Ask(t.Context(), ref, question{text: "echo"}); got != "echo" || err != nil {
			t.Errorf("afterwards: got %q, %v; want the actor to live", got, err)
		}
		actortest.Tell[any](t, ref, question{text: "answer and break", reply: actor.ReplyTo[string](mute{})})
		gone(t, sys, ref) // what else it returned is a failure still
	})
}
