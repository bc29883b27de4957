package actor

import (
	"context"
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
	// end ends the ask with v or err if it is still open; false if it is not. answered tells that the recipient has said so.
	end(ask uint64, v R, err error, answered bool) bool
	open(ask uint64) bool
	// onEnd runs f at the end of the ask, at once if that has been.
	onEnd(ask uint64, f func())
	deadlineOf(ask uint64) (time.Time, bool)
	// responder is who answers elsewhere; nil for an ask of this process.
	responder() Responder[R]
}

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
func (r Reply[R]) Promise() (Promise[R], bool) { return Promise[R](r), r.to != nil && r.to.open(r.ask) }

// drop fails the request of a message that nobody will handle.
func (r Reply[R]) drop(err error) {
	if r.to != nil {
		var none R
		r.to.end(r.ask, none, err, false)
	}
}

// A Promise is a pending ask, a small value like the Reply that it belongs to. Its methods are safe everywhere and do nothing once the ask
// has ended, except OnEnd.
type Promise[R any] struct {
	to  answerer[R]
	ask uint64
}

// Resolve completes the ask with v.
func (p Promise[R]) Resolve(v R) { p.to.end(p.ask, v, nil, true) }

// Fail completes the ask with the error that its recipient has answered; Ask returns it as it is.
func (p Promise[R]) Fail(err error) {
	var none R
	p.to.end(p.ask, none, err, true)
}

// Reject gives the ask up: nobody will answer it. Ask returns an [AskError] about err. An asker on another node gets err as it is.
func (p Promise[R]) Reject(err error) {
	var none R
	p.to.end(p.ask, none, err, false)
}

// OnEnd registers f to run once when the asker stops waiting (answered, failed or context ended);
// at once if it already has. Routing packages drop their table entry there.
func (p Promise[R]) OnEnd(f func()) { p.to.onEnd(p.ask, f) }

// Deadline is when the asker gives up, if ever; the remaining time (never the instant) travels.
func (p Promise[R]) Deadline() (time.Time, bool) { return p.to.deadlineOf(p.ask) }

// Responder is what [ReplyTo] was given for a request that came from somewhere else, and nil for an ask of this process. Who
// passes the request on finds there where the answer is to go.
func (p Promise[R]) Responder() Responder[R] { return p.to.responder() }

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
