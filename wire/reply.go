package wire

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// Pending is the reply that an encoded request waits for. The sender keeps it
// under a correlation id until the answer comes or it ends by itself.
type Pending interface {
	// Resolve answers with an encoded R, which is decoded before it returns; if
	// it cannot be decoded the ask fails with the reason.
	Resolve(payload []byte)
	// Reject fails the ask.
	Reject(err error)
	// OnEnd registers f to run once when nobody waits any more: see
	// [actor.Promise].
	OnEnd(f func())
	// Deadline is when the asker gives up; false if that is not known, as for a
	// request that was forwarded: then the keeper sets the bound.
	Deadline() (time.Time, bool)
}

// Replier sends the answer of one remote request back. One of its methods is
// called, at most once.
type Replier interface {
	// Reply sends an encoded R. It may keep payload.
	Reply(payload []byte) error
	// Fail sends an error: see [AppendError].
	Fail(err error) error
}

// promised is the pending ask of this process.
type promised struct {
	actor.Promise
	named *named
}

func (p promised) Resolve(payload []byte) {
	p.Promise.Resolve(func(into any) error { return p.named.decodeInto(payload, into) })
}

// answerer is the responder of a request that was decoded here.
type answerer struct {
	named *named
	to    Replier
}

// Respond encodes v; if that fails, the asker learns so at once.
func (a *answerer) Respond(v any) error {
	payload, err := appendValue(a.named.codec, nil, v)
	if err == nil {
		return a.to.Reply(payload)
	}
	a.named.unencoded.Add(1)
	err = fmt.Errorf("%w: reply of %s by %s: %w", ErrUnencodable, a.named.name, a.named.codec.Name(), err)
	if lost := a.to.Fail(err); lost != nil {
		return fmt.Errorf("%w; and its asker cannot be told: %w", err, lost)
	}
	return err
}

func (a *answerer) Fail(err error) error { return a.to.Fail(err) }

// forwarded is a request on its way through this node: its answer goes where
// the request came from.
type forwarded[R any] struct {
	named *named
	reply actor.Reply[R]

	mu    sync.Mutex
	ended bool
	onEnd []func()
}

// The errors of Send and Fail are dropped here and below: the one who would
// want them is the asker, who cannot be reached.

func (f *forwarded[R]) Resolve(payload []byte) {
	var v R
	if err := f.named.decodeInto(payload, &v); err != nil {
		f.Reject(err)
		return
	}
	_ = f.reply.Send(context.Background(), v)
	f.end()
}

func (f *forwarded[R]) Reject(err error) {
	_ = f.reply.Fail(context.Background(), err)
	f.end()
}

func (f *forwarded[R]) end() {
	f.mu.Lock()
	run := f.onEnd
	f.ended, f.onEnd = true, nil
	f.mu.Unlock()
	for _, g := range run {
		g()
	}
}

func (f *forwarded[R]) OnEnd(g func()) {
	f.mu.Lock()
	ended := f.ended
	if !ended {
		f.onEnd = append(f.onEnd, g)
	}
	f.mu.Unlock()
	if ended {
		g()
	}
}

func (f *forwarded[R]) Deadline() (time.Time, bool) { return time.Time{}, false }
