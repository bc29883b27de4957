// Package sbr decides who survives when members of a cluster cannot reach each
// other: the split brain resolver.
//
// A [Strategy] is a rule that every side of a partition applies to what it
// sees; the rules are made so that the sides, without talking to each other,
// come to answers that fit together. [Decide] applies one, and its [Decision]
// can say in words why it is so. [Resolver] adds time: it watches the
// membership, waits until nothing has changed for a while, and lets the leader
// of each side carry the decision out.
//
// What is promised. Take any set of broken links, each noticed at both of its
// ends (heartbeats are answered, so one broken direction is enough), and let
// the news get round wherever gossip still can: those are the sides. Then at
// most one side has survivors, and all survivors reach each other directly,
// because members that some reach and others do not (indirectly connected) are
// downed as well. Of two sides that are whole, keep-majority, keep-oldest and
// lease-majority keep one; static-quorum keeps the one with the quorum; down-all
// keeps none. A side that could be wrong about what the other one counts,
// because members were just joining or leaving, downs itself. So does a joiner
// that a decision did not know of and that is left alone. What is not
// promised: that sides agree which have different memberships for other
// reasons, such as a change that reached only one of them; the time of
// stability before a decision is there to make that unlikely, and the lease to
// make it impossible.
//
// [WhatIf] shows beforehand what a strategy would make of each split, and a dry
// run ([Settings]) what it would have done.
//
// The package is pure: time is an argument, nothing blocks, and all outputs
// are in a fixed order. A Resolver belongs to one goroutine.
package sbr

import (
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// A Strategy is a rule of survival. The package's own are the only ones:
// [KeepMajority], [StaticQuorum], [KeepOldest], [DownAll] and [LeaseMajority].
type Strategy interface {
	// Name is what configurations and logs call the strategy, such as
	// "keep-majority". All nodes of a cluster must use the same one.
	Name() string
	// choose applies the rule to two sides and says which part of it decided.
	choose(s *sides) verdict
}

// Situation is what one node knows when a decision is due.
type Situation struct {
	Self         member.ID
	Members      []member.Member      // of the own data center, in the order of member.ID.Compare
	Unreachable  []member.ID          // those of them that this side holds for unreachable
	Observations []member.Observation // who holds whom for unreachable; pairs with others than Members are ignored
	SeenBy       []member.ID          // who has seen the current membership
	// Wary holds it possible that a member that is joining has come up on the
	// other side and has the lowest address there, which decides a tie: then none is
	// won. The reference does not think of it, and both sides may survive. A
	// Resolver is always wary.
	Wary bool
}

// An Action is what a decision does.
type Action uint8

// The actions. A lease-majority decision becomes final with the answer to its
// lease: [Decision.Denied] is what happens when the lease is refused.
const (
	DownUnreachable                         Action = iota + 1 // this side survives
	DownReachable                                             // this side goes
	DownEverybody                                             // both sides go
	DownIndirectlyConnected                                   // the doubtful members go, perhaps a side too
	AcquireLeaseThenDownUnreachable                           // the side with the lease survives
	AcquireLeaseThenDownIndirectlyConnected                   // as above, without the doubtful members
	ReverseDownIndirectlyConnected                            // the doubtful members and this side go
	DownSelf                                                  // this node alone goes
)

var actionNames = [...]string{
	DownUnreachable:                         "down_unreachable",
	DownReachable:                           "down_reachable",
	DownEverybody:                           "down_all",
	DownIndirectlyConnected:                 "down_indirectly_connected",
	AcquireLeaseThenDownUnreachable:         "acquire_lease_then_down_unreachable",
	AcquireLeaseThenDownIndirectlyConnected: "acquire_lease_then_down_indirectly_connected",
	ReverseDownIndirectlyConnected:          "reverse_down_indirectly_connected",
	DownSelf:                                "down_self_quarantined",
}

// String gives the action's name in lower case with underscores.
func (a Action) String() string {
	if int(a) < len(actionNames) && a != 0 {
		return actionNames[a]
	}
	return "unknown"
}

// Decision is a rule applied to a situation. It is an [Event]: String tells it
// in one line, Describe the whole story.
type Decision struct {
	Strategy            string
	Action              Action
	Down                []member.ID // who is to be downed, in order; nobody of status Down or Exiting
	IndirectlyConnected []member.ID // in order
	FellBack            bool        // no connected rest could be found, so everybody goes
	Reason              string      // the part of the rule that decided, in words
	Lease               LeaseState
	AcquireDelay        time.Duration // how long this side waits before it asks for the lease
	Situation           Situation

	// What a [Resolver] adds.
	Waited time.Duration // since the first of the unreachable was noticed; 0 when none was
	DryRun bool          // nobody is downed, and no lease is asked for
}

// LeaseState says where a decision stands with its lease.
type LeaseState uint8

// The states of a decision's lease.
const (
	LeaseNone    LeaseState = iota // the decision needs none
	LeaseAsked                     // Down is what follows if it is granted
	LeaseGranted                   // final
	LeaseDenied                    // final: [Decision.Denied]
)
