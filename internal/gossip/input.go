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

	// JoinContacts starts joining the cluster that one of the contacts is in, or
	// founding one together with them, none of which is special: the one with
	// the lowest address among those that hear from each other founds it when
	// Required contacts, this node counted, and a majority of all that are known
	// have said for a while (Times.SeedTimeout) that they have chosen it. Nobody
	// comes up before so many have joined. So two clusters cannot both come up
	// as long as Required is more than half of the nodes that look for each
	// other; of two that began, one gives up.
	//
	// It is given again when other contacts are found, which a member takes for
	// nodes that should be in its cluster. With Required 0 the node does not
	// found by itself, but when [Found] says so.
	JoinContacts struct {
		Contacts []member.Address
		Required int
		ID       member.ClusterID // the only one to join; zero for any
	}

	// Found makes this node the founder of the cluster with that id, unless it is a
	// member already: somebody who sees to it that there is one has decided so.
	Found struct{ ID member.ClusterID }

	// SeedRefused tells that the node at an address does not want a link of this
	// one, ever: it is of another cluster, say. Text gives its reason.
	SeedRefused struct {
		Address member.Address
		Text    string
	}

	// Void tells that this node's membership is void, for a reason outside the
	// membership: it stops at once.
	Void struct{ Text string }

	// JoinAddress joins through the member at an address; the own address
	// founds a cluster. Ignored once a member.
	JoinAddress struct{ Address member.Address }

	// Leave makes the member at an address leave gracefully.
	Leave struct{ Address member.Address }

	// Down declares the member at an address dead: by the operator, or by the
	// node itself.
	Down struct{ Address member.Address }

	// DownAll declares members dead at once: by the split brain resolver. Others that
	// live at their addresses are not meant.
	DownAll struct{ Members []member.ID }

	// ExitDone tells that this node has handed over all it had and need not
	// stay in the cluster longer. It may come before [Output.StartExiting].
	ExitDone struct{}

	// Quarantined tells that the transport will never again talk to that
	// incarnation, and not because [Output.Quarantine] said so.
	Quarantined struct{ ID member.ID }

	// Expelled tells that a node refuses to talk to this incarnation, for good:
	// it has quarantined it.
	Expelled struct{ By member.ID }

	// Crashed tells that a majority of all members has confirmed that the
	// process of an incarnation is gone. It is downed, and all hurry to remove it.
	Crashed struct{ ID member.ID }

	// Early is a join that is not looked at, because votes on whether the member at
	// the joiner's address has crashed are still coming in. It asks again.
	Early struct{ Joiner member.ID }

	// LinkBroke tells that this node's link to a peer, once made, ended as it
	// does when a process dies: closed or reset without a goodbye, and not by
	// this side or for want of an answer. Package membership judges it.
	LinkBroke struct{ Peer member.ID }

	// Dialed tells how an attempt to reach a peer went, after its link broke;
	// that the link is made is one too. About self, it tells whether the own
	// listener can be reached. Package membership judges it.
	Dialed struct {
		Peer   member.ID
		Result DialResult
	}

	// PrepareShutdown announces that the whole cluster is about to stop: no
	// node joins or comes up any more.
	PrepareShutdown struct{}
)

func (Tick) gossipInput()            {}
func (Received) gossipInput()        {}
func (JoinSeeds) gossipInput()       {}
func (JoinContacts) gossipInput()    {}
func (Found) gossipInput()           {}
func (SeedRefused) gossipInput()     {}
func (Void) gossipInput()            {}
func (JoinAddress) gossipInput()     {}
func (Leave) gossipInput()           {}
func (Down) gossipInput()            {}
func (DownAll) gossipInput()         {}
func (ExitDone) gossipInput()        {}
func (Quarantined) gossipInput()     {}
func (Expelled) gossipInput()        {}
func (Crashed) gossipInput()         {}
func (Early) gossipInput()           {}
func (LinkBroke) gossipInput()       {}
func (Dialed) gossipInput()          {}
func (PrepareShutdown) gossipInput() {}

// DialResult is what an attempt to reach an incarnation says about it.
type DialResult uint8

// The results.
const (
	Silent   DialResult = iota // nothing either way: no answer, or something else went wrong
	Answered                   // it lives
	Refused                    // nobody listens there, and it is not connected to this node either
	Replaced                   // another incarnation answered, and it is not connected to this node either
)

var dialResults = [...]string{Silent: "silent", Answered: "answered", Refused: "refused", Replaced: "replaced"}

// String names the result in a word.
func (r DialResult) String() string {
	if int(r) < len(dialResults) {
		return dialResults[r]
	}
	return "unknown"
}

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
	JoinRefused                              // every seed refuses this node for good
	Superseded                               // another cluster came up while this node's was incomplete
)

var stopNames = [...]string{
	Left: "left", Downed: "downed", Removed: "removed",
	IncompatibleConfig: "incompatible configuration", JoinTimedOut: "join timed out", JoinRefused: "join refused",
	Superseded: "superseded",
}

// String names the reason in words.
func (r StopReason) String() string {
	if int(r) < len(stopNames) && stopNames[r] != "" {
		return stopNames[r]
	}
	return "unknown"
}
