package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/internal/member"
)

// ErrGone is the error of [Endpoint].Probe that speaks for a peer's death.
const ErrGone = actor.Error("transport: that incarnation is not there")

// Probe is described at [Endpoint].
func (e *endpoint) Probe(ctx context.Context, id member.ID) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(e.hard, func() { cancel(ErrClosed) })()
	defer cancel(nil)
	if id == e.self {
		return gone(e.knock(ctx, id.Address), false)
	}
	conn, _, err := e.dial(ctx, id, Control, 0) // a round that never takes the place of another
	if err == nil {
		hangUp(conn)
		return nil
	}
	return gone(err, e.hears(id))
}

// knock connects to an address, says nothing, and goes.
func (e *endpoint) knock(ctx context.Context, at member.Address) error {
	places, err := e.places(ctx, at)
	for _, place := range places {
		var conn net.Conn
		if conn, err = e.connect(ctx, place); err == nil {
			hangUp(conn)
			return nil
		}
	}
	return err
}

// gone makes of the error of an attempt what Probe promises.
func gone(err error, heard bool) error {
	refused, answered := errors.AsType[*RefusedError](err)
	switch {
	case err == nil:
		return nil
	case answered && refused.Reason == RefusedClosing: // about to go, if that is what its link broke of
		return err
	case answered && refused.Reason != RefusedIncarnation:
		return nil
	case heard: // somebody else refuses in its name
		return fmt.Errorf("still connected to this node: %w", err)
	case answered, errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w: %w", ErrGone, err)
	default:
		return err
	}
}

// hears tells whether a connection that an incarnation made is open.
func (e *endpoint) hears(id member.ID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key := range e.lines {
		if key.from == id {
			return true
		}
	}
	return false
}

// Broke tells of the error of [Handler].LinkDown whether the link ended as it
// does when the peer's process dies: its connections were closed, reset or
// refused, without a goodbye and not by this node.
func Broke(err error) bool {
	if errors.Is(err, ErrRefused) {
		return false
	}
	for _, sign := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNREFUSED} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}
