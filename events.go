package troupe

import "github.com/troupe-go/troupe/internal/gossip"

// An Event tells what has changed in the membership as one node sees it: one of
// the types below, or [Downing]. [Node.Events] and [Node.Follow] give them in the
// order in which they came about. More types may be added.
type Event = gossip.Event

// Events about members and their data centers. Those of one change of the
// membership come in this order.
type (
	// MemberRemoved tells that a member is gone for good, and what it was last: Down
	// or Exiting, or another status when a new incarnation has replaced it.
	MemberRemoved = gossip.MemberRemoved
	// MemberChanged tells that a member is new or has a new status.
	MemberChanged = gossip.MemberChanged
	// UnreachableMember tells that somebody in this data center cannot reach a member.
	UnreachableMember = gossip.UnreachableMember
	// ReachableMember takes an UnreachableMember back.
	ReachableMember = gossip.ReachableMember
	// UnreachableDataCenter tells that a member of another data center cannot be reached.
	UnreachableDataCenter = gossip.UnreachableDataCenter
	// ReachableDataCenter takes an UnreachableDataCenter back.
	ReachableDataCenter = gossip.ReachableDataCenter
	// LeaderChanged names the leader of this data center; zero when there is none.
	LeaderChanged = gossip.LeaderChanged
	// RoleLeaderChanged names the leader among the members with a role.
	RoleLeaderChanged = gossip.RoleLeaderChanged
	// SeenChanged tells that others have, or have not yet, seen this version.
	SeenChanged = gossip.SeenChanged
	// ReachabilityChanged tells who holds whom for unreachable now.
	ReachabilityChanged = gossip.ReachabilityChanged
)

// Events about what this node noticed; most are in its log, too.
type (
	// Stalled tells that this node did not run for a while.
	Stalled = gossip.Stalled
	// CrashVoted tells that a member votes that another has crashed, or takes it back.
	CrashVoted = gossip.CrashVoted
	// CrashConfirmed tells that this node downs a member, as a majority votes that it
	// has crashed.
	CrashConfirmed = gossip.CrashConfirmed
	// ListenerLost tells that this node cannot reach its own listener and downs itself.
	ListenerLost = gossip.ListenerLost
	// AnotherCluster tells that a node of another cluster of this name was heard; see
	// [Node.OtherClusters].
	AnotherCluster = gossip.OtherCluster
	// JoinerRefused tells that a node was refused, because its settings differ.
	JoinerRefused = gossip.JoinerRefused
	// Ignored tells that a message was not acted upon though it looks like somebody's
	// mistake.
	Ignored = gossip.Ignored
)
