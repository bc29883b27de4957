package troupe

import (
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

func (l *loopback) run() {
	defer close(l.done)
	for {
		select {
		case <-l.closed:
			return
		case f := <-l.queue:
			l.node.receive(l.node.id, f.lane, f.frame)
		}
	}
}

func (l *loopback) close() {
	close(l.closed)
	<-l.done
}
