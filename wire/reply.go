package wire

import (
	"fmt"
	"time"
	"unsafe"

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
	// Deadline is when the asker gives up; false if it does not or that is not
	// known, and then the keeper sets a bound.
	Deadline() (time.Time, bool)
}

// Replier sends the answer of one remote request back. One of its methods is
// called, at most once. If it has a method Deadline like a context's, that is
// the asker's, and it goes on with a request that is forwarded.
type Replier interface {
	// Reply sends an encoded R. It may keep payload.
	Reply(payload []byte) error
	// Fail sends an error: see [AppendError].
	Fail(err error) error
}

// promised is a pending ask of this process, or one from elsewhere that is on
// its way through it.
type promised[R any] struct {
	actor.Promise
	named *named
}

func (p promised[R]) Resolve(payload []byte) {
	p.Promise.Resolve(func(into any) error {
		if v, ok := into.(*R); ok {
			if p.named.reply.decode(payload, unsafe.Pointer(v)) {
				return nil
			}
			var none R
			*v = none
		}
		return p.named.decodeInto(payload, into)
	})
}

// answerer is the responder of a request that was decoded here.
type answerer[R any] struct {
	named *named
	to    Replier
}

// Respond encodes v; if that fails, the asker learns so at once.
func (a *answerer[R]) Respond(v any) error {
	payload, err := a.encode(v)
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

func (a *answerer[R]) encode(v any) ([]byte, error) {
	if r, ok := v.(R); ok && a.named.reply != nil {
		return a.named.reply.append(nil, unsafe.Pointer(&r)), nil
	}
	return appendValue(a.named.codec, nil, v)
}

func (a *answerer[R]) Fail(err error) error { return a.to.Fail(err) }

func (a *answerer[R]) Deadline() (time.Time, bool) {
	if d, ok := a.to.(interface{ Deadline() (time.Time, bool) }); ok {
		return d.Deadline()
	}
	return time.Time{}, false
}
