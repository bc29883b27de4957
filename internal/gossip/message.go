package gossip

import "github.com/troupe-go/troupe/internal/member"

// A Message travels between the machines of two nodes. The sender's identity
// is not in it: the transport knows it from the handshake and hands it over in
// [Received]. Messages are immutable once sent, and best effort: a lost one is
// made up for by the next round of its timer.
//
//sumtype:decl
type Message interface{ gossipMessage() }

type (
	// InitJoin asks a seed whether it is a member of a cluster to join.
	InitJoin struct {
		Cluster  string         `cbor:"1,keyasint"`
		Settings []Setting      `cbor:"2,keyasint,omitempty"` // the joiner's values that have to agree
		Choice   member.Address `cbor:"3,keyasint,omitzero"`  // see [JoinContacts]
	}

	// InitJoinAck says yes to an [InitJoin]. As an invitation it is sent
	// unasked, unchecked, to a configured seed that is not in the cluster, so
	// that a restarted seed finds the cluster that lives on without it.
	InitJoinAck struct {
		Cluster  string           `cbor:"1,keyasint"`
		Check    Check            `cbor:"2,keyasint"`
		Settings []Setting        `cbor:"3,keyasint,omitempty"` // the member's values of the same names
		ID       member.ClusterID `cbor:"4,keyasint"`

		Invitation bool  `cbor:"5,keyasint,omitempty"`
		Stage      Stage `cbor:"6,keyasint"`
		Closing    bool  `cbor:"7,keyasint,omitempty"` // the whole cluster shuts down, and lets nobody in
	}

	// InitJoinNack says that the seed is no member, or is about to be none.
	InitJoinNack struct {
		Cluster string         `cbor:"1,keyasint"`
		Choice  member.Address `cbor:"2,keyasint,omitzero"` // see [JoinContacts]
	}

	// Join asks a member to add the sender to the cluster. It is sent again
	// until [Welcome] comes.
	Join struct {
		Cluster    string    `cbor:"1,keyasint"`
		Node       member.ID `cbor:"2,keyasint"` // the sender
		Roles      []string  `cbor:"3,keyasint,omitempty"`
		DataCenter string    `cbor:"4,keyasint"`
		AppVersion string    `cbor:"5,keyasint,omitempty"`

		ID member.ClusterID `cbor:"6,keyasint,omitempty"` // the cluster that was asked; zero for any
	}

	// Welcome answers a [Join] with the state that has the joiner in it.
	Welcome struct {
		Cluster string    `cbor:"1,keyasint"`
		To      member.ID `cbor:"2,keyasint"`
		Gossip  Packed    `cbor:"3,keyasint"`
	}

	// GossipStatus tells which version the sender has, so that the two find
	// out cheaply whether one of them has to send its state.
	GossipStatus struct {
		Version []Count          `cbor:"1,keyasint,omitempty"` // in the order of member.ID.Compare
		Seen    uint64           `cbor:"2,keyasint"`           // digest of the set that has seen it
		ID      member.ClusterID `cbor:"3,keyasint"`
	}

	// GossipEnvelope carries the whole state to exactly one incarnation: mail
	// for its predecessor on the same address is dropped.
	GossipEnvelope struct {
		Cluster string    `cbor:"1,keyasint"`
		To      member.ID `cbor:"2,keyasint"`
		Gossip  Packed    `cbor:"3,keyasint"`
	}

	// ExitingConfirmed tells that the sender, which is Exiting, has handed
	// over all it had and may be removed.
	ExitingConfirmed struct{}

	// Heartbeat asks for a sign of life.
	Heartbeat struct {
		Seq uint64 `cbor:"1,keyasint"`
	}

	// HeartbeatRsp is the sign of life; it repeats the number.
	HeartbeatRsp struct {
		Seq uint64 `cbor:"1,keyasint"`
	}

	// CrashVote says that the sender has every sign that the process of an
	// incarnation is gone, or takes that back. It holds for a while only and is
	// repeated. Package membership counts; a [Machine] does nothing with it.
	CrashVote struct {
		Suspect   member.ID `cbor:"1,keyasint"`
		Withdrawn bool      `cbor:"2,keyasint,omitempty"`
	}
)

// Count is one entry of a vector clock.
type Count struct {
	Node member.ID `cbor:"1,keyasint"`
	N    uint64    `cbor:"2,keyasint"` // positive
}

// Stage tells how far a cluster has come since it was founded. See [State].Quorum.
type Stage uint8

// The stages; the numbers travel.
const (
	Incomplete Stage = iota // it needs more members to begin
	Complete                // it has them, but not all agree
	Begun                   // members have come up
)

// Check is what a member found when it compared the joiner's values with its
// own.
type Check uint8

// The outcomes; the numbers travel.
const (
	Unchecked    Check = iota // the joiner sent no values
	Compatible                // all that both have agree
	Incompatible              // the joiner should not join
)

func (InitJoin) gossipMessage()         {}
func (InitJoinAck) gossipMessage()      {}
func (InitJoinNack) gossipMessage()     {}
func (Join) gossipMessage()             {}
func (Welcome) gossipMessage()          {}
func (GossipStatus) gossipMessage()     {}
func (GossipEnvelope) gossipMessage()   {}
func (ExitingConfirmed) gossipMessage() {}
func (Heartbeat) gossipMessage()        {}
func (HeartbeatRsp) gossipMessage()     {}
func (CrashVote) gossipMessage()        {}

// Messages lists the zero value of every message once, for those who make
// codecs. The names on the wire are given where messages are put on it.
func Messages() []Message {
	return []Message{
		InitJoin{},
		InitJoinAck{},
		InitJoinNack{},
		Join{},
		Welcome{},
		GossipStatus{},
		GossipEnvelope{},
		ExitingConfirmed{},
		Heartbeat{},
		HeartbeatRsp{},
		CrashVote{},
	}
}
