package troupe

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/wire"
)

// ErrPeerRemoved ends an ask whose recipient's node was removed from the
// cluster before it answered: whether the request was handled is unknown.
const ErrPeerRemoved = actor.Error("troupe: the node asked was removed from the cluster")

// errEnded ends the asks that wait when their own node ends.
const errEnded = actor.Error("troupe: this node has ended")

// errReplyLost is told to an asker whose answer could not be sent.
const errReplyLost = actor.Error("troupe: the answer could not be sent")

// replies holds the asks of this node that wait for an answer from another
// one, by correlation id. Ids go round the parts, so that askers rarely meet on
// a lock.
type replies struct {
	next  atomic.Uint64
	parts [replyParts]replyPart
}

const replyParts = 64 // a power of two

type replyPart struct {
	mu      sync.Mutex
	waiting map[uint64]waiting
}

type waiting struct {
	to      ID
	pending wire.Pending
}

func (r *replies) part(id uint64) *replyPart { return &r.parts[id%replyParts] }

// add keeps pending until it ends, is taken, or is rejected.
func (r *replies) add(to ID, pending wire.Pending) uint64 {
	id := r.next.Add(1)
	p := r.part(id)
	p.mu.Lock()
	if p.waiting == nil {
		p.waiting = map[uint64]waiting{}
	}
	p.waiting[id] = waiting{to, pending}
	p.mu.Unlock()
	pending.OnEnd(func() { r.take(id) })
	return id
}

func (r *replies) take(id uint64) (waiting, bool) {
	p := r.part(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	w, ok := p.waiting[id]
	delete(p.waiting, id)
	return w, ok
}

// redirect notes that another node has the request now. One that nobody in
// particular has stays so: its sender sees to it that it is answered.
func (r *replies) redirect(id uint64, to ID) (done bool) {
	p := r.part(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	w, ok := p.waiting[id]
	if !ok || w.to == (ID{}) {
		return false
	}
	p.waiting[id] = waiting{to, w.pending}
	return true
}

func (r *replies) has(id uint64) bool {
	p := r.part(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.waiting[id]
	return ok
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

// Expect keeps a pending ask until it ends, is answered, or the node it was sent
// to is removed ([ErrPeerRemoved]). The id goes into the request. The zero ID is
// that of nobody in particular: such an ask ends with no node's removal, and who sends the
// request sees to it that one answers.
func (n *Node) Expect(to ID, pending wire.Pending) (correlation uint64) {
	id := n.replies.add(to, pending)
	// What ended before the ask was in the table did not end it.
	switch {
	case n.isEnding():
		n.rejectOne(id, errEnded)
	case n.removed.has(to):
		n.rejectOne(id, ErrPeerRemoved)
	}
	return id
}

// Awaits tells whether the ask with that id has neither ended nor been answered.
func (n *Node) Awaits(correlation uint64) bool { return n.replies.has(correlation) }

func (n *Node) rejectOne(id uint64, err error) {
	if w, ok := n.replies.take(id); ok {
		w.pending.Reject(fmt.Errorf("ask at %s: %w", w.to, err))
	}
}

// Redirect tells that the request with that id was sent to another node than
// [Node.Expect] was told: the removal of the former one does not end it any more.
func (n *Node) Redirect(correlation uint64, to ID) {
	if n.replies.redirect(correlation, to) && n.removed.has(to) {
		n.rejectOne(correlation, ErrPeerRemoved)
	}
}

// Replier answers the request that carried the correlation id, at its asker.
// It has a method Origin that gives both again, for who passes the request on.
func (n *Node) Replier(asker ID, correlation uint64) wire.Replier {
	return replier{n, asker, correlation}
}

type replier struct {
	node        *Node
	asker       ID
	correlation uint64
}

// Origin is who asked, and under which correlation id.
func (r replier) Origin() (asker ID, correlation uint64) { return r.asker, r.correlation }

// Replies are sent as: kind, correlation id, payload.
const (
	replyValue byte = iota + 1
	replyError
)

// repliesInLane is how many asks in a row have their answers in one lane. All
// lanes are used, and answers that are given together are written together:
// spread over the lanes each would cost a write and a read of its own.
const repliesInLane = 256

// Reply sends the answer. An answer that the link does not take is no failure of
// who gave it: the asker is told if it can be, and the drop is counted.
func (r replier) Reply(payload []byte) error {
	if err := r.send(replyValue, payload); err != nil {
		r.node.counts.add(dropReply)
		return r.Fail(fmt.Errorf("%w: %w", errReplyLost, err))
	}
	return nil
}

func (r replier) Fail(err error) error {
	if err := r.send(replyError, wire.AppendError(nil, err)); err != nil {
		r.node.counts.add(dropReply)
	}
	return nil
}

func (r replier) send(kind byte, payload []byte) error {
	b := frames.Get().(*[]byte)
	defer putFrame(b)
	port := r.node.replyPort
	*b = binary.BigEndian.AppendUint64(append(port.header((*b)[:0]), kind), r.correlation)
	*b = append(*b, payload...)
	return port.sendFrame(r.asker, port.Lane(uint32(r.correlation/repliesInLane)), *b)
}

// replyReceiver is the handler of the reply port.
type replyReceiver struct{ node *Node }

func (h replyReceiver) Receive(_ ID, _ transport.Lane, payload []byte) {
	if len(payload) < 9 {
		h.node.counts.add(dropBadReply)
		return
	}
	w, ok := h.node.replies.take(binary.BigEndian.Uint64(payload[1:]))
	if !ok {
		h.node.counts.add(dropLateReply)
		return
	}
	switch body := payload[9:]; payload[0] {
	case replyValue:
		w.pending.Resolve(body)
	case replyError:
		w.pending.Fail(wire.DecodeError(body))
	default:
		h.node.counts.add(dropBadReply)
		w.pending.Reject(fmt.Errorf("ask at %s: reply of unknown kind %d: %w", w.to, payload[0], wire.ErrUnknownName))
	}
}
