package troupe

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/wire"
)

// ErrPeerRemoved ends an ask whose recipient's node was removed from the
// cluster before it answered: whether the request was handled is unknown.
const ErrPeerRemoved = actor.Error("troupe: the node asked was removed from the cluster")

// errEnded ends the asks that wait when their own node ends.
const errEnded = actor.Error("troupe: this node has ended")

// replies holds the asks of this node that wait for an answer from another
// one, by correlation id. It is split so that askers rarely meet on a lock.
type replies struct {
	parts [replyParts]replyPart
}

const replyParts = 64 // a power of two

type replyPart struct {
	mu      sync.Mutex
	next    uint64
	waiting map[uint64]waiting
}

type waiting struct {
	to      ID
	pending wire.Pending
}

// add keeps pending until it ends, is taken, or its peer is dropped. The part
// is chosen by the caller's hint: the low bits of an id name its part.
func (r *replies) add(to ID, pending wire.Pending) uint64 {
	part := uint64(to.UID) ^ uint64(to.Port)
	part ^= part >> 32
	i := part % replyParts
	p := &r.parts[i]
	p.mu.Lock()
	if p.waiting == nil {
		p.waiting = map[uint64]waiting{}
	}
	p.next++
	id := p.next*replyParts + i
	p.waiting[id] = waiting{to, pending}
	p.mu.Unlock()
	pending.OnEnd(func() { r.take(id) })
	return id
}

func (r *replies) take(id uint64) (waiting, bool) {
	p := &r.parts[id%replyParts]
	p.mu.Lock()
	defer p.mu.Unlock()
	w, ok := p.waiting[id]
	delete(p.waiting, id)
	return w, ok
}

// reject ends all that wait for one of the nodes that gone names.
func (r *replies) reject(gone func(ID) bool, err error) {
	for i := range r.parts {
		p := &r.parts[i]
		var ended []waiting
		p.mu.Lock()
		for id, w := range p.waiting {
			if gone(w.to) {
				ended = append(ended, w)
				delete(p.waiting, id)
			}
		}
		p.mu.Unlock()
		for _, w := range ended {
			w.pending.Reject(fmt.Errorf("ask at %s: %w", w.to, err))
		}
	}
}

// Expect keeps a pending ask until it ends, is answered by the node it was sent
// to, or that node is removed ([ErrPeerRemoved]). The id goes into the request.
func (n *Node) Expect(to ID, pending wire.Pending) (correlation uint64) {
	return n.replies.add(to, pending)
}

// Replier answers the request that carried the correlation id, at its asker.
func (n *Node) Replier(asker ID, correlation uint64) wire.Replier {
	return replier{n, asker, correlation}
}

type replier struct {
	node        *Node
	asker       ID
	correlation uint64
}

// Replies are sent as: kind, correlation id, payload.
const (
	replyValue byte = iota + 1
	replyError
)

func (r replier) Reply(payload []byte) error { return r.send(replyValue, payload) }

func (r replier) Fail(err error) error { return r.send(replyError, wire.AppendError(nil, err)) }

func (r replier) send(kind byte, payload []byte) error {
	b := frames.Get().(*[]byte)
	defer putFrame(b)
	*b = binary.BigEndian.AppendUint64(append((*b)[:0], kind), r.correlation)
	*b = append(*b, payload...)
	port := r.node.replyPort
	return port.Send(r.asker, port.Lane(uint32(r.correlation)), *b)
}

// replyReceiver is the handler of the reply port.
type replyReceiver struct{ node *Node }

func (h replyReceiver) Receive(from member.ID, _ transport.Lane, payload []byte) {
	if len(payload) < 9 {
		h.node.counts.add(dropBadReply)
		return
	}
	w, ok := h.node.replies.take(binary.BigEndian.Uint64(payload[1:]))
	if !ok {
		h.node.counts.add(dropLateReply)
		return
	}
	if w.to != from {
		h.node.counts.add(dropBadReply)
		w.pending.Reject(fmt.Errorf("ask at %s: answered by %s: %w", w.to, from, ErrPeerRemoved))
		return
	}
	switch body := payload[9:]; payload[0] {
	case replyValue:
		w.pending.Resolve(body)
	case replyError:
		w.pending.Reject(wire.DecodeError(body))
	default:
		h.node.counts.add(dropBadReply)
		w.pending.Reject(fmt.Errorf("ask at %s: reply of unknown kind %d: %w", w.to, payload[0], wire.ErrUnknownName))
	}
}
