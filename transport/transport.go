package transport

import (
	"context"
	"strconv"

	"github.com/troupe-go/troupe/internal/member"
)

// Lane separates traffic that must not wait for other traffic, and names a stream
// of it ([Lane.Stream]); a plain lane is its stream zero. Order holds within one
// lane to one peer, not between lanes.
type Lane uint32

const (
	// Control is for membership, heartbeats and coordination: never behind
	// user messages.
	Control Lane = iota
	// User is the first of the ordinary lanes, User to User+Config.Lanes-1.
	User
)

const laneBits = 8 // of a Lane; the rest is the stream

// Stream names one of the 2^24 streams of the lane, for instance by a hash of the
// recipient. Order holds within one stream whatever the size of its frames. A
// frame of more than 64 KiB goes out in parts, in turn with all that other streams
// of its lane send meanwhile: these do not wait for it, and so may arrive before it
// although they were sent later.
func (l Lane) Stream(hash uint32) Lane { return l.Base() | Lane(hash)<<laneBits }

// Base is the lane without the stream, as [Handler].Receive gets it.
func (l Lane) Base() Lane { return l & (1<<laneBits - 1) }

func (l Lane) stream() uint32 { return uint32(l >> laneBits) }

// String gives "control", or "user 0" for the first ordinary lane.
func (l Lane) String() string {
	if l.Base() == Control {
		return "control"
	}
	return "user " + strconv.Itoa(int(l.Base()-User))
}

// A Transport opens endpoints; [TCP] and [Memory] are transports.
type Transport interface {
	// Listen binds and starts to accept. It returns the endpoint, whose Self
	// has the real address (port 0 picks one). ctx bounds the call only. The
	// error names every bad setting, or the address that could not be bound.
	Listen(ctx context.Context, cfg Config, h Handler) (Endpoint, error)
}

// An Endpoint is a node's end of all its links. All methods are safe for
// concurrent use.
type Endpoint interface {
	// Self is the identity that peers know: advertised address and incarnation.
	Self() member.ID

	// Send queues a payload for exactly this incarnation of a node. It copies
	// the payload, so the caller may reuse it, and never blocks. An error means
	// that the frame was certainly not taken: [FullError], [TooLargeError],
	// [ErrClosed], [ErrQuarantined], [ErrSelf], [ErrLane]. nil promises no more
	// than that it was queued: frames are lost when a link breaks.
	Send(to member.ID, lane Lane, payload []byte) error

	// SendWait is Send, except that it waits while too much waits in the lane,
	// until ctx ends at the latest: then the error wraps a [*FullError] and that of
	// ctx. Those who wait go on together when half of the lane is free; no order
	// holds between them.
	SendWait(ctx context.Context, to member.ID, lane Lane, payload []byte) error

	// SendAddress is Send, in the Control lane, to whoever is at the address:
	// for joining, when no incarnation is known yet. It uses a connection of its
	// own, so there is no order between it and Send, and no LinkUp; the
	// connection is closed when it is idle.
	SendAddress(to member.Address, payload []byte) error

	// Quarantine cuts an incarnation off for good: its links are closed, what
	// waits for it is dropped, its handshakes are refused, and it is told why.
	// No Receive from it begins any more; one that runs may finish. A new
	// incarnation at the same address is welcome. The set is bounded; the oldest
	// of many thousands is forgotten first.
	Quarantine(id member.ID)

	// Disconnect ends the link to an incarnation gracefully: what is queued is
	// written, the peer has read it or a time-out has passed, then its
	// connections are closed, in the background. A later Send makes a new link.
	Disconnect(id member.ID)

	// Probe tries once to reach an incarnation, on a connection of its own that
	// ends at once: nil when it answered, whatever but that it is closing. [ErrGone] means that
	// nobody listens at its address, or another incarnation does, and that nothing is
	// left of the connections that it had made to this node. Any other error says
	// nothing about it: a cut cable looks like that, and a paused process. Of this
	// node itself, Probe tells whether its own listener can be reached. It waits
	// until ctx ends at the latest.
	Probe(ctx context.Context, id member.ID) error

	// Close stops taking frames, flushes what is queued until ctx ends, then
	// closes everything, the listener last, and waits for all goroutines. With a
	// ctx that is already over it ends at once and says goodbye to nobody, as a
	// crash would. It must not be called from a Handler. Close may be called
	// again and returns the same result; the error names what still runs when a
	// Handler does not return.
	Close(ctx context.Context) error

	// Stats reads all counters and the state of each link.
	Stats() Stats
}

// A BatchHandler is a [Handler] that wants to know when frames come together.
type BatchHandler interface {
	Handler
	// Batch is called before Receive is for the first of the frames that were read
	// at once, on the same goroutine: so what is worth doing once for all of them
	// need not be done for each.
	Batch(from member.ID, lane Lane)
}

// A Handler receives. Its methods should return soon.
type Handler interface {
	// Receive gets one payload, valid only during the call: keep a copy, not the
	// slice ([Config].Poison finds those who do). Calls for one lane of one peer
	// come in order and never overlap; different lanes come concurrently. A
	// panic is counted and logged, and the connection goes on.
	Receive(from member.ID, lane Lane, payload []byte)

	// LinkUp reports that this node's link to a peer is made: the peer has
	// accepted the handshake of the Control lane.
	LinkUp(peer member.ID)

	// LinkDown reports that a link which was up has ended, and why; frames that
	// were written may be lost. err is [ErrDisconnected], [ErrQuarantined] or
	// [ErrClosed] when this node ended it, a *[RefusedError] when the peer said
	// goodbye, os.ErrDeadlineExceeded when the peer stopped reading, and anything
	// else when a connection broke, as it does when a process dies. It also reports, without a LinkUp before, a peer
	// that refuses this node for good: then err is a *[RefusedError], what
	// waited for the peer is dropped, and the UID in peer is zero if only an
	// address was known.
	LinkDown(peer member.ID, err error)
}
