package shard

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// What travels on a type's port begins with one of these.
const (
	frameMessage   byte = iota + 1 // a user's message, in the shard's lane
	frameMarker                    // behind the last message of a region, in the shard's lane
	frameCarryDone                 // behind what the previous host carried over, in the shard's lane
	frameControl                   // between regions and coordinator, in the control lane
)

// ErrEnvelope: what arrived is not what this version sends.
const ErrEnvelope = actor.Error("shard: envelope not understood")

// An envelope is what travels in front of a message's name and payload. It has
// a fixed size up to the id, so that what is only known once the shard is locked
// (epoch, correlation) is filled in behind the encoding.
type envelope struct {
	kind        byte
	hops        uint8
	shard       int32
	epoch       protocol.Epoch
	correlation uint64        // of an ask; 0 for a tell
	remaining   time.Duration // until the asker gives up; 0 for never. The time left travels, not the instant: clocks differ.
	id          string        // of the entity; empty in markers
}

// Offsets of the fixed part; all integers are big endian.
const (
	atHops        = 1
	atShard       = 2
	atTerm        = 6
	atN           = 14
	atCorrelation = 22
	atRemaining   = 30 // in microseconds
	envelopeSize  = 38
)

func (e envelope) append(dst []byte) []byte {
	dst = append(dst, e.kind, e.hops)
	dst = binary.BigEndian.AppendUint32(dst, uint32(e.shard))
	dst = binary.BigEndian.AppendUint64(dst, e.epoch.Term)
	dst = binary.BigEndian.AppendUint64(dst, e.epoch.N)
	dst = binary.BigEndian.AppendUint64(dst, e.correlation)
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.remaining.Microseconds()))
	dst = binary.AppendUvarint(dst, uint64(len(e.id)))
	return append(dst, e.id...)
}

// address fills in what depends on the home: frame begins with an envelope.
func address(frame []byte, epoch protocol.Epoch, correlation uint64) {
	binary.BigEndian.PutUint64(frame[atTerm:], epoch.Term)
	binary.BigEndian.PutUint64(frame[atN:], epoch.N)
	binary.BigEndian.PutUint64(frame[atCorrelation:], correlation)
}

// openEnvelope splits a frame into its envelope and the message behind it, which
// shares the frame's memory.
func openEnvelope(frame []byte) (e envelope, message []byte, err error) {
	if len(frame) < envelopeSize {
		return envelope{}, nil, fmt.Errorf("%d bytes, at least %d expected: %w", len(frame), envelopeSize, ErrEnvelope)
	}
	e = envelope{
		kind: frame[0], hops: frame[atHops],
		shard:       int32(binary.BigEndian.Uint32(frame[atShard:])),
		epoch:       protocol.Epoch{Term: binary.BigEndian.Uint64(frame[atTerm:]), N: binary.BigEndian.Uint64(frame[atN:])},
		correlation: binary.BigEndian.Uint64(frame[atCorrelation:]),
	}
	micros := binary.BigEndian.Uint64(frame[atRemaining:])
	e.remaining = time.Duration(min(micros, uint64(maxRemaining/time.Microsecond))) * time.Microsecond
	n, used := binary.Uvarint(frame[envelopeSize:])
	rest := frame[envelopeSize:]
	if used <= 0 || n > uint64(len(rest)-used) {
		return envelope{}, nil, fmt.Errorf("length of the id is beyond the frame's end: %w", ErrEnvelope)
	}
	rest = rest[used:]
	e.id = string(rest[:n])
	return e, rest[n:], nil
}

// An ask that waits longer is as good as one that waits for ever.
const maxRemaining = 365 * 24 * time.Hour
