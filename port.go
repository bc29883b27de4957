package troupe

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/transport"
)

// A PortHandler receives what other nodes send to a port.
//
// Receive is called on the link's reader: the payload is valid only during the
// call, calls for one lane of one peer come in order and one at a time, and a
// slow call slows that lane of that peer. A handler with a NoPort method is
// told when a peer answered that it has not opened the port, or has retired it.
type PortHandler interface {
	Receive(from ID, lane transport.Lane, payload []byte)
}

type noPortHandler interface{ NoPort(from ID) }

// A Port is one end of a named door between the nodes of a cluster, for a
// component's own messages: the same name on all nodes belongs together.
type Port struct {
	node    *Node
	name    string
	number  uint32
	handler PortHandler
	always  bool // open while the node is paused
}

// ErrPortTaken: the port's name (or one with the same number) is in use on this node.
const ErrPortTaken = actor.Error("troupe: port taken")

// Each frame on a link starts with the number of the port it is for.
const portHeader = 4

// The number of the port on which nodes tell each other that a port is not open.
const noPort uint32 = 0

func portNumber(name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return max(h.Sum32(), noPort+1)
}

// ports is the table of open ports: read on every frame, written rarely.
type ports struct {
	mu    sync.Mutex // serialises writers
	table atomic.Pointer[map[uint32]*Port]
}

func (ps *ports) find(number uint32) (*Port, bool) {
	t := ps.table.Load()
	if t == nil {
		return nil, false
	}
	p, ok := (*t)[number]
	return p, ok
}

func (ps *ports) update(change func(map[uint32]*Port) error) error {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	next := map[uint32]*Port{}
	if t := ps.table.Load(); t != nil {
		next = maps.Clone(*t)
	}
	if err := change(next); err != nil {
		return err
	}
	ps.table.Store(&next)
	return nil
}

// Open opens a port of this node. Until it is open, peers that send to it are
// told so. errors.Is(err, ErrPortTaken) when the name is in use here.
func (n *Node) Open(name string, h PortHandler) (*Port, error) {
	p := &Port{node: n, name: name, number: portNumber(name), handler: h}
	err := n.ports.update(func(table map[uint32]*Port) error {
		if other, taken := table[p.number]; taken {
			return fmt.Errorf("open port %q: number %d is the open port %q: %w", name, p.number, other.name, ErrPortTaken)
		}
		table[p.number] = p
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Close closes the port: peers that send to it are told so again.
func (p *Port) Close() {
	_ = p.node.ports.update(func(table map[uint32]*Port) error {
		if table[p.number] == p {
			delete(table, p.number)
		}
		return nil
	})
}

// Retire tells the other members that this node sends nothing more by the port, as if
// it had never opened it: who has to wait for a last word need not wait until the
// node is removed. It is for a component that has ended; the port stays open.
func (p *Port) Retire() {
	for _, m := range p.node.View().Members {
		p.node.answerNoPort(m.ID, p.number)
	}
}

// Lane picks the ordinary lane for a hash, and a stream of it: what shares a hash
// keeps its order to one peer, and waits behind no large message of another.
func (p *Port) Lane(hash uint32) transport.Lane {
	return (transport.User + transport.Lane(hash%uint32(p.node.lanes))).Stream(hash)
}

// Send queues payload for the port of the same name at one incarnation. It
// copies the payload and does not block. nil promises no more than the
// hand-over to the link (to the own node: to its loopback); an error means
// that nothing was sent: [transport.ErrFull], [transport.ErrTooLarge] and
// others of the transport.
func (p *Port) Send(to ID, lane transport.Lane, payload []byte) error {
	b := frames.Get().(*[]byte)
	defer putFrame(b)
	*b = append(p.header((*b)[:0]), payload...)
	return p.sendFrame(to, lane, *b)
}

// header begins a frame for the port.
func (p *Port) header(dst []byte) []byte { return binary.BigEndian.AppendUint32(dst, p.number) }

// sendFrame is Send of a payload that stands behind the header.
func (p *Port) sendFrame(to ID, lane transport.Lane, frame []byte) error {
	if to == p.node.id {
		return p.node.loopback.send(lane.Base(), frame)
	}
	return p.node.endpoint.Send(to, p.stream(lane), frame)
}

// sendFrameWait is sendFrame, except that it waits for room until ctx ends.
func (p *Port) sendFrameWait(ctx context.Context, to ID, lane transport.Lane, frame []byte) error {
	if to == p.node.id {
		return p.node.loopback.sendWait(ctx, lane.Base(), frame)
	}
	return p.node.endpoint.SendWait(ctx, to, p.stream(lane), frame)
}

// stream gives the port a stream of its own in the control lane, so that the large
// message of one component holds up no heartbeat of another.
func (p *Port) stream(lane transport.Lane) transport.Lane {
	if lane == transport.Control {
		return lane.Stream(p.number)
	}
	return lane
}

// sendControl is Send on the control lane; a zero UID means whoever is at the
// address.
func (p *Port) sendControl(to ID, payload []byte) error {
	if to.UID != 0 {
		return p.Send(to, transport.Control, payload)
	}
	frame := append(p.header(nil), payload...)
	if to.Address == p.node.id.Address {
		return p.node.loopback.send(transport.Control, frame)
	}
	return p.node.endpoint.SendAddress(to.Address, frame)
}

// frames holds buffers in which frames are put together before the link copies them.
var frames = sync.Pool{New: func() any { return new([]byte) }}

// Larger buffers are left to the collector, so that one big message does not stay in memory.
const pooledFrame = 64 << 10

func putFrame(b *[]byte) {
	if cap(*b) <= pooledFrame {
		frames.Put(b)
	}
}

// receive is where all frames of all links arrive. Whether the node may act was
// looked at when they were read: reading the clock for each frame would
// cost as much as its delivery.
func (n *Node) receive(from ID, lane transport.Lane, frame []byte) {
	if len(frame) < portHeader {
		n.counts.add(dropShortFrame)
		return
	}
	number, payload := binary.BigEndian.Uint32(frame), frame[portHeader:]
	if number == noPort {
		n.receiveNoPort(from, payload)
		return
	}
	p, ok := n.ports.find(number)
	if !ok {
		n.counts.add(dropNoPort)
		n.answerNoPort(from, number)
		return
	}
	if n.pulse.holds() && !p.always && !n.mayReceive(lane) {
		n.counts.add(dropPaused)
		return
	}
	p.handler.Receive(from, lane, payload)
}

// mayReceive holds a lane while the node is paused; false when it is too late.
// The control lane cannot wait, since what ends the pause comes by it: components
// repeat there what needs an answer.
func (n *Node) mayReceive(lane transport.Lane) bool {
	if lane == transport.Control {
		return !n.pulse.paused()
	}
	return n.pulse.wait(n.ending)
}

func (n *Node) answerNoPort(to ID, number uint32) {
	if to == n.id {
		return // a closing component; nobody waits for the answer
	}
	frame := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, noPort), number)
	if err := n.endpoint.Send(to, transport.Control, frame); err != nil {
		n.log.Debug("answer to a closed port was not sent", slog.Any("to", to), slog.Any("error", err))
	}
}

func (n *Node) receiveNoPort(from ID, payload []byte) {
	if len(payload) != portHeader {
		n.counts.add(dropShortFrame)
		return
	}
	if p, ok := n.ports.find(binary.BigEndian.Uint32(payload)); ok {
		if h, ok := p.handler.(noPortHandler); ok {
			h.NoPort(from)
		}
	}
}
