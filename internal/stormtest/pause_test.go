package stormtest

import (
	"context"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/transport"
)

// A gate is the transport of one node, which can be shut for a while: the node's
// own loop then stands still with the next thing that it says, and so does all
// that comes in. That is a paused process as far as one can be paused by itself in
// a process that goes on; its actors do go on, so the node has to notice that
// its loop does not.
type gate struct {
	transport.Transport

	mu   sync.Mutex
	shut chan struct{} // closed when it opens; nil while it is open
}

// stop shuts the gate for so long; one that is shut stays so for what it had.
func (g *gate) stop(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		return
	}
	shut := make(chan struct{})
	g.shut = shut
	time.AfterFunc(d, func() { g.open(shut) })
}

func (g *gate) open(shut chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == shut && shut != nil {
		close(shut)
		g.shut = nil
	}
}

// closed is to be waited for; nil while the gate is open.
func (g *gate) closed() chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

func (g *gate) pass() {
	for shut := g.closed(); shut != nil; shut = g.closed() {
		<-shut
	}
}

func (g *gate) Listen(ctx context.Context, cfg transport.Config, h transport.Handler) (transport.Endpoint, error) {
	e, err := g.Transport.Listen(ctx, cfg, inward{h.(transport.BatchHandler), g})
	return outward{e, g}, err
}

// inward is what the node hears.
type inward struct {
	transport.BatchHandler
	gate *gate
}

func (i inward) Batch(from member.ID, lane transport.Lane) {
	i.gate.pass()
	i.BatchHandler.Batch(from, lane)
}

func (i inward) Receive(from member.ID, lane transport.Lane, payload []byte) {
	i.gate.pass()
	i.BatchHandler.Receive(from, lane, payload)
}

func (i inward) LinkUp(peer member.ID) {
	i.gate.pass()
	i.BatchHandler.LinkUp(peer)
}

func (i inward) LinkDown(peer member.ID, err error) {
	i.gate.pass()
	i.BatchHandler.LinkDown(peer, err)
}

// outward is what the node says. What an actor or a user says is refused, as who
// asks has to be answered in time.
type outward struct {
	transport.Endpoint
	gate *gate
}

func (o outward) Send(to member.ID, lane transport.Lane, payload []byte) error {
	if lane.Base() == transport.Control {
		o.gate.pass()
	} else if o.gate.closed() != nil {
		return &transport.FullError{Peer: to, Lane: lane, Setting: "none: the node is paused"}
	}
	return o.Endpoint.Send(to, lane, payload)
}

func (o outward) Probe(ctx context.Context, id member.ID) error {
	o.gate.pass()
	return o.Endpoint.Probe(ctx, id)
}
