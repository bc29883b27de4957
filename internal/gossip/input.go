package gossip

import (
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// An Input is something that happens to a [Machine].
//
//sumtype:decl
type Input interface{ gossipInput() }

type (
	// Tick only lets time pass. Every input does that too: timers that are due
	// run in any Step, and a Tick too many is harmless.
	Tick struct{}

	// Received is a message from another node. From is the identity that the
	// transport has verified. Arrived, if set, is when the message came in: old
	// gossip that waited in a queue is not worth reading.
	Received struct {
		From    member.ID
		Msg     Message
		Arrived time.Time
	}

	// JoinSeeds starts joining the cluster that the seeds know. The first seed
	// founds one when the others have none. Ignored once a member.
	JoinSeeds struct{ Seeds []member.Address }

	// JoinAddress joins through the member at an address; the own address
	// founds a cluster. Ignored once a member.
	JoinAddress struct{ Address member.Address }

	// Leave makes the member at an address leave gracefully.
	Leave struct{ Address member.Address }

	// Down declares the member at an address dead: by the operator, or by the
	// split brain resolver.
	Down struct{ Address member.Address }

	// ExitDone tells that this node has handed over all it had and need not
	// stay in the cluster longer. It may come before [Output.StartExiting].
	ExitDone struct{}

	// Quarantined tells that the transport will never again talk to that
	// incarnation, and not because [Output.Quarantine] said so.
	Quarantined struct{ ID member.ID }

	// Expelled tells that a node refuses to talk to this incarnation, for good:
	// it has quarantined it.
	Expelled struct{ By member.ID }

	// PrepareShutdown announces that the whole cluster is about to stop: no
	// node joins or comes up any more.
	PrepareShutdown struct{}
)

func (Tick) gossipInput()            {}
func (Received) gossipInput()        {}
func (JoinSeeds) gossipInput()       {}
func (JoinAddress) gossipInput()     {}
func (Leave) gossipInput()           {}
func (Down) gossipInput()            {}
func (ExitDone) gossipInput()        {}
func (Quarantined) gossipInput()     {}
func (Expelled) gossipInput()        {}
func (PrepareShutdown) gossipInput() {}

// Output is what the node must do after a Step. All of it is the caller's to
// keep.
type Output struct {
	Send   []Packet     // best effort, in order
	Events []Event      // in order
	View   *member.View // the membership when it has changed, else nil
	Wake   time.Time    // when to step with a Tick at the latest; zero: no need

	// StartExiting, once in a life: hand over what this node has, then step
	// with ExitDone.
	StartExiting bool
	// Quarantine names incarnations that are gone for good: cut their links
	// after what is in Send has been handed over.
	Quarantine []member.ID
	// Stop, once, says that this node is no member any more, after the Send of
	// the same Step. Later inputs are ignored.
	Stop *Stop
}

// Packet is a message to a node; the UID is zero when only the address of the
// addressee is known.
type Packet struct {
	To  member.ID
	Msg Message
}

// Stop says why the node must end.
type Stop struct {
	Reason StopReason
	Text   string // for people: what, where, what to do
}

// StopReason tells the ways to end apart.
type StopReason uint8

// The reasons.
const (
	Left               StopReason = iota + 1 // after a graceful leave
	Downed                                   // declared dead by the operator or the resolver
	Removed                                  // the others have removed this node
	IncompatibleConfig                       // the cluster runs with other settings
	JoinTimedOut                             // no seed let this node in
)

var stopNames = [...]string{
	Left: "left", Downed: "downed", Removed: "removed",
	IncompatibleConfig: "incompatible configuration", JoinTimedOut: "join timed out",
}

// String names the reason in words.
func (r StopReason) String() string {
	if int(r) < len(stopNames) && stopNames[r] != "" {
		return stopNames[r]
	}
	return "unknown"
}
