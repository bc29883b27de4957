// Package region decides one node's part in an entity type: where its messages
// go, which shards it hosts, and how it takes part in moving them.
//
// A [Core] is a pure machine: the shell steps it with what happened and does,
// in order, what comes back. It reads no clock, keeps no message and starts
// nothing, so that a whole cluster of them runs in one loop. It promises that a
// shard is hosted here only between a Host action and the Drained input that
// answers a Drain or Kill, that it obeys only the coordinator of the highest
// term, and that nothing waits without a time at which it is tried again.
package region

import (
	"cmp"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// Settings of one region; the zero fields of time have the default beside them.
type Settings struct {
	Role  string // of the members that host the type; the others are proxies: they route only
	Agree string // what all regions of the type must have in common, such as the number of shards; compared, never read

	// Own: the authority is always that of this node itself, as in a ring, and
	// nobody else is obeyed. Otherwise it is the coordinator: the oldest member.
	Own bool

	Exists func(string) bool // whether there is a shard of that name; others are never hosted. nil: all exist

	Retry          time.Duration // 2 s: what is not answered is asked again; an eighth of it is the finest step
	HandOffTimeout time.Duration // 60 s: how long entities may take to stop gracefully
	MarkTimeout    time.Duration // 5 s, at most HandOffTimeout: how long a host waits for the markers of the other regions
	CarryTimeout   time.Duration // 10 s, at most HandOffTimeout: how long a new host waits for what the old one carries over
}

func (s Settings) withDefaults() Settings {
	if s.Exists == nil {
		s.Exists = func(string) bool { return true }
	}
	s.Retry = cmp.Or(s.Retry, 2*time.Second)
	s.HandOffTimeout = cmp.Or(s.HandOffTimeout, time.Minute)
	s.MarkTimeout = min(cmp.Or(s.MarkTimeout, 5*time.Second), s.HandOffTimeout)
	s.CarryTimeout = min(cmp.Or(s.CarryTimeout, 10*time.Second), s.HandOffTimeout)
	return s
}

// An Input is what happened.
//
//sumtype:decl
type Input interface{ input() }

type (
	// ViewChanged: the membership changed.
	ViewChanged struct{ View *member.View }
	// Received: a control message of the protocol came. Those that are for a
	// coordinator are ignored, so that a shell may step both cores with each.
	Received struct {
		From member.ID
		Msg  protocol.Message
	}
	// NoPort: the node has not joined the type.
	NoPort struct{ From member.ID }
	// Wanted: the shell buffered the first message of a shard that has no home here.
	Wanted struct{ Shard string }
	// Marked: the in-lane marker of a region arrived behind its last message.
	// Epoch is the one that the marker carries.
	Marked struct {
		From  member.ID
		Shard string
		Epoch protocol.Epoch
	}
	// CarryDone: the in-lane marker of the previous host arrived behind what it
	// carried over. Epoch is the one that the marker carries.
	CarryDone struct {
		From  member.ID
		Shard string
		Epoch protocol.Epoch
	}
	// StaleRoute: a message came for a shard that is not hosted here, or with an
	// epoch by which it is not. The shell routes the message on by itself.
	StaleRoute struct {
		From  member.ID
		Shard string
		Epoch protocol.Epoch
	}
	// Disowned: the store has refused what was written in the name of the tenure of
	// this Epoch, for the shard has got another owner, by the epoch Highest.
	Disowned struct {
		Shard          string
		Epoch, Highest protocol.Epoch
	}
	// Drained: all entities of a shard that was told to Drain or Kill have ended.
	Drained struct {
		Shard string
		Epoch protocol.Epoch
	}
	// Emptied: after a Route, Host or Open with this Epoch, nothing of the shard
	// waits here any more: carry, buffer and marker are written to the link or
	// delivered. Stepping it when nothing had waited does no harm.
	Emptied struct {
		Shard string
		Epoch protocol.Epoch
	}
	// Leave: this node leaves gracefully: all that it hosts must move. If all who
	// could take it are unreachable they are waited for until then, for they may
	// come back; zero for as long as they are members.
	Leave struct{ Until time.Time }
	// Spare: this node is drained: it gets no more shards and gives away what it has, as far as there
	// is anybody to take it, until it is told otherwise.
	Spare struct{ On bool }
	// Alone: with an authority of its own, nobody will take what is here when this node
	// leaves, as far as that authority knows; or somebody may, again.
	Alone struct{ On bool }
	// Measured: the loads of shards that are hosted here, for the coordinator.
	Measured struct{ Loads []protocol.Load }
	// Tick: the time of Wake has come. One too many does no harm.
	Tick struct{}
)

func (ViewChanged) input() {}
func (Received) input()    {}
func (NoPort) input()      {}
func (Wanted) input()      {}
func (Marked) input()      {}
func (CarryDone) input()   {}
func (StaleRoute) input()  {}
func (Disowned) input()    {}
func (Drained) input()     {}
func (Emptied) input()     {}
func (Leave) input()       {}
func (Spare) input()       {}
func (Alone) input()       {}
func (Measured) input()    {}
func (Tick) input()        {}

// Output is what the shell must do: first Do, then Send, for a message may tell
// that an action is done.
type Output struct {
	Send   []Packet  // best effort, in order per receiver
	Do     []Action  // in order
	Events []Event   // for logs, in order
	Wake   time.Time // when to step a Tick; zero for never
	Left   bool      // after Leave: nothing is hosted, carried, owed or buffered any more
}

// A Packet is a message for a node, perhaps this one: see [protocol.Packet].
type Packet = protocol.Packet

// An Action changes what the shell does with one shard.
//
//sumtype:decl
type Action interface{ action() }

type (
	// Route: send directly to Home from now on: first carry, then buffer, in
	// order; then, if Mark, the CarryDone marker with this Epoch in the same
	// lane. Home may be this node: its entities then get the buffer, or it is
	// held with the rest where the shard waits for Open.
	Route struct {
		Shard string
		Home  member.ID
		Epoch protocol.Epoch
		Mark  bool
	}
	// Host: host the shard here, and route to it. Carry that is still here goes
	// first, then the buffer. With Await (not zero) only messages from that node
	// are handled yet; all others, those of this node and its buffer included,
	// are held behind them until Open.
	Host struct {
		Shard string
		Epoch protocol.Epoch
		Await member.ID
	}
	// Open: what was held is delivered, in order; then directly. The Epoch is that
	// of Host.
	Open struct {
		Shard string
		Epoch protocol.Epoch
	}
	// Buffer: stop sending directly and buffer from now on; then send the marker
	// behind the last message, in the shard's lane, to MarkTo (none if zero; if
	// MarkTo is this node the shell steps Marked with its own id). The marker
	// carries this Epoch, which is not the shard's. If the shard is hosted here
	// it goes on handling what arrives from other nodes.
	Buffer struct {
		Shard  string
		MarkTo member.ID
		Epoch  protocol.Epoch
	}
	// Drain: close all entities, let them work off what they have, stop them
	// gracefully, then step Drained. What they left over and what they told
	// their own shard while stopping becomes carry, which waits for a Route or
	// Host. Entities that have not ended at Deadline are stopped as by Kill.
	Drain struct {
		Shard    string
		Epoch    protocol.Epoch
		Deadline time.Time
	}
	// Kill: this node may not own the shard any more: stop its entities at once;
	// then step Drained. Left-overs, and what was held, become carry as with
	// Drain.
	Kill struct{ Shard string }
)

func (Route) action()  {}
func (Host) action()   {}
func (Open) action()   {}
func (Buffer) action() {}
func (Drain) action()  {}
func (Kill) action()   {}

// An Event tells an operator what a region decided on its own.
//
//sumtype:decl
type Event interface{ event() }

type (
	// Disagrees: the coordinator has other settings, so this region gets neither
	// shards nor homes, until a coordinator comes that agrees.
	Disagrees struct {
		Coordinator       member.ID
		Ours, Coordinated string
	}
	// MarkersMissing: a shard stops without having heard that these regions sent
	// all they had. What they send late is routed on; its order may suffer.
	MarkersMissing struct {
		Shard string
		From  []member.ID
	}
	// CarryMissing: a shard opened without having heard that its previous host
	// carried all over.
	CarryMissing struct {
		Shard string
		From  member.ID
	}
	// TenureDenied: the shard is stopped here at once, for the store knows a higher
	// epoch of it than the one by which it is hosted.
	TenureDenied struct {
		Shard          string
		Epoch, Highest protocol.Epoch
	}
)

func (TenureDenied) event()   {}
func (Disagrees) event()      {}
func (MarkersMissing) event() {}
func (CarryMissing) event()   {}
