package actor

import (
	"context"
	"sync"
	"time"
)

// Reply is where the answer to one request goes. It is a small value that may be kept, and passed to others; the first answer
// counts, later ones are dead letters. The zero Reply discards.
type Reply[R any] struct {
	to  answerer[R]
	ask uint64 // which of the asks that to has served
}

// answerer is the asker's end of a reply.
type answerer[R any] interface {
	answer(c context.Context, ask uint64, v R) error
	fail(c context.Context, ask uint64, err error) error
	// discard fails the ask if it is still open, and says nothing if it is not.
	discard(ask uint64, err error)
	promise(ask uint64) (Promise, bool)
}

// Responder takes the answer to one request that came from somewhere else (another node).
// Exactly one of its methods is called, at most once. An error means that the answer could not be put on its way; what the asker can
// be told about that, the Responder tells. If it has a method Deadline like a context's, that is the asker's.
type Responder interface {
	Respond(v any) error // v is an R
	Fail(err error) error
}

// ReplyTo makes a Reply that answers through r: routing packages attach it when they decode a request.
func ReplyTo[R any](r Responder) Reply[R] { return Reply[R]{to: &responder[R]{to: r}} }

// Send answers. It does not wait, and an asker that has gone is no error. An error means that the answer could not be put on its way,
// and is a dead letter; a behavior may return it, which is no failure. The context is only used for dead letters.
func (r Reply[R]) Send(c context.Context, v R) error {
	if r.to == nil {
		return nil
	}
	return r.to.answer(c, r.ask, v)
}

// Fail answers with an error, which Ask returns as it is; the actor goes on. A nil err is ErrNoReply.
func (r Reply[R]) Fail(c context.Context, err error) error {
	if r.to == nil {
		return nil
	}
	if err == nil {
		err = ErrNoReply
	}
	return r.to.fail(c, r.ask, err)
}

// Promise gives the asker's end, if it still waits: routing packages register it under a correlation id and resolve
// it when the answer comes from elsewhere. A request that itself came from another node has one too, so that it can be forwarded.
func (r Reply[R]) Promise() (Promise, bool) {
	if r.to == nil {
		return nil, false
	}
	return r.to.promise(r.ask)
}

// drop fails the request of a message that nobody will handle.
func (r Reply[R]) drop(err error) {
	if r.to != nil {
		r.to.discard(r.ask, err)
	}
}

// A Promise is a pending ask. Its methods are safe everywhere and do nothing once it has ended, except OnEnd.
type Promise interface {
	// Resolve completes the ask: decode is called with a *R to fill; its error, as it is, fails the ask.
	Resolve(decode func(into any) error)
	// Reject fails the ask with err as it is.
	Reject(err error)
	// OnEnd registers f to run once when the asker stops waiting (answered, failed or context ended);
	// at once if it already has. Routing packages drop their table entry there.
	OnEnd(f func())
	// Deadline is when the asker gives up, if ever; the remaining time (never the instant) travels.
	Deadline() (time.Time, bool)
}

// lost counts an answer that does not reach its asker in the system of the actor that gave it.
func lost(c context.Context, sys *System, v any, reason Reason) {
	if sys == nil && c != nil {
		if h, ok := Current(c).(Host); ok {
			sys = h.Home().System()
		}
	}
	if sys != nil {
		sys.letters.add(DeadLetter{"asker", v, reason})
	}
}

// responder sees to it that a Responder is called once.
type responder[R any] struct {
	to    Responder
	mu    sync.Mutex
	ended bool
	hooks []func()
}

// finish ends it; false if it had ended before.
func (r *responder[R]) finish() bool {
	r.mu.Lock()
	first, hooks := !r.ended, r.hooks
	r.ended, r.hooks = true, nil
	r.mu.Unlock()
	for _, f := range hooks {
		f()
	}
	return first
}

func (r *responder[R]) answer(c context.Context, _ uint64, v R) error {
	if !r.finish() {
		lost(c, nil, v, ReasonLateReply)
		return nil
	}
	if err := r.to.Respond(v); err != nil {
		lost(c, nil, v, ReasonUnsentReply)
		return &unsent{err}
	}
	return nil
}

func (r *responder[R]) fail(c context.Context, _ uint64, err error) error {
	if !r.finish() {
		lost(c, nil, err, ReasonLateReply)
		return nil
	}
	if unable := r.to.Fail(err); unable != nil {
		lost(c, nil, err, ReasonUnsentReply)
		return &unsent{unable}
	}
	return nil
}

func (r *responder[R]) discard(_ uint64, err error) { r.Reject(err) }

func (r *responder[R]) promise(uint64) (Promise, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r, !r.ended
}

// Resolve implements Promise.
func (r *responder[R]) Resolve(decode func(into any) error) {
	var v R
	if err := decode(&v); err != nil {
		r.Reject(err)
	} else if r.finish() {
		r.to.Respond(v) //nolint:errcheck // the responder tells the asker itself; nobody else waits here
	}
}

// Reject implements Promise.
func (r *responder[R]) Reject(err error) {
	if r.finish() {
		r.to.Fail(err) //nolint:errcheck // as in Resolve
	}
}

// OnEnd implements Promise.
func (r *responder[R]) OnEnd(f func()) {
	r.mu.Lock()
	ended := r.ended
	if !ended {
		r.hooks = append(r.hooks, f)
	}
	r.mu.Unlock()
	if ended {
		f()
	}
}

// Deadline implements Promise.
func (r *responder[R]) Deadline() (time.Time, bool) {
	if d, ok := r.to.(interface{ Deadline() (time.Time, bool) }); ok {
		return d.Deadline()
	}
	return time.Time{}, false
}
