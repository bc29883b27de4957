// Package coordinator decides where the shards of one entity type live.
//
// A [Core] is a pure machine on every node; it acts only while this node is the
// oldest Up member with the type's role, and is nothing but memory of removed
// nodes otherwise. What it knows of homes it asked from the regions that host
// them, so a new coordinator needs nobody's notes. It promises, with any number
// of coordinators at a time, that a shard is given out only when its last owner
// has confirmed its stop, or was removed long enough ago, and that each owner
// has a higher epoch than the one before.
//
// It reads no clock and starts nothing; no answer depends on the order of a map.
package coordinator

import (
	"cmp"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// Settings of one type; the zero fields have the default beside them. Times and
// Strategy should agree in the cluster, Role and Agree must.
type Settings struct {
	Role     string             // of the members that host the type and may coordinate it
	Agree    string             // what all regions of the type must have in common; compared, never read
	Exists   func(string) bool  // whether there is a shard of that name; others are never given out. nil: all exist
	Always   []string           // the shards that are to have a home without being asked for
	Strategy placement.Strategy // placement.LeastShards{}

	Retry             time.Duration // 2 s: what is not answered is asked again; an eighth of it is the finest step
	AckTimeout        time.Duration // 5 s, at most HandOffTimeout: how long a hand-over waits for all regions to acknowledge
	HandOffTimeout    time.Duration // 60 s: after so long a shard that has not stopped is reported as slow
	ShardStartTimeout time.Duration // 2 s: a region that has not confirmed a shard is told again
	RebalanceEvery    time.Duration // 10 s; negative for never
	RollOut           time.Duration // 15 min: how long a roll-out may hold rebalances back

	// Stored: terms are raised in a store that the nodes share, so that none is ever
	// given twice. The shell carries out Output.Raise then. RaiseWithin is how long a
	// new reign waits for that, before it goes on by what this node has heard.
	Stored      bool
	RaiseWithin time.Duration // 5 s

	// Margin is how long a downed node's shards rest after its removal, so that it
	// has time to notice: longer in a cluster of more members. nil: no time.
	Margin func(members int) time.Duration
}

func (s Settings) withDefaults() Settings {
	if s.Exists == nil {
		s.Exists = func(string) bool { return true }
	}
	if s.Strategy == nil {
		s.Strategy = placement.LeastShards{}
	}
	s.Retry = cmp.Or(s.Retry, 2*time.Second)
	s.HandOffTimeout = cmp.Or(s.HandOffTimeout, time.Minute)
	s.AckTimeout = min(cmp.Or(s.AckTimeout, 5*time.Second), s.HandOffTimeout)
	s.ShardStartTimeout = cmp.Or(s.ShardStartTimeout, 2*time.Second)
	if s.Margin == nil {
		s.Margin = func(int) time.Duration { return 0 }
	}
	s.RebalanceEvery = cmp.Or(s.RebalanceEvery, 10*time.Second)
	s.RollOut = cmp.Or(s.RollOut, 15*time.Minute)
	s.RaiseWithin = cmp.Or(s.RaiseWithin, 5*time.Second)
	return s
}

// An Input is what happened. All inputs are for the core of every node, whether
// it is the coordinator or not.
//
//sumtype:decl
type Input interface{ input() }

type (
	// ViewChanged: the membership changed.
	ViewChanged struct{ View *member.View }
	// Received: a control message of the protocol came. Those that are for a
	// region are ignored, so that a shell may step both cores with each.
	Received struct {
		From member.ID
		Msg  protocol.Message
	}
	// NoPort: the node has not joined the type; it hosts nothing, and when it joins
	// it asks this node for the highest term before it obeys anybody. Or it leaves,
	// and has ended its part.
	NoPort struct{ From member.ID }
	// Wish: somebody outside wants a shard to live at an address from now on; with
	// the zero address, anywhere. With Now it is refused unless the region there can
	// take the shard.
	Wish struct {
		Shard string
		To    member.Address
		Now   bool
	}
	// Release: somebody outside wants a shard handed over, to whom the strategy
	// names but not to the node that has it if there is another. A wish for it ends.
	Release struct{ Shard string }
	// Raised answers Output.Raise with the term that the store gave, zero if it gave
	// none, and the wishes that it keeps.
	Raised struct {
		Term   uint64
		Wishes []protocol.Wish
	}
	// Saved answers Output.Save: the store keeps that wish or a newer one; or it does
	// not.
	Saved struct {
		protocol.Wish
		Kept bool
	}
	// Tick: the time of Wake has come. One too many does no harm.
	Tick struct{}
)

func (ViewChanged) input() {}
func (Received) input()    {}
func (NoPort) input()      {}
func (Wish) input()        {}
func (Release) input()     {}
func (Raised) input()      {}
func (Saved) input()       {}
func (Tick) input()        {}

// Output is what the shell must do.
type Output struct {
	Send   []Packet  // best effort, in order per receiver
	Events []Event   // for logs, in order
	Wake   time.Time // when to step a Tick; zero for never

	Raise   uint64 // ask the store for a term, at least this one, and step Raised; zero: no need
	Refused error  // why a Wish or a Release is not followed

	// Save has the store keep a wish; Saved answers it. The next one is put out when
	// that has come.
	Save *protocol.Wish
}

// A Packet is a message for a node, perhaps this one: see [protocol.Packet].
type Packet = protocol.Packet

// An Event tells an operator what a coordinator decided.
//
//sumtype:decl
type Event interface{ event() }

type (
	// Reigning: this node is the coordinator, and asks what regions host.
	Reigning struct{ Term uint64 }
	// Surveyed: all that can host have answered; shards that nobody has named
	// are given out from now on.
	Surveyed struct {
		Term   uint64
		Shards int // that were named
	}
	// Unraised: the store has not raised the term in time. This node reigns by what
	// it has heard, and goes on asking: see [Settings.Stored].
	Unraised struct{ Term uint64 }
	// Superseded: some region obeys a higher term. If this node is still the
	// coordinator by its own view, it claims a higher one yet.
	Superseded struct{ Term, By uint64 }
	// Resigned: by the membership, another node is the coordinator now.
	Resigned struct{ Term uint64 }
	// Moving: a hand-over began.
	Moving struct {
		Home protocol.Home
		Next protocol.Epoch
	}
	// Kept: a hand-over was given up, for these regions did not acknowledge; the
	// shard stays where it was.
	Kept struct {
		Home   protocol.Home
		Silent []member.ID
	}
	// GoneAhead: a hand-over does not wait for these regions any longer, for the
	// host cannot keep the shard. What they still send to it is routed on.
	GoneAhead struct {
		Home   protocol.Home
		Silent []member.ID
	}
	// Slow: the host has not stopped a shard in time. It goes on waiting: until
	// the stop is confirmed nobody else may start it.
	Slow struct {
		Home  protocol.Home
		Since time.Time
	}
	// Placed: a region hosts the shard now.
	Placed struct{ Home protocol.Home }
	// DoubleHosted: two nodes had the shard; the one with the lower epoch is
	// told to stop it.
	DoubleHosted struct {
		Stays protocol.Home
		Stops protocol.Home
	}
	// Disagrees: the region has other settings. It gets no shards, and those that
	// it has move to regions that agree.
	Disagrees struct {
		Region       member.ID
		Theirs, Ours string
	}
)

func (Reigning) event()     {}
func (Surveyed) event()     {}
func (Unraised) event()     {}
func (Superseded) event()   {}
func (Resigned) event()     {}
func (Moving) event()       {}
func (Kept) event()         {}
func (GoneAhead) event()    {}
func (Slow) event()         {}
func (Placed) event()       {}
func (DoubleHosted) event() {}
func (Disagrees) event()    {}
