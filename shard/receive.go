package shard

import (
	"fmt"
	"log/slog"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/shard/internal/region"
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
	case e.kind == frameCarryDone:
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
		ask := &asked{origin{e.asker(from), e.correlation}, r.node, p.deadline}
		p.origin, reply = &ask.origin, ask
	}
	reason := DropMessage
	var err error
	if number := r.typ.ShardOf(e.id, r.typ.Shards); e.id == "" || number != s.number {
		reason, err = DropDisagree, fmt.Errorf("entity %q in shard %d, which is %d here: %w", e.id, s.number, number, ErrDisagree)
	} else {
		p.m, err = r.typ.Protocol.Decode(message, reply)
	}
	if err != nil {
		r.reject(from, e, reason, err)
		return
	}
	s.arrive(from, e, p)
}

// reject discards a message, and tells its asker if it has one.
func (r *shell[M]) reject(from troupe.ID, e envelope, why Drop, err error) {
	r.discard(from, why, err)
	if (e.kind == frameMessage || e.kind == frameRelayed) && e.correlation != 0 {
		_ = r.node.Replier(e.asker(from), e.correlation).Fail(err) // the asker's own deadline covers a reply that cannot be sent
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
