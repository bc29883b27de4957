package gossip

import (
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// An Event tells what has changed between two states as one node sees them.
// Events of one Step come in the order of the types below.
type Event interface{ gossipEvent() }

type (
	// MemberRemoved tells that a member is gone for good. Previous is the last
	// status that this node knew: Down or Exiting, or another one when a new
	// incarnation on the same address has replaced it.
	MemberRemoved struct {
		Member   member.Member // its Status is Removed
		Previous member.Status
	}

	// MemberChanged tells that a member is new or has changed its status:
	// Member.Status names what has happened. Previous is zero for a member
	// that this node did not know. A removed incarnation is always told
	// before its successor.
	MemberChanged struct {
		Member   member.Member
		Previous member.Status
	}

	// UnreachableMember tells that some member of the own data center cannot
	// reach Member.
	UnreachableMember struct{ Member member.Member }
	// ReachableMember takes [UnreachableMember] back. A removed member is not
	// called reachable.
	ReachableMember struct{ Member member.Member }

	// UnreachableDataCenter tells that some member of another data center
	// cannot be reached from here.
	UnreachableDataCenter struct{ Name string }
	// ReachableDataCenter takes [UnreachableDataCenter] back.
	ReachableDataCenter struct{ Name string }

	// LeaderChanged names the leader of the own data center; zero when there
	// is none.
	LeaderChanged struct{ Leader member.ID }
	// RoleLeaderChanged names the leader among the members with a role.
	RoleLeaderChanged struct {
		Role   string
		Leader member.ID
	}

	// SeenChanged tells that others have, or have not yet, seen this version.
	SeenChanged struct {
		Converged bool
		SeenBy    []member.ID // in order
	}
	// ReachabilityChanged tells that the table of observations has changed.
	ReachabilityChanged struct{ Observations []member.Observation }

	// Stalled tells that this node itself was not running for a while; its
	// failure detector gives no verdicts until it has listened again. By is
	// how late the timers were.
	Stalled struct{ By time.Duration }
	// CrashVoted tells that a member votes that the process of Suspect is gone,
	// or has taken that back.
	CrashVoted struct {
		Suspect, By member.ID
		Withdrawn   bool
	}
	// CrashConfirmed tells that a majority of all members votes so, and that
	// this node downs Suspect because of it.
	CrashConfirmed struct {
		Suspect member.ID
		By      []member.ID // in order
		Members int         // of which more than half had to agree
	}
	// ListenerLost tells that this node could not reach its own listener any
	// more, and so downs itself.
	ListenerLost struct{}
	// OtherCluster tells that a node says it belongs to another cluster of the
	// same name: there are two.
	OtherCluster struct {
		From member.ID
		ID   member.ClusterID
	}
	// JoinerRefused tells that a node was refused, as it is about to learn,
	// because its settings differ from those here.
	JoinerRefused struct {
		Joiner member.ID
		Text   string // the names and both values
	}
	// Ignored tells that a message was not acted upon though it looks like
	// somebody's mistake. See [Reason].
	Ignored struct {
		From   member.ID
		Reason Reason
		Text   string
	}
)

func (MemberRemoved) gossipEvent()         {}
func (MemberChanged) gossipEvent()         {}
func (UnreachableMember) gossipEvent()     {}
func (ReachableMember) gossipEvent()       {}
func (UnreachableDataCenter) gossipEvent() {}
func (ReachableDataCenter) gossipEvent()   {}
func (LeaderChanged) gossipEvent()         {}
func (RoleLeaderChanged) gossipEvent()     {}
func (SeenChanged) gossipEvent()           {}
func (ReachabilityChanged) gossipEvent()   {}
func (Stalled) gossipEvent()               {}
func (CrashVoted) gossipEvent()            {}
func (CrashConfirmed) gossipEvent()        {}
func (ListenerLost) gossipEvent()          {}
func (OtherCluster) gossipEvent()          {}
func (JoinerRefused) gossipEvent()         {}
func (Ignored) gossipEvent()               {}

// A Reason says why a message was ignored. [Machine.Ignored] counts by it.
type Reason uint8

// The reasons. Those before WrongCluster are part of a cluster's usual life after
// restarts and partitions and make no [Ignored] event.
const (
	NotMember         Reason = iota // self is none, so the message has no meaning here
	Stranger                        // the sender is no member
	SenderUnreachable               // self holds the sender for unreachable
	OtherSelf                       // meant for an earlier incarnation of this address
	WithoutSelf                     // a state in which self does not occur
	Late                            // gossip that waited too long, or an answer to nothing
	Departing                       // self is on its way out and takes nobody in
	WasRemoved                      // the sender was removed from this cluster
	Undecided                       // a join, while it is not known how the member at its address ended; see [Early]
	OtherID                         // the sender belongs to another cluster of this name; see [OtherCluster]
	WrongCluster                    // the sender belongs to a cluster of another name
	Outdated                        // a join by an earlier incarnation than the member at its address
	Malformed                       // not what a correct node would send
	reasonCount
)

var reasonNames = [reasonCount]string{
	"not a member", "stranger", "sender unreachable", "other incarnation", "without self", "late", "leaving",
	"was removed", "undecided", "another cluster of this name", "wrong cluster", "outdated", "malformed",
}

// String gives the name under which the reason is counted.
func (r Reason) String() string {
	if r < reasonCount {
		return reasonNames[r]
	}
	return "unknown"
}
