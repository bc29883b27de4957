// Package transport links nodes. SKELETON.
package transport

import (
	"context"
	"log/slog"

	"github.com/troupe-go/troupe/internal/member"
)

// Lane separates traffic that must not wait for other traffic. Order holds within one lane to one peer.
type Lane uint8

const (
	Control Lane = iota // membership, heartbeats, coordination: never behind user messages
	User                // ordinary lane 0; User+1 ... ordinary lanes by hash
)

// Transport opens an endpoint: TCP or Memory.
type Transport interface {
	// Listen binds (port 0 picks one) and starts accepting. It returns the endpoint whose Self has the real address.
	Listen(ctx context.Context, cfg Config, h Handler) (Endpoint, error)
}

// Config is what both sides of a link need to know of a node.
type Config struct {
	Cluster   string         // must agree
	Listen    member.Address // where to bind
	Advertise member.Address // what peers dial; zero: the bound address
	UID       int64          // this incarnation
	MaxFrame  int            // bytes, default 16 MiB? one payload
	Lanes     int            // ordinary lanes, default 1..4
	Queue     int            // bytes per lane and peer that may wait, default
	Log       *slog.Logger
	// ... dial back-off, handshake time-out, Insecure
}

// Endpoint is a node's end of all its links. All methods are safe for concurrent use.
type Endpoint interface {
	Self() member.ID
	// Send queues payload for exactly this incarnation; it copies it, so the caller may reuse it. It never blocks.
	// ErrFull (names the setting), ErrTooLarge (size and limit), ErrClosed, ErrQuarantined.
	// nil promises no more than that: frames are lost when the link breaks.
	Send(to member.ID, lane Lane, payload []byte) error
	// SendAddress is Send to whoever is at the address (joining, when no incarnation is known); Control lane.
	SendAddress(to member.Address, payload []byte) error
	// Quarantine cuts the link to an incarnation for good and refuses it ever after (bounded memory: removed nodes).
	Quarantine(id member.ID)
	// Disconnect closes links to id gracefully after what is queued was written (a member that was removed after leaving).
	Disconnect(id member.ID)
	// Close flushes what is queued within ctx, closes everything and waits for all goroutines.
	Close(ctx context.Context) error
	Stats() Stats
}

// Handler receives. Calls for one lane of one peer come in order, from one goroutine; different lanes concurrently.
type Handler interface {
	// Receive gets one payload, valid only during the call. A slow Receive slows only that lane of that peer.
	Receive(from member.ID, lane Lane, payload []byte)
	// LinkUp and LinkDown report handshaken links.
	LinkUp(peer member.ID)
	LinkDown(peer member.ID, err error)
}

// Stats counts by reason; names are stable.
type Stats struct{}
