package singleton

import (
	"encoding/binary"
	"fmt"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/singleton/internal/owner"
	"github.com/troupe-go/troupe/wire"
)

// The kinds of frames between nodes; the first byte of each.
const (
	frameControl  byte = iota + 1 // a message of the cores, in the control lane
	frameMessage                  // for the instance, from a node that sends to it
	frameRelayed                  // the same for an ask that another node has made: it is named
	frameReturned                 // a message that came to a node without the instance
	frameRedirect                 // an ask of the receiver was passed on to the node named
	frameMark                     // nothing more comes in this term
)

// A parcel is an encoded message on its way. It is an ask if it has a correlation.
type parcel struct {
	body        []byte // wire name and payload
	correlation uint64
	asker       troupe.ID // who made the ask, if it is another node
	deadline    time.Time // when the asker gives up; zero for never
	since       time.Time // when it began to wait here
}

// Frames of parcels are: kind, correlation, microseconds until the asker gives up (0 for never),
// the asker unless it is the sender of a frameMessage, body.
const parcelHead = 1 + 8 + 8

// head begins the frame of a parcel. The time left travels, not the instant: clocks differ.
func (p *parcel) head(dst []byte, kind byte, now time.Time) []byte {
	var left int64
	if !p.deadline.IsZero() {
		left = max(1, p.deadline.Sub(now).Microseconds())
	}
	dst = binary.BigEndian.AppendUint64(append(dst, kind), p.correlation)
	dst = binary.BigEndian.AppendUint64(dst, uint64(left))
	if kind != frameMessage {
		dst = owner.AppendNode(dst, p.asker)
	}
	return dst
}

// openParcel reads a frame; the body shares its memory.
func openParcel(from troupe.ID, frame []byte, now time.Time) (parcel, error) {
	if len(frame) < parcelHead {
		return parcel{}, fmt.Errorf("%d bytes, at least %d expected: %w", len(frame), parcelHead, ErrFrame)
	}
	p := parcel{correlation: binary.BigEndian.Uint64(frame[1:]), asker: from, body: frame[parcelHead:]}
	const longest = uint64(365 * 24 * time.Hour / time.Microsecond) // as good as for ever
	if left := binary.BigEndian.Uint64(frame[9:]); left > 0 {
		p.deadline = now.Add(time.Duration(min(left, longest)) * time.Microsecond)
	}
	if frame[0] != frameMessage {
		var ok bool
		if p.asker, p.body, ok = owner.CutNode(p.body); !ok {
			return parcel{}, fmt.Errorf("the asker is cut short: %w", ErrFrame)
		}
	}
	return p, nil
}

// expired tells whether nobody waits for the answer any more.
func (p *parcel) expired(now time.Time) bool { return !p.deadline.IsZero() && !now.Before(p.deadline) }

// asked is the [wire.Replier] of an ask that came in a parcel. It knows what must
// go on with the ask when that is passed on.
type asked struct {
	wire.Replier
	asker       troupe.ID
	correlation uint64
	until       time.Time // zero if the asker waits without limit
}

// Deadline is when the asker gives up.
func (a asked) Deadline() (time.Time, bool) { return a.until, !a.until.IsZero() }

// Origin is who asked, and under which correlation id.
func (a asked) Origin() (asker troupe.ID, correlation uint64) { return a.asker, a.correlation }

// origin is the ask of another node that a request came from, if it did.
func origin(p wire.Pending) (asker troupe.ID, correlation uint64, ok bool) {
	from, ok := p.Replier().(interface{ Origin() (troupe.ID, uint64) })
	if !ok {
		return troupe.ID{}, 0, false
	}
	asker, correlation = from.Origin()
	return asker, correlation, true
}
