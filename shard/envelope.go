package shard

import (
	"encoding/binary"
	"fmt"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// What travels on a type's port begins with one of these.
const (
	frameMessage   byte = iota + 1 // a user's message, in the shard's lane
	frameMarker                    // behind the last message of a region, in the shard's lane
	frameCarryDone                 // behind what the previous host carried over, in the shard's lane
	frameControl                   // between regions and coordinator, in the control lane
	frameRelayed                   // a user's message with an ask of another node than the sender
	frameRedirect                  // an ask of the receiver was passed on to another home
	frameConfirm                   // what an owner tells a sender of its messages, in the control lane
	frameQuestion                  // a sender asks what became of its messages, in the shard's lane
)

// The flags of a user's message. One without any is delivered at most once.
const (
	flagKept    byte = 1 << iota // its sender keeps it until it is confirmed
	flagCarried                  // its sender is another node: a previous owner carries it over
	flagRepeat                   // an owner before this one may have handled it
)

// ErrEnvelope: what arrived is not what this version sends.
const ErrEnvelope = actor.Error("shard: envelope not understood")

// An envelope is what travels in front of a message's name and payload. It has
// a fixed size up to the id, so that what is only known once the shard is locked
// (epoch, correlation) is filled in behind the encoding.
type envelope struct {
	kind        byte
	hops        uint8
	flags       byte
	shard       int32
	epoch       protocol.Epoch
	correlation uint64        // of an ask; 0 for a tell
	remaining   time.Duration // until the asker gives up; 0 for never. The time left travels, not the instant: clocks differ.
	number      uint64        // of a message that is kept; this and after do not travel otherwise
	after       uint64        // the one in front of it that its sender keeps; 0 for none
	id          string        // of the entity; empty in markers
	node        troupe.ID     // who asked, if relayed; the other home, of a redirect; does not travel otherwise
	sender      troupe.ID     // who keeps the message, if it is carried; does not travel otherwise
}

// named tells whether the envelope has a node in it.
func (e envelope) named() bool { return e.kind == frameRelayed || e.kind == frameRedirect }

// Offsets of the fixed part; all integers are big endian.
const (
	atHops        = 1
	atFlags       = 2
	atShard       = 3
	atTerm        = 7
	atN           = 15
	atCorrelation = 23
	atRemaining   = 31 // in microseconds
	envelopeSize  = 39
	atNumber      = envelopeSize // if it is kept
	atAfter       = atNumber + 8
	keptSize      = 16
)

// asker is the node that gets the answer, if the message came from there or was
// passed on by another.
func (e envelope) asker(from troupe.ID) troupe.ID {
	if e.kind == frameRelayed {
		return e.node
	}
	return from
}

func (e envelope) append(dst []byte) []byte {
	dst = append(dst, e.kind, e.hops, e.flags)
	dst = binary.BigEndian.AppendUint32(dst, uint32(e.shard))
	dst = binary.BigEndian.AppendUint64(dst, e.epoch.Term)
	dst = binary.BigEndian.AppendUint64(dst, e.epoch.N)
	dst = binary.BigEndian.AppendUint64(dst, e.correlation)
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.remaining.Microseconds()))
	if e.flags&flagKept != 0 {
		dst = binary.BigEndian.AppendUint64(dst, e.number)
		dst = binary.BigEndian.AppendUint64(dst, e.after)
	}
	dst = binary.AppendUvarint(dst, uint64(len(e.id)))
	dst = append(dst, e.id...)
	if e.named() {
		dst = appendNode(dst, e.node)
	}
	if e.flags&flagCarried != 0 {
		dst = appendNode(dst, e.sender)
	}
	return dst
}

func appendNode(dst []byte, n troupe.ID) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(n.Host)))
	dst = append(dst, n.Host...)
	dst = binary.BigEndian.AppendUint16(dst, uint16(n.Port))
	return binary.BigEndian.AppendUint64(dst, uint64(n.UID))
}

// address fills in what depends on the home: frame begins with an envelope.
func address(frame []byte, epoch protocol.Epoch, correlation uint64) {
	binary.BigEndian.PutUint64(frame[atTerm:], epoch.Term)
	binary.BigEndian.PutUint64(frame[atN:], epoch.N)
	binary.BigEndian.PutUint64(frame[atCorrelation:], correlation)
}

// number fills in the same of a message that is kept.
func number(frame []byte, n, after uint64) {
	binary.BigEndian.PutUint64(frame[atNumber:], n)
	binary.BigEndian.PutUint64(frame[atAfter:], after)
}

// openEnvelope splits a frame into its envelope and the message behind it, which
// shares the frame's memory.
func openEnvelope(frame []byte) (e envelope, message []byte, err error) {
	if len(frame) < envelopeSize {
		return envelope{}, nil, fmt.Errorf("%d bytes, at least %d expected: %w", len(frame), envelopeSize, ErrEnvelope)
	}
	e = envelope{
		kind: frame[0], hops: frame[atHops], flags: frame[atFlags],
		shard:       int32(binary.BigEndian.Uint32(frame[atShard:])),
		epoch:       protocol.Epoch{Term: binary.BigEndian.Uint64(frame[atTerm:]), N: binary.BigEndian.Uint64(frame[atN:])},
		correlation: binary.BigEndian.Uint64(frame[atCorrelation:]),
	}
	micros := binary.BigEndian.Uint64(frame[atRemaining:])
	e.remaining = time.Duration(min(micros, uint64(maxRemaining/time.Microsecond))) * time.Microsecond
	rest := frame[envelopeSize:]
	if e.flags&flagKept != 0 {
		if len(rest) < keptSize {
			return envelope{}, nil, fmt.Errorf("its number is cut short: %w", ErrEnvelope)
		}
		e.number, e.after = binary.BigEndian.Uint64(frame[atNumber:]), binary.BigEndian.Uint64(frame[atAfter:])
		rest = rest[keptSize:]
	}
	ok := e.possible()
	if ok {
		e.id, rest, ok = cut(rest)
	}
	if ok && e.named() {
		e.node, rest, ok = cutNode(rest)
	}
	if ok && e.flags&flagCarried != 0 {
		e.sender, rest, ok = cutNode(rest)
	}
	if !ok {
		return envelope{}, nil, fmt.Errorf("cut short, or what no node sends: %w", ErrEnvelope)
	}
	return e, rest, nil
}

// possible tells whether the flags and numbers go together.
func (e envelope) possible() bool {
	if e.flags&flagKept == 0 {
		return e.flags == 0
	}
	return e.number > e.after && (e.flags&flagCarried == 0 || e.after == 0)
}

func cutNode(b []byte) (id troupe.ID, rest []byte, ok bool) {
	host, rest, ok := cut(b)
	if !ok || len(rest) < 10 {
		return troupe.ID{}, nil, false
	}
	return troupe.ID{
		Address: member.Address{Host: host, Port: int(binary.BigEndian.Uint16(rest))},
		UID:     int64(binary.BigEndian.Uint64(rest[2:])),
	}, rest[10:], true
}

// cut takes a text with its length off the front of b.
func cut(b []byte) (text string, rest []byte, ok bool) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return "", nil, false
	}
	return string(b[used:][:n]), b[used:][n:], true
}

// An ask that waits longer is as good as one that waits for ever.
const maxRemaining = 365 * 24 * time.Hour
