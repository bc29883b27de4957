package actor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/actortest"
)

func TestDropFailsTheRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var dead letters
		sys := actortest.NewSystem(t, actor.Config{Name: "test", DeadLetter: dead.add})
		refuse := func(q any) {
			sys.Drop(actor.DeadLetter{To: "far", Message: q, Reason: "buffer full"})
		}
		for name, wrap := range map[string]func(any) any{
			"value":   func(m any) any { return m },
			"pointer": func(m any) any { q := m.(question); return &q },
			"nested":  func(m any) any { return struct{ inner question }{m.(question)} },
		} {
			_, err := actor.Ask(t.Context(), actor.NewRef[any](doorFunc(func(m any) error {
				refuse(wrap(m))
				return nil
			}), ""), question{text: "x"})
			if !errors.Is(err, actor.ErrNoReply) {
				t.Errorf("%s: got %v, want ErrNoReply", name, err)
			}
		}
		refuse(nil)
		refuse("no request")
		if got := sys.DeadLetters()["buffer full"]; got != 5 {
			t.Errorf("counted %d, want 5", got)
		}
	})
}

// doorFunc is a door without a home.
type doorFunc func(m any) error

func (f doorFunc) Deliver(_ context.Context, _ string, m any) error { return f(m) }
func (f doorFunc) Describe(string) string                           { return "door" }

// distant is a Responder whose asker has a deadline.
type distant struct {
	far
	deadline time.Time
}

func (d *distant) Deadline() (time.Time, bool) { return d.deadline, true }

func TestResponderDeadlineAndLateAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sys := actortest.NewSystem(t, actor.Config{})
		d := &distant{deadline: time.Now().Add(time.Minute)}
		r := actor.ReplyTo[string](d)
		p, _ := r.Promise()
		if got, ok := p.Deadline(); !ok || !got.Equal(d.deadline) {
			t.Errorf("Deadline() = %v, %v; want %v", got, ok, d.deadline)
		}
		p.Reject(errPlanned)
		probe := actortest.NewProbe[any](t)
		ref := actortest.Spawn(t, sys, "it", obedient(probe))
		do(t, ref, func(c ctx) {
			if err := errors.Join(r.Send(c, "late"), r.Fail(c, errPlanned)); err != nil {
				t.Error(err)
			}
		})
		if got := sys.DeadLetters()[actor.ReasonLateReply]; got != 2 || len(d.calls) != 1 {
			t.Errorf("%d late replies, want 2; calls %v", got, d.calls)
		}
		ended := false
		p.OnEnd(func() { ended = true })
		if !ended {
			t.Error("OnEnd of an ended promise must run at once")
		}
	})
}
