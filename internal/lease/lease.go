// Package lease decides when the holder of a lease may believe that it holds
// it, and what it asks the store next. It guarantees that a machine never takes
// itself for the holder at a moment when the store may have given the lease to
// somebody else, as long as the rates of the two clocks differ by less than the
// margin allows; that each loss is told once; and that what the store may have
// granted unasked, unheard or too late is given back.
//
// The rules, after Gray and Cheriton, "Leases" (SOSP 1989), section 2:
//   - A holding counts from when the request was sent, which is before the store
//     started to count.
//   - A request without a clear answer may have been carried out, may be carried
//     out later, or never. Nothing is believed of it; when the lease is not
//     wanted any more the store is asked, and what it granted is released.
//   - A token that was given up once is never held again: its release may still
//     be on the way.
//
// The package is pure. A [Machine] belongs to one goroutine.
package lease

import "time"

// Config is how long things take; see the fields of the same names in
// store.LeaseConfig, where they are checked.
type Config struct {
	TTL    time.Duration
	Renew  time.Duration
	Try    time.Duration
	Margin time.Duration
}

// retry is how long to wait after a request that failed.
func (c Config) retry() time.Duration { return c.TTL / 20 }

// An Op is something to ask of the store.
type Op uint8

// The requests that a machine makes, one at a time.
const (
	Acquire Op = iota + 1 // answered with a grant, also if the machine's owner holds it already
	Renew                 // of the token; refused when it is not held with that token
	Release               // of the token
	Read                  // granted if the machine's owner holds it, else refused
)

func (o Op) String() string {
	switch o {
	case Acquire:
		return "acquire"
	case Renew:
		return "renew"
	case Release:
		return "release"
	case Read:
		return "read"
	default:
		return "nothing"
	}
}

// A Request is one call of the store. It is over at the deadline, after which
// the caller still has to hand in an [Answer].
type Request struct {
	Op       Op
	Token    uint64 // of Renew and Release
	Deadline time.Time
}

// An Outcome is what came of a request.
type Outcome uint8

// The outcomes. The zero one is the cautious one.
const (
	Unknown Outcome = iota // perhaps done, perhaps to be done later
	Granted                // certainly done
	Refused                // certainly not done
)

// An Input is something that happened: [Want], [Drop], [Touch], [Answer] or [Tick].
//
//sumtype:decl
type Input interface{ input() }

type (
	// Want says that the lease is to be held from now on.
	Want struct{}
	// Drop says that it is not wanted any more.
	Drop struct{}
	// Touch says that what a renewal tells the store has changed: it is told at
	// once, if the lease is held.
	Touch struct{}
	// Answer is what came of the request in hand.
	Answer struct {
		Outcome Outcome
		Token   uint64        // of a granted Acquire, Renew or Read
		Left    time.Duration // likewise
		Cause   error         // of the other outcomes
	}
	// Tick says that time has passed.
	Tick struct{}
)

func (Want) input()   {}
func (Drop) input()   {}
func (Touch) input()  {}
func (Answer) input() {}
func (Tick) input()   {}

// An Event is a change that matters to the one who wants the lease: [Held],
// [Denied] or [Lost].
//
//sumtype:decl
type Event interface{ event() }

type (
	// Held says that the lease is held from now on.
	Held struct{ Token uint64 }
	// Denied says that the store has refused it, and that it is not wanted any more.
	Denied struct{ Cause error }
	// Lost says that it is not held any more although it was wanted. It follows
	// each Held at most once, and never one that was dropped.
	Lost struct {
		Token uint64
		Cause error // the refusal, or of the last failed request; nil if none failed
	}
)

func (Held) event()   {}
func (Denied) event() {}
func (Lost) event()   {}

// Output is what the caller must do after a step.
type Output struct {
	Do     *Request // nil if there is nothing to ask now
	Events []Event
	Wake   time.Time // when to step with a Tick at the latest; zero for never
}
