package troupe

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/wire"
)

// ErrNobody: no actor is served under that name at the node asked.
const ErrNobody = actor.Error("troupe: no actor is served under this name")

// Serve makes a local actor reachable from other nodes under a name; [Remote]
// refers to it there. The protocol decides which messages may come in. It lasts
// until the node ends; serving a name again replaces the ref.
func Serve[M any](n *Node, name string, ref actor.Ref[M], p *wire.Protocol[M]) error {
	if name == "" || len(name) > maxServedName {
		return fmt.Errorf("serve %q: a name has 1 to %d bytes", name, maxServedName)
	}
	n.served.set(name, func(payload []byte, r wire.Replier) error {
		m, err := p.Decode(payload, r)
		if err != nil {
			return err
		}
		return ref.Tell(context.Background(), m)
	})
	return nil
}

// Remote gives a ref to the actor that is served under a name at a node. Tell
// refuses messages without a wire name ([wire.ErrNotNamed]); nil from it means
// that the link took the message. TellWait waits for room in the link's lane
// ([transport.Config].Queue); nothing tells of a full mailbox over there. Messages
// to one name keep their order.
func Remote[M any](n *Node, at ID, name string, p *wire.Protocol[M]) actor.Ref[M] {
	return actor.NewRef[M](remote[M]{n, at, n.servedPort.Lane(nameHash(name)), p}, name)
}

const maxServedName = 255

// remote is the door of the actors that are served at one node, those whose
// names share a lane.
type remote[M any] struct {
	node     *Node
	at       ID
	lane     transport.Lane
	protocol *wire.Protocol[M]
}

func (d remote[M]) Describe(name string) string { return d.at.String() + "/" + name }

// Home makes the door a Host, so that asks reuse memory of the node's actor system.
func (d remote[M]) Home() actor.Home { return d.node.Home() }

func (d remote[M]) Deliver(_ context.Context, name string, m M) error {
	return d.deliver(name, m, d.node.servedPort.sendFrame)
}

// DeliverWait waits for room in the lane.
func (d remote[M]) DeliverWait(ctx context.Context, name string, m M) error {
	return d.deliver(name, m, func(to ID, lane transport.Lane, frame []byte) error {
		return d.node.servedPort.sendFrameWait(ctx, to, lane, frame)
	})
}

// deliver sends an envelope: name, correlation id (0 for a tell), message.
func (d remote[M]) deliver(name string, m M, send func(ID, transport.Lane, []byte) error) error {
	b := frames.Get().(*[]byte)
	defer putFrame(b)
	head := appendServedName(d.node.servedPort.header((*b)[:0]), name)
	frame, pending, err := d.protocol.Append(append(head, 0, 0, 0, 0, 0, 0, 0, 0), m)
	*b = frame
	if err != nil {
		return &notSent{d.at, name, err}
	}
	var correlation uint64
	if pending != nil {
		correlation = d.node.Expect(d.at, pending)
		binary.BigEndian.PutUint64(frame[len(head):], correlation)
	}
	if err := send(d.at, d.lane, frame); err != nil {
		if pending != nil {
			d.node.replies.take(correlation)
		}
		return &notSent{d.at, name, err}
	}
	return nil
}

// notSent says which tell was refused. It is formatted only when somebody reads
// it, because a full lane refuses often.
type notSent struct {
	at   ID
	name string
	err  error
}

func (e *notSent) Error() string { return fmt.Sprintf("tell %s/%s: %v", e.at, e.name, e.err) }

// Unwrap makes a full lane an [actor.ErrFull] too, as a full mailbox is.
func (e *notSent) Unwrap() []error {
	if errors.Is(e.err, transport.ErrFull) {
		return []error{actor.ErrFull, e.err}
	}
	return []error{e.err}
}

func nameHash(name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()
}

func appendServedName(dst []byte, name string) []byte {
	return append(append(dst, byte(len(name))), name...)
}

// A receiver decodes what came for one served actor and tells it.
type receiver func(payload []byte, r wire.Replier) error

// served is the table of actors that other nodes can reach by name: read on
// every message, written rarely. It is the handler of its port.
type served struct {
	node *Node
	mu   sync.Mutex // serialises writers
	by   atomic.Pointer[map[string]receiver]
}

func (s *served) set(name string, deliver receiver) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := map[string]receiver{}
	if t := s.by.Load(); t != nil {
		next = maps.Clone(*t)
	}
	next[name] = deliver
	s.by.Store(&next)
}

// find takes the name as it came: looking it up makes no string of it.
func (s *served) find(name []byte) (receiver, bool) {
	t := s.by.Load()
	if t == nil {
		return nil, false
	}
	deliver, ok := (*t)[string(name)]
	return deliver, ok
}

func (s *served) Receive(from ID, _ transport.Lane, payload []byte) {
	name, correlation, body, ok := splitEnvelope(payload)
	if !ok {
		s.node.counts.add(dropBadEnvelope)
		return
	}
	var r wire.Replier
	if correlation != 0 {
		r = s.node.Replier(from, correlation)
	}
	deliver, ok := s.find(name)
	if !ok {
		s.refuse(r, dropNobody, fmt.Errorf("%q at %s: %w", name, s.node.id, ErrNobody))
		return
	}
	if err := deliver(body, r); err != nil {
		s.refuse(r, dropRefused, err)
	}
}

// refuse counts a message that nobody handles, and tells its asker, if there is one.
func (s *served) refuse(r wire.Replier, why Drop, err error) {
	s.node.counts.add(why)
	if r != nil {
		_ = r.Fail(err) // the asker's own deadline covers a reply that cannot be sent
	}
}

func splitEnvelope(p []byte) (name []byte, correlation uint64, body []byte, ok bool) {
	if len(p) < 1 || len(p) < 1+int(p[0])+8 {
		return nil, 0, nil, false
	}
	name, p = p[1:1+int(p[0])], p[1+int(p[0]):]
	return name, binary.BigEndian.Uint64(p), p[8:], true
}
