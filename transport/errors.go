package transport

import (
	"fmt"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/internal/member"
)

// Errors of Send and reasons of LinkDown. They are constants, so errors.Is holds
// when one has travelled to another node.
const (
	ErrFull         = actor.Error("transport: queue full")                   // see FullError
	ErrTooLarge     = actor.Error("transport: frame too large")              // see TooLargeError
	ErrClosed       = actor.Error("transport: endpoint closed")              // this node is closing or closed
	ErrQuarantined  = actor.Error("transport: peer is quarantined")          // by this node, for ever; a new incarnation is welcome
	ErrDisconnected = actor.Error("transport: disconnected")                 // this node asked for it
	ErrSelf         = actor.Error("transport: sending to itself")            // a node delivers to itself without links
	ErrLane         = actor.Error("transport: lane beyond Config.Lanes")     // the peer would take it, but nobody here would write it
	ErrRefused      = actor.Error("transport: link refused by peer")         // see RefusedError
	ErrInsecure     = actor.Error("transport: plain link beyond loopback")   // needs Config.TLS, Config.Secret or Config.Insecure
	ErrName         = actor.Error("transport: certificate for another name") // it comes from an authority, and names somebody else
)

// A FullError is the refusal of a frame because too much waits for the same peer
// in the same lane. The frame was not taken; sending less, or later, helps.
type FullError struct {
	Peer    member.ID
	Lane    Lane
	Waiting int    // bytes that wait already
	Limit   int    // bytes that may
	Setting string // that names the limit
}

func (e *FullError) Error() string {
	return fmt.Sprintf("%v: %d bytes wait for %v in lane %v, the limit is %d (%s)",
		ErrFull, e.Waiting, e.Peer, e.Lane, e.Limit, e.Setting)
}

// Unwrap makes errors.Is(err, ErrFull) hold.
func (e *FullError) Unwrap() error { return ErrFull }

// A TooLargeError is the refusal of a frame that this node or the peer would not
// accept. Sending it again cannot help.
type TooLargeError struct {
	Size    int    // bytes of the payload
	Limit   int    // bytes that a payload may have
	Setting string // that names the limit, and whose it is if the peer's
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%v: %d bytes, the limit is %d (%s)", ErrTooLarge, e.Size, e.Limit, e.Setting)
}

// Unwrap makes errors.Is(err, ErrTooLarge) hold.
func (e *TooLargeError) Unwrap() error { return ErrTooLarge }

// Refusal is why the accepting side of a connection does not want it, or does
// not want it any more. The numbers travel.
type Refusal uint8

// The refusals.
const (
	RefusedMalformed   Refusal = iota + 1 // not a handshake of ours, or broken bytes
	RefusedVersion                        // no protocol version in common
	RefusedCluster                        // another cluster
	RefusedAddress                        // the peer is known by another address
	RefusedIncarnation                    // another process is at the address now
	RefusedQuarantined                    // the peer has quarantined this node: it was removed and must stop
	RefusedFrame                          // a frame beyond the peer's limit
	RefusedStale                          // a newer connection took its place
	RefusedClosing                        // the peer is closing its end
	RefusedBusy                           // too many handshakes at once
	RefusedSlow                           // a handshake that was not finished in time
	RefusedTLS                            // no handshake of TLS, or one that the caller broke off
	RefusedCertificate                    // expired, or from no authority that the peer knows
	RefusedName                           // a certificate for another name
	RefusedSecret                         // no proof, or one of another secret
	endOfRefusals
)

var refusalNames = [endOfRefusals]string{
	0: "unknown", RefusedMalformed: "malformed", RefusedVersion: "version", RefusedCluster: "cluster", RefusedAddress: "address",
	RefusedIncarnation: "incarnation", RefusedQuarantined: "quarantined", RefusedFrame: "frame", RefusedStale: "stale",
	RefusedClosing: "closing", RefusedBusy: "busy", RefusedSlow: "slow", RefusedTLS: "tls", RefusedCertificate: "certificate",
	RefusedName: "name", RefusedSecret: "secret",
}

// known gives r, or zero for one that only a newer version knows.
func (r Refusal) known() Refusal {
	if r < endOfRefusals {
		return r
	}
	return 0
}

// String gives the name under which [Stats] counts it.
func (r Refusal) String() string { return refusalNames[r.known()] }

// lasting tells whether dialing the same incarnation again cannot help. What is
// read again while nodes run, as certificates are, can be mended.
func (r Refusal) lasting() bool {
	switch r {
	case RefusedMalformed, RefusedVersion, RefusedCluster, RefusedAddress, RefusedIncarnation, RefusedQuarantined:
		return true
	default:
		return false
	}
}

// A RefusedError is a peer's word that it does not want a link of this node, or
// not any longer.
type RefusedError struct {
	Dialed member.ID // whom this node wanted; UID 0 for whoever is there
	Peer   member.ID // who answered
	Reason Refusal
	Text   string // the peer's explanation: what it expected and what it was given
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%v %v (dialed %v): %v: %s", ErrRefused, e.Peer, e.Dialed, e.Reason, e.Text)
}

// Unwrap makes errors.Is(err, ErrRefused) hold.
func (e *RefusedError) Unwrap() error { return ErrRefused }
