// Package protocol has the words that the regions and the coordinator of one
// entity type say to each other, and their form on the wire.
//
// Every message may be lost, repeated or late: whoever wants an answer asks
// again, and whoever answers can be asked twice. What makes that safe is
// numbers: a [Header] orders what a coordinator says, an [Epoch] names one
// tenure of one shard and never returns. Shard ids are opaque.
//
// Values are plain data; nothing here blocks or keeps state. [Decode] trusts
// no length and never panics.
package protocol

import (
	"cmp"
	"strconv"

	"github.com/troupe-go/troupe/internal/member"
)

// An Epoch numbers the tenures of a shard: the coordinator's term, and a count
// within it. Each new owner gets a higher one. The zero Epoch is before all.
type Epoch struct {
	Term, N uint64
}

// Compare orders epochs by term, then by count.
func (e Epoch) Compare(o Epoch) int {
	return cmp.Or(cmp.Compare(e.Term, o.Term), cmp.Compare(e.N, o.N))
}

// Less tells whether e is older than o.
func (e Epoch) Less(o Epoch) bool { return e.Compare(o) < 0 }

// IsZero tells whether e is no epoch at all.
func (e Epoch) IsZero() bool { return e == Epoch{} }

// String gives term.count, such as 3.17.
func (e Epoch) String() string {
	return strconv.FormatUint(e.Term, 10) + "." + strconv.FormatUint(e.N, 10)
}

// A Tenure is one ownership of one shard.
type Tenure struct {
	Shard string
	Epoch Epoch
}

// A Message is an [Order], a [Word], a [Peer], a [StaleRoute] or a [HighestTerm].
type Message interface {
	kind() kind
}

// An Order is what a coordinator says to regions.
//
//sumtype:decl
type Order interface {
	Message
	Head() Header
}

// A Word is what a region says to a coordinator.
//
//sumtype:decl
type Word interface {
	Message
	toCoordinator()
}

// A Packet is a message on its way; it is sent best effort. One to the own node
// is stepped there before any other input: a coordinator must learn at once
// when its own region has accepted another.
type Packet struct {
	To  member.ID
	Msg Message
}

// A Header stands in front of all that a coordinator says. Term is its reign: a
// region obeys the first coordinator that claims a term higher than all it has
// heard, and refuses everybody else. Seq counts the coordinator's messages: a
// region drops one that was overtaken, for a newer one may contradict it.
type Header struct {
	Term, Seq uint64
}

// Head is how a region finds the header of whatever a coordinator says.
func (h Header) Head() Header { return h }

// What a coordinator says to regions.
type (
	// Claim: I am the coordinator of this term. What do you host? Repeated until
	// a Report or a Refused comes.
	Claim struct{ Header }

	// Registered: your Report was taken in; ask for homes now.
	Registered struct{ Header }

	// Mismatch: your Report was taken in, but you get no shards, because your
	// Settings.Agree is not mine.
	Mismatch struct {
		Header
		Agree string // the coordinator's
	}

	// ShardHomes: these shards live there. Answers GetShardHomes; also ends a
	// hand-over for everybody who was told of its begin.
	ShardHomes struct {
		Header
		Homes []Home
	}

	// HostShards: host these from now on. Repeated until ShardsStarted or
	// ShardsStopped comes.
	HostShards struct {
		Header
		Shards []Assignment
	}

	// BeginHandOff: send nothing more to the hosts of these shards, then put a
	// marker behind your last message to each. Repeated until acknowledged.
	BeginHandOff struct {
		Header
		Moves []Move
	}

	// HandOff: when the markers of these nodes have come, let the shards work off
	// what they have and stop. Repeated until ShardsStopped comes.
	HandOff struct {
		Header
		From  []member.ID // sorted
		Moves []Leaving
	}

	// StopShards: these are copies of what others own by a higher epoch. Stop
	// them at once. Repeated until ShardsStopped comes.
	StopShards struct {
		Header
		Shards []Tenure
	}

	// Wishes: keep these, and name them in every Report, so that the next
	// coordinator knows them. Repeated until WishesKept comes.
	Wishes struct {
		Header
		Wishes []Wish
	}
)

// What regions say to a coordinator.
type (
	// Report: all that a coordinator must know of a region. It answers a Claim;
	// unasked it says that somebody waits for a coordinator there. Only the
	// first of a term counts for what is hosted: later changes are the
	// coordinator's own doing.
	Report struct {
		Term        uint64    // the highest that the region has accepted
		Coordinator member.ID // whose term that is
		Agree       string    // what all regions of a type must have in common, such as the number of shards
		Proxy       bool      // routes, never hosts
		Leaving     bool      // wants to hand over all it hosts, and gets no more
		Hosted      []Hosted
		Released    []Tenure // stopped here, but what was left over still waits here for a new home
		Wishes      []Wish   // all that were heard of, sorted by shard
	}

	// Refused: I obey a higher term, or another coordinator of the same.
	Refused struct {
		Highest     uint64
		Coordinator member.ID // whose term that is; zero if the region does not know
	}

	// GetShardHomes: messages wait for these. Repeated until ShardHomes comes.
	GetShardHomes struct{ Shards []string }

	// ShardsStarted: hosted here.
	ShardsStarted struct{ Shards []Tenure }

	// BeginHandOffAck: forgotten, and marked where need was.
	BeginHandOffAck struct{ Acks []Ack }

	// ShardsStopped: these tenures are over here, or never began and never will.
	// Repeated until a new home is known.
	ShardsStopped struct{ Shards []Tenure }

	// GracefulShutdown: this node leaves, or is drained; take all its shards away.
	// Repeated.
	GracefulShutdown struct{}

	// Staying: the node that was drained takes shards again. Repeated until
	// Registered comes.
	Staying struct{}

	// WishesKept: these wishes, or newer ones, are kept here.
	WishesKept struct{ Kept []Tenure }

	// Loads: what was measured of shards that live here. Each one replaces what
	// was said of the shard before.
	Loads struct{ Loads []Load }

	// Arriving: I have just joined the type, and may have told you before that I
	// had not. Which is the highest term you have heard of? It is for every node
	// that may have been a coordinator, and repeated until HighestTerm comes.
	Arriving struct{}
)

func (Report) toCoordinator()           {}
func (Refused) toCoordinator()          {}
func (GetShardHomes) toCoordinator()    {}
func (ShardsStarted) toCoordinator()    {}
func (BeginHandOffAck) toCoordinator()  {}
func (ShardsStopped) toCoordinator()    {}
func (GracefulShutdown) toCoordinator() {}
func (Staying) toCoordinator()          {}
func (WishesKept) toCoordinator()       {}
func (Loads) toCoordinator()            {}
func (Arriving) toCoordinator()         {}

// StaleRoute is what a region says to another that sent it a message for a
// shard which it does not host, or not by that epoch: forget the route and ask.
type StaleRoute struct {
	Shard string
	Epoch Epoch
}

// HighestTerm answers Arriving: obey no older one.
type HighestTerm struct{ Term uint64 }

// A Home is where a shard lives.
type Home struct {
	Tenure
	Node member.ID
}

// An Assignment makes a region host a shard. Previous is the node where the
// shard lived before and which may carry messages over; zero for none.
type Assignment struct {
	Tenure
	Previous member.ID
}

// A Move announces that a tenure at Host is about to end. Next, drawn afresh
// for each attempt, is the epoch towards which the shard moves: it is stamped on
// markers and acks, so that those of an abandoned attempt are told apart.
type Move struct {
	Tenure
	Host member.ID
	Next Epoch
}

// Leaving is the part of a Move that the host needs.
type Leaving struct {
	Tenure
	Next Epoch
}

// An Ack answers a Move. Marked tells that the region had sent messages to the
// host, so that a marker is on its way behind them.
type Ack struct {
	Shard  string
	Next   Epoch
	Marked bool
}

// Hosted is a tenure that a region reports; Draining that its entities are
// already being stopped, which nothing can undo.
type Hosted struct {
	Tenure
	Draining bool
}

// A Wish is that of somebody outside for a shard to live at an address, as far as
// a region there can take it; the zero address takes an earlier one back. Of two
// wishes for a shard the one with the higher At counts.
type Wish struct {
	Shard string
	To    member.Address
	At    Epoch
}

// A Load is what was measured of a shard. Rates are in thousandths, so that what
// travels has one form.
type Load struct {
	Shard    string
	Messages uint64 // handled in a thousand seconds
	Bytes    uint64 // of these messages, in a thousand seconds
	Seconds  uint64 // for how long this was measured
}
