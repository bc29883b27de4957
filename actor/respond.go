package actor

import (
	"context"
	"sync"
	"time"
)

// Responder takes the answer to one request that came from somewhere else (another node).
// Exactly one of its methods is called, at most once. An error means that the answer could not be put on its way; what the asker can
// be told about that, the Responder tells. If it has a method Deadline like a context's, that is the asker's.
type Responder[R any] interface {
	Respond(v R) error
	Fail(err error) error
}

// ReplyTo makes a Reply that answers through r: routing packages attach it when they decode a request.
func ReplyTo[R any](r Responder[R]) Reply[R] { return Reply[R]{to: &distant[R]{to: r}} }

// distant is the end of an asker elsewhere. It sees to it that its Responder is called once.
type distant[R any] struct {
	to    Responder[R]
	mu    sync.Mutex
	ended bool
	hook  func() // run at the end; nil for none
}

// finish ends it; false if it had ended before.
func (d *distant[R]) finish() bool {
	d.mu.Lock()
	first, hook := !d.ended, d.hook
	d.ended, d.hook = true, nil
	d.mu.Unlock()
	if hook != nil {
		hook()
	}
	return first
}

func (d *distant[R]) answer(c context.Context, _ uint64, v R) error {
	if !d.finish() {
		lost(c, nil, v, ReasonLateReply)
		return nil
	}
	if err := d.to.Respond(v); err != nil {
		lost(c, nil, v, ReasonUnsentReply)
		return &unsent{err}
	}
	return nil
}

func (d *distant[R]) fail(c context.Context, _ uint64, err error) error {
	if !d.finish() {
		lost(c, nil, err, ReasonLateReply)
		return nil
	}
	if unable := d.to.Fail(err); unable != nil {
		lost(c, nil, err, ReasonUnsentReply)
		return &unsent{unable}
	}
	return nil
}

// end ends it for somebody who is no actor: the responder itself tells the asker what cannot be sent, and nobody else waits.
func (d *distant[R]) end(_ uint64, v R, err error, _ bool) bool {
	if !d.finish() {
		return false
	}
	if err != nil {
		_ = d.to.Fail(err)
	} else {
		_ = d.to.Respond(v)
	}
	return true
}

func (d *distant[R]) open(uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.ended
}

func (d *distant[R]) onEnd(_ uint64, f func()) {
	d.mu.Lock()
	ended := d.ended
	if !ended {
		d.hook = after(d.hook, f)
	}
	d.mu.Unlock()
	if ended {
		f()
	}
}

// after gives a function that runs both, the first one if there is one.
func after(first, then func()) func() {
	if first == nil {
		return then
	}
	return func() { first(); then() }
}

func (d *distant[R]) deadlineOf(uint64) (time.Time, bool) {
	if to, ok := d.to.(interface{ Deadline() (time.Time, bool) }); ok {
		return to.Deadline()
	}
	return time.Time{}, false
}

func (d *distant[R]) responder() Responder[R] { return d.to }
