// Package owner decides, for one node, when the one instance of a singleton may
// run there, and knows where it runs otherwise. It is a pure core; package
// singleton is its shell.
//
// # What it guarantees
//
// Two nodes never both have a tenure, the time between [Start] and [Ended], as
// long as a node that was removed as downed has stopped within the margin
// ([Settings].Margin), and one that was paused asks before it steps. The argument:
// a node starts only after every other member that may host has granted its claim
// of this very number, or was removed and may not be running any more. A node
// grants nothing while it has a tenure or holds itself for the right one, and
// granting ends its own claim. So of any two members one has stopped, and given up,
// before the other starts, whoever they think is the right one: views that differ
// for a while cost time, not safety.
//
// A tenure that ends gracefully is closed first: every node says, behind its last
// message, that it has stopped sending; then the instance works off what it has.
//
// Time must not run backwards. A [Core] belongs to one goroutine.
package owner

import (
	"cmp"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// A Term names one claim or tenure, and is higher for each later owner. Numbers
// grow with everything that a node hears of.
type Term struct {
	N    uint64
	Node member.ID
}

// Compare orders terms by number, ties by node.
func (t Term) Compare(o Term) int { return cmp.Or(cmp.Compare(t.N, o.N), t.Node.Compare(o.Node)) }

// IsZero tells whether t is unset.
func (t Term) IsZero() bool { return t == Term{} }

// Settings are what the declaration says. Retry and CloseWithin must be positive.
type Settings struct {
	Name        string        // of the singleton; it spreads by it
	Role        string        // of members that may host; empty for all
	Spread      bool          // the right node is drawn by name, not the oldest
	Lease       bool          // a tenure begins with a lease and ends with its loss
	Agree       string        // what all nodes must declare alike, in words
	Retry       time.Duration // between two questions that were not answered
	CloseWithin time.Duration // for others to say that they have stopped sending
	Margin      func(members int) time.Duration
}

// An Input is something that happened.
type Input interface{ input() }

// The inputs.
type (
	// ViewChanged is a new view of the membership; some may be left out.
	ViewChanged struct{ View *member.View }
	// Received is a message of another node's part.
	Received struct {
		From member.ID
		Msg  Message
	}
	// NoPort is a node's answer that it does not have the singleton.
	NoPort struct{ From member.ID }
	// Marked is a node's word that nothing more comes from it in a tenure.
	Marked struct {
		From member.ID
		Term Term
	}
	// Stray says that a node has returned what was sent to it as to the owner.
	Stray struct{ From member.ID }
	// Ended says that the instance has ended, for whatever reason.
	Ended struct{ Term Term }
	// LeaseHeld says that the lease is held for a claim.
	LeaseHeld struct{ Claim Term }
	// LeaseLost says that it is not held any more.
	LeaseLost struct{}
	// Leave has this node give up its part for good.
	Leave struct{}
	// Tick says that time has passed.
	Tick struct{}
)

func (ViewChanged) input() {}
func (Received) input()    {}
func (NoPort) input()      {}
func (Marked) input()      {}
func (Stray) input()       {}
func (Ended) input()       {}
func (LeaseHeld) input()   {}
func (LeaseLost) input()   {}
func (Leave) input()       {}
func (Tick) input()        {}

// An Action is something that the shell must do now, in order.
type Action interface{ action() }

// The actions.
type (
	// Acquire asks for the lease until LeaseHeld with the same claim.
	Acquire struct{ Claim Term }
	// Release gives it back, or stops asking for it.
	Release struct{}
	// Start starts the instance; Ended says when it ends.
	Start struct{ Term Term }
	// Drain has the instance end after what it has been told. Nothing new reaches it.
	Drain struct{ Term Term }
	// Kill ends the instance after the message in hand.
	Kill struct{ Term Term }
	// Route names the owner to send to. Term.Node may be this node.
	Route struct{ Term Term }
	// Hold says that there is no owner to send to.
	Hold struct{}
	// Mark has a mark sent to Term.Node behind all that was sent to it.
	Mark struct{ Term Term }
)

func (Acquire) action() {}
func (Release) action() {}
func (Start) action()   {}
func (Drain) action()   {}
func (Kill) action()    {}
func (Route) action()   {}
func (Hold) action()    {}
func (Mark) action()    {}

// An Event tells people what was decided.
type Event interface{ event() }

// The events.
type (
	// Began: this node has a tenure.
	Began struct{ Term Term }
	// HandsOver: this node ends its tenure; To is zero when nobody has claimed yet.
	HandsOver struct {
		Term Term
		To   member.ID
	}
	// Unmarked: the instance stops though some have not said that they send nothing more.
	Unmarked struct{ Silent []member.ID }
	// Ceased: the tenure is over.
	Ceased struct{ Term Term }
	// Lost: the lease is, and so the tenure.
	Lost struct{ Term Term }
	// Failed: the instance ended by itself, and starts again then.
	Failed struct{ Again time.Time }
	// Disagrees: another node declares the singleton otherwise.
	Disagrees struct {
		Node         member.ID
		Theirs, Ours string
	}
)

func (Began) event()     {}
func (HandsOver) event() {}
func (Unmarked) event()  {}
func (Ceased) event()    {}
func (Lost) event()      {}
func (Failed) event()    {}
func (Disagrees) event() {}

// A Packet is a message to another node, best effort: what needs an answer is
// repeated.
type Packet struct {
	To  member.ID
	Msg Message
}

// Output is what the shell must do.
type Output struct {
	Send   []Packet
	Do     []Action
	Events []Event
	Wake   time.Time // when to step with a Tick next at the latest; zero for never
}
