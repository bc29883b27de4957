package sbr

import (
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// An Input is something that happened: one of the types below.
type Input interface{ input() }

// Inputs of [Resolver.Step]. Facts about other data centers, and whether this
// node itself is reachable, are ignored.
type (
	// ViewChanged carries a new view of the membership; the resolver finds out
	// what changed since the one before. It replaces all inputs down to Seen.
	ViewChanged struct{ View *member.View }

	// Changed members are new or have a new status.
	Changed struct{ Members []member.Member }
	// Removed members have left the membership.
	Removed struct{ Members []member.Member }
	// Unreachable members are held for unreachable from now on.
	Unreachable struct{ Members []member.Member }
	// Reachable members are no longer held for unreachable.
	Reachable struct{ Members []member.Member }
	// LeaderChanged names the leader of the own data center, or none.
	LeaderChanged struct{ Leader member.ID }
	// Reachability replaces the table of who holds whom for unreachable.
	Reachability struct{ Observations []member.Observation }
	// Seen replaces the set of those who have seen the current membership.
	Seen struct{ By []member.ID }

	// Stalled says that this node was not running for a while: what it knows is
	// old, so the wait for stability begins anew.
	Stalled struct{}

	// Tick says that the time of Output.Wake has come; spurious ones are
	// harmless. Decisions are taken on ticks only. Awaiting says that a member
	// that counts as reachable has been silent for a while: the strategy's
	// decision waits a little for what becomes of it.
	Tick struct{ Awaiting bool }
	// LeaseReply answers Output.Acquire. A reply that did not come in time is
	// no denial: ask the lease store again before stepping this. When all who
	// were unreachable came back while the lease was asked for, the decision
	// was dropped and the answer changes nothing: Output.Release gives it back.
	LeaseReply struct{ Acquired bool }
)

func (ViewChanged) input()   {}
func (Changed) input()       {}
func (Removed) input()       {}
func (Unreachable) input()   {}
func (Reachable) input()     {}
func (LeaderChanged) input() {}
func (Reachability) input()  {}
func (Seen) input()          {}
func (Stalled) input()       {}
func (Tick) input()          {}
func (LeaseReply) input()    {}

// Output is what a step wants done.
type Output struct {
	// Down are the nodes to mark as down, in order, this node last.
	Down []member.ID
	// Events are news for people and tools, in order. A decision that downs
	// somebody, or asks for a lease first, is one.
	Events []Event
	// Acquire asks for the lease, after its delay; step LeaseReply in the end.
	Acquire *Acquire
	// Release gives the lease back that came for a decision dropped meanwhile.
	Release bool
	// Wake is when to step a Tick next; zero for not before another input.
	Wake time.Time
}

// Acquire is a request for the lease that decides between two sides.
type Acquire struct {
	At time.Time // not before: the smaller side lets the larger one go first
}
