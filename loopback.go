package troupe

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/transport"
)

// Frames that a node may have queued to itself.
const loopbackQueue = 4096

// loopback carries what a node sends to itself, in order, on a goroutine of
// its own, as a link would.
type loopback struct {
	node   *Node
	queue  chan loopFrame
	closed chan struct{}
	done   chan struct{}
}

type loopFrame struct {
	lane  transport.Lane
	frame []byte
}

func newLoopback(n *Node) *loopback {
	return &loopback{node: n, queue: make(chan loopFrame, loopbackQueue), closed: make(chan struct{}), done: make(chan struct{})}
}

func (l *loopback) send(lane transport.Lane, frame []byte) error {
	select {
	case <-l.closed:
		return transport.ErrClosed
	default:
	}
	select {
	case l.queue <- loopFrame{lane, slices.Clone(frame)}:
		return nil
	default:
		return transport.ErrFull
	}
}

// sendWait is send, except that it waits for room until ctx ends.
func (l *loopback) sendWait(ctx context.Context, lane transport.Lane, frame []byte) error {
	if err := l.send(lane, frame); !errors.Is(err, transport.ErrFull) {
		return err
	}
	select {
	case l.queue <- loopFrame{lane, slices.Clone(frame)}:
		return nil
	case <-l.closed:
		return transport.ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("%w: %d frames wait for the own node: %w", transport.ErrFull, loopbackQueue, ctx.Err())
	}
}

func (l *loopback) run() {
	defer close(l.done)
	for {
		select {
		case <-l.closed:
			return
		case f := <-l.queue:
			l.node.pulse.paused() // a look at the clock: see linkHandler.Batch
			l.node.receive(l.node.id, f.lane, f.frame)
		}
	}
}

func (l *loopback) close() {
	close(l.closed)
	<-l.done
}
