// Package ring decides where the shards of one entity type live when nobody is
// in charge: every node computes the same assignment from a table of seats and
// locks in the store, and whoever holds a shard's lock owns it.
//
// A [Core] is a pure machine on every node. It is the only authority that its own
// node's region obeys; it asks the store for locks, and agrees with the cores of
// other nodes on how a shard that is given away gets to its next owner. It promises
//
//   - that its region hosts a shard only under a lock of the seat that it has, and
//     is told to end all it hosts when that seat is lost or can no longer be
//     trusted, which is before anybody else can have a lock of it;
//   - that a lock is given back only when the region has confirmed the end of the
//     shard, and at once then;
//   - that a shard given away loses, repeats and reorders nothing on the way, as
//     under the coordinator;
//   - that nothing waits without a time at which it is tried again.
//
// The assignment is advice, for two nodes may have looked at different moments:
// the lock decides.
//
// It reads no clock and starts nothing; no answer depends on the order of a map.
package ring

import (
	"cmp"
	"strconv"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// Settings of one type on one node. The zero fields have the default beside them.
// Role, Agree, Shards, Group and Assign must be the same on all nodes; Agree should
// tell of all of them, for it is what is compared.
type Settings struct {
	Role   string             // of the members that take a seat and host; the others only route
	Agree  string             // what all nodes of the type must have in common; compared, never read
	Shards int                // how many there are; their names are the decimal numbers from 0
	Exists func(string) bool  // whether there is a shard of another name, such as a negative number. nil: none
	Always []string           // the shards that are locked as soon as they are assigned, though Lazy
	Group  string             // of runners that serve the type: placement.DefaultGroup
	Assign placement.Assigner // placement.LeastMovement{}
	Weight float64            // of this node: 1; see placement.Runner
	Groups []string           // that this node serves: see placement.Runner
	Lazy   bool               // a shard is locked when somebody asks for it, not as soon as it is assigned

	Moves          int           // 100: how many shards this node gives away at a time, unless it leaves
	Poll           time.Duration // 1 s: how often the table is read when nothing gives reason to
	Retry          time.Duration // 2 s: what is not answered is asked again; an eighth of it is the finest step
	AckTimeout     time.Duration // 5 s, at most HandOffTimeout: how long a hand-over waits for all nodes to acknowledge
	HandOffTimeout time.Duration // 60 s: after so long a shard that has not stopped is reported as slow
}

func (s Settings) withDefaults() Settings {
	besides, shards := s.Exists, s.Shards
	s.Exists = func(name string) bool {
		n, err := strconv.Atoi(name)
		return err == nil && n >= 0 && n < shards && strconv.Itoa(n) == name || besides != nil && besides(name)
	}
	if s.Assign == nil {
		s.Assign = placement.LeastMovement{}
	}
	if s.Moves <= 0 {
		s.Moves = 100
	}
	s.Poll = cmp.Or(s.Poll, time.Second)
	s.Retry = cmp.Or(s.Retry, 2*time.Second)
	s.HandOffTimeout = cmp.Or(s.HandOffTimeout, time.Minute)
	s.AckTimeout = min(cmp.Or(s.AckTimeout, 5*time.Second), s.HandOffTimeout)
	return s
}

// An Input is what happened.
//
//sumtype:decl
type Input interface{ input() }

type (
	// ViewChanged: the membership changed.
	ViewChanged struct{ View *member.View }
	// Received: a control message came. From the own node it takes the words of
	// the region, from others what their cores say; the rest is ignored.
	Received struct {
		From member.ID
		Msg  protocol.Message
	}
	// NoPort: the node has not joined the type, or leaves and has ended its part. It
	// routes nothing that would have to be held back.
	NoPort struct{ From member.ID }
	// Seated: this node has the seat of the token, and may trust in it until then;
	// said again each time that this is longer.
	Seated struct {
		Token uint64
		Until time.Time
	}
	// SeatLost: this node has no seat any more.
	SeatLost struct{ Cause string }
	// Leave: this node leaves gracefully: it gives all it has away.
	Leave struct{}
	// Release: an operator wants this node to give a shard away, to that node, or
	// to whom the assignment says, which may be this one again. Nothing happens if
	// it is not here, or that node could not take it.
	Release struct {
		Shard string
		To    member.ID
	}
	// Tick: the time of Wake has come. One too many does no harm.
	Tick struct{}
)

// What the store has answered. Each answers the one [Request] that was out.
type (
	// Table answers Look.
	Table struct {
		Seats []Seat
		Locks []Lock
	}
	// Taken answers Take: those of the shards that this node holds now.
	Taken struct{ Locks []Lock }
	// Given answers Give.
	Given struct{}
	// Failed: there was no answer in time, or the store refused. The request may
	// have been carried out, or may yet be.
	Failed struct{ Cause string }
)

func (ViewChanged) input() {}
func (Received) input()    {}
func (NoPort) input()      {}
func (Seated) input()      {}
func (SeatLost) input()    {}
func (Leave) input()       {}
func (Release) input()     {}
func (Tick) input()        {}
func (Table) input()       {}
func (Taken) input()       {}
func (Given) input()       {}
func (Failed) input()      {}

// A Seat is a node's place in the ring, as the store has it.
type Seat struct {
	Runner string // the node's member.ID.String
	Token  uint64 // higher than that of all who sat down before
	Note   []byte // see Note
}

// A Lock is a node's right to serve a shard, as the store has it. It lasts as long
// as the seat of its token. The N of its epoch counts the locks of the shard, by
// one each time, so that two locks with successive numbers are of successive owners.
type Lock struct {
	Shard  string
	Runner string // of the seat
	Token  uint64
	Epoch  protocol.Epoch
}

// Output is what the shell must do.
type Output struct {
	Send   []Packet  // best effort, in order per receiver
	Ask    Request   // of the store; nil if there is nothing to ask now. The next one comes after the answer
	Seat   Wish      // as it is at present, not only when it changes
	Events []Event   // for logs, in order
	Wake   time.Time // when to step a Tick; zero for never

	// OwnedUntil is how long this node's entities may handle messages unless it
	// becomes longer; zero for not at all. The shell compares it with a fresh reading
	// of the clock before each batch, for nobody steps the core of a process that is
	// paused.
	OwnedUntil time.Time
}

// A Packet is a message for a node, perhaps this one: see [protocol.Packet].
type Packet = protocol.Packet

// A Wish is whether this node wants to have a seat, and what the others must read
// there. A seat that is not wanted any more is given up: nothing hangs on it.
type Wish struct {
	Sit   bool
	Spent uint64 // seats up to this one are over, whatever the store says: another is needed
	Note  []byte // see Note
}

// A Request is something to ask of the store, for the seat of this node. It needs a
// limit of time below the lease; see Failed for when that has passed.
//
//sumtype:decl
type Request interface{ request() }

type (
	// Look reads the table.
	Look struct{}
	// Take locks shards.
	Take struct {
		Token  uint64
		Shards []string // sorted, at most 1,000
	}
	// Give gives locks back.
	Give struct {
		Token uint64
		Locks []Lock // sorted by shard, at most 1,000
	}
)

func (Look) request() {}
func (Take) request() {}
func (Give) request() {}

// An Event tells an operator what a node decided.
//
//sumtype:decl
type Event interface{ event() }

type (
	// Sat: this node has a seat.
	Sat struct{ Token uint64 }
	// Unseated: it has none any more, and ends what it hosts.
	Unseated struct {
		Token  uint64
		Shards int // that it had
		Cause  string
	}
	// Away: the store does not answer.
	Away struct{ Cause string }
	// Back: it does again.
	Back struct{ After time.Duration }
	// Disagrees: the node that has the oldest seat has other settings than this one,
	// so that this one neither hosts nor routes until that changes.
	Disagrees struct {
		With         member.ID
		Theirs, Ours string
	}
	// Hosting: the shard lives here now. Previous is who carries over what is left
	// there; zero for nobody.
	Hosting struct {
		Home     protocol.Home
		Previous member.ID
	}
	// Moving: this node began to give a shard away.
	Moving struct {
		Home protocol.Home
		To   member.ID
	}
	// Kept: a hand-over was given up, for these nodes did not acknowledge; the
	// shard stays.
	Kept struct {
		Home   protocol.Home
		Silent []member.ID
	}
	// GoneAhead: these nodes did not acknowledge a hand-over that cannot wait.
	GoneAhead struct {
		Home   protocol.Home
		Silent []member.ID
	}
	// Slow: the shard was told to stop, and has not for a long time.
	Slow struct {
		Home  protocol.Home
		Since time.Time
	}
	// Gave: the shard has stopped here and its lock is free, for this node to take.
	Gave struct {
		Home protocol.Home
		To   member.ID
	}
)

func (Sat) event()       {}
func (Unseated) event()  {}
func (Away) event()      {}
func (Back) event()      {}
func (Disagrees) event() {}
func (Hosting) event()   {}
func (Moving) event()    {}
func (Kept) event()      {}
func (GoneAhead) event() {}
func (Slow) event()      {}
func (Gave) event()      {}
