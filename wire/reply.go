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
	// Fail answers with an error of the recipient's, or of its node: the asker gets
	// it as it is.
	Fail(err error)
	// Reject gives the ask up: see [actor.Promise].
	Reject(err error)
	// OnEnd registers f to run once when nobody waits any more: see
	// [actor.Promise].
	OnEnd(f func())
	// Deadline is when the asker gives up; false if it does not or that is not
	// known, and then the keeper sets a bound.
	Deadline() (time.Time, bool)
	// Replier is what [Protocol.Decode] was given for a request that came from
	// another node and is passed on; nil for an ask of this process.
	Replier() Replier
}

// Replier sends the answer of one remote request back. One of its methods is
// called, at most once. If it has a method Deadline like a context's, that is
// the asker's, and it goes on with a request that is forwarded.
type Replier interface {
	// Reply sends an encoded R. The payload is valid only during the call.
	Reply(payload []byte) error
	// Fail sends an error: see [AppendError].
	Fail(err error) error
}

// promised is a pending ask of this process, or one from elsewhere that is on
// its way through it.
type promised[R any] struct {
	actor.Promise[R]
	named *named
}

func (p promised[R]) Resolve(payload []byte) {
	v, err := decodeReply[R](p.named, payload)
	if err != nil {
		p.Reject(err)
		return
	}
	p.Promise.Resolve(v)
}

func (p promised[R]) Replier() Replier {
	if a, ok := p.Responder().(*answerer[R]); ok {
		return a.to
	}
	return nil
}

func decodeReply[R any](n *named, payload []byte) (v R, err error) {
	if n.reply.decode(payload, unsafe.Pointer(&v)) {
		return v, nil
	}
	return decodeReplyBy[R](n, payload)
}

// decodeReplyBy has the codec decode a reply.
func decodeReplyBy[R any](n *named, payload []byte) (v R, err error) {
	err = n.decodeInto(payload, &v)
	return v, err
}

// answerer is the responder of a request that was decoded here.
type answerer[R any] struct {
	named *named
	to    Replier
}

// Respond encodes v; if that fails, the asker learns so at once.
func (a *answerer[R]) Respond(v R) error {
	b := a.named.buffer()
	defer a.named.keep(b)
	payload, err := a.append((*b)[:0], v)
	if err == nil {
		*b = payload
		return a.to.Reply(payload)
	}
	a.named.unencoded.Add(1)
	err = fmt.Errorf("%w: reply of %s by %s: %w", ErrUnencodable, a.named.name, a.named.codec.Name(), err)
	if lost := a.to.Fail(err); lost != nil {
		return fmt.Errorf("%w; and its asker cannot be told: %w", err, lost)
	}
	return err
}

func (a *answerer[R]) append(dst []byte, v R) ([]byte, error) {
	if a.named.reply != nil {
		return a.named.reply.append(dst, unsafe.Pointer(&v)), nil
	}
	return appendValue(a.named.codec, dst, v)
}

func (a *answerer[R]) Fail(err error) error { return a.to.Fail(err) }

func (a *answerer[R]) Deadline() (time.Time, bool) {
	if d, ok := a.to.(interface{ Deadline() (time.Time, bool) }); ok {
		return d.Deadline()
	}
	return time.Time{}, false
}

// buffer is what a reply is encoded into; keep has the next one use it again.
func (n *named) buffer() *[]byte {
	if b, ok := n.buffers.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

func (n *named) keep(b *[]byte) {
	const big = 64 << 10 // left to the collector, so that one big reply does not stay in memory
	if cap(*b) <= big {
		n.buffers.Put(b)
	}
}
