package shard

import (
	"fmt"
	"log/slog"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard/internal/region"
	"github.com/troupe-go/troupe/shard/internal/window"
	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/wire"
)

// How many nodes may pass a message on before it is given up.
const maxHops = 3

// Receive takes what other nodes send to the type's port, on the link's
// goroutine: messages go straight to their shard, the rest to the control loop.
// When the loop is busy a marker waits, which slows that lane of that peer; the
// control lane never waits.
func (r *shell[M]) Receive(from troupe.ID, _ transport.Lane, frame []byte) {
	<-r.ready
	if len(frame) > 0 && frame[0] == frameControl {
		r.control.receive(from, frame[1:])
		return
	}
	if len(frame) > 0 && frame[0] == frameConfirm {
		r.receiveConfirmations(from, frame[1:])
		return
	}
	e, message, err := openEnvelope(frame)
	if err != nil {
		r.discard(from, DropEnvelope, err)
		return
	}
	s, ok := r.slotNumbered(int(e.shard))
	switch {
	case !ok:
		r.reject(from, e, DropDisagree, fmt.Errorf("shard %d of %d: %w", e.shard, r.typ.Shards, ErrDisagree))
	case e.kind == frameMessage, e.kind == frameRelayed:
		r.receiveMessage(from, s, e, message)
	case e.kind == frameRedirect:
		r.node.Redirect(e.correlation, e.node)
	case e.kind == frameMarker:
		r.control.mark(region.Marked{From: from, Shard: s.shard, Epoch: e.epoch})
	case e.kind == frameQuestion:
		r.receiveQuestion(from, s, e, message)
	case e.kind == frameCarryDone:
		r.receiveHeirs(from, s, e, message)
		r.control.mark(region.CarryDone{From: from, Shard: s.shard, Epoch: e.epoch})
	default:
		r.discard(from, DropEnvelope, fmt.Errorf("frame of kind %d: %w", e.kind, ErrEnvelope))
	}
}

// NoPort hears that a node has not joined the type.
func (r *shell[M]) NoPort(from troupe.ID) { r.control.take(word{from: from}) }

func (r *shell[M]) receiveMessage(from troupe.ID, s *slot[M], e envelope, message []byte) {
	p := parcel[M]{id: e.id, hops: e.hops}
	if e.remaining > 0 {
		p.deadline = time.Now().Add(e.remaining)
	}
	var reply wire.Replier
	if e.correlation != 0 {
		p.ask = &asked{origin: origin{e.asker(from), e.correlation}, node: r.node, until: p.deadline, kept: e.flags&flagKept != 0}
		p.origin, reply = &p.ask.origin, p.ask
	}
	if r.loads != nil {
		s.meter.bytes.Add(uint64(len(message)))
	}
	reason := DropMessage
	var err error
	if e.flags&flagCarried != 0 && e.sender == (troupe.ID{}) {
		err = ErrEnvelope
	} else if err = s.belongs(e.id); err != nil {
		reason = DropDisagree
	} else {
		p.m, err = r.typ.Protocol.Decode(message, reply)
	}
	if err != nil {
		r.reject(from, e, reason, err)
		return
	}
	if e.flags&flagKept != 0 {
		s.arriveKept(from, e, p)
	} else {
		s.arrive(from, e, p)
	}
}

func (r *shell[M]) receiveConfirmations(from troupe.ID, body []byte) {
	all, err := window.DecodeConfirmations(body)
	if err != nil {
		r.discard(from, DropControl, err)
		return
	}
	r.confirmed(from, all)
}

func (r *shell[M]) receiveQuestion(from troupe.ID, s *slot[M], e envelope, body []byte) {
	q, err := window.DecodeQuestion(body)
	if err != nil {
		r.discard(from, DropEnvelope, err)
		return
	}
	s.asked(from, e.epoch, q)
}

func (r *shell[M]) receiveHeirs(from troupe.ID, s *slot[M], e envelope, body []byte) {
	heirs, err := window.DecodeHeirs(body)
	if err != nil { // the senders send again what they keep
		r.discard(from, DropEnvelope, err)
	}
	s.succeedTo(e.epoch, heirs)
}

// reject discards a message, and tells its asker if it has one.
func (r *shell[M]) reject(from troupe.ID, e envelope, why Drop, err error) {
	r.discard(from, why, err)
	if (e.kind == frameMessage || e.kind == frameRelayed) && e.correlation != 0 {
		_ = r.node.Replier(e.asker(from), e.correlation).Fail(actor.Fated(err, actor.NotHandled)) // the asker's own deadline covers a reply that cannot be sent
	}
}

func (r *shell[M]) discard(from troupe.ID, why Drop, err error) {
	r.counts.add(why)
	r.complain.warn("received message dropped", string(why), slog.Any("from", from), slog.Any("error", err))
}

// arrive takes a message from another node.
func (s *slot[M]) arrive(from troupe.ID, e envelope, p parcel[M]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.here; h != nil && !h.ending && h.epoch == e.epoch {
		switch {
		case h.await.IsZero() || h.await == from:
			h.accept(p)
		case s.r.room.take():
			h.held.push(p)
		default:
			s.r.drop(p, DropFull, s.r.full(p.id))
		}
		return
	}
	s.r.control.note(region.StaleRoute{From: from, Shard: s.shard, Epoch: e.epoch})
	if p.hops++; p.hops > maxHops {
		s.r.drop(p, DropHops, ErrHops)
		return
	}
	s.forward(p)
}
