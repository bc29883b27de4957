package shard

import (
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/transport"
)

const (
	// ErrJoined: the type was joined before on this node.
	ErrJoined = actor.Error("shard: type already joined on this node")
	// ErrEnded: this node has ended, so it takes no messages any more.
	ErrEnded = actor.Error("shard: this node has ended")
	// ErrNoID refuses an empty entity id.
	ErrNoID = actor.Error("shard: empty entity id")
	// ErrShardNumber: ShardOf gave a number that is not a shard, or panicked.
	ErrShardNumber = actor.Error("shard: number of the shard out of range")
	// ErrDisagree: two nodes declare the type differently. What waits for a home on
	// the one that the coordinator, or the oldest seat of a ring, does not agree with is
	// dropped with it, and what is told there is refused. Start it with the Shards, ShardOf
	// and Ring of the others; its log has both declarations.
	ErrDisagree = actor.Error("shard: nodes disagree on Shards, ShardOf or Ring")
	// ErrNoStore: the node has no store in which entities could keep anything. Set
	// troupe.Config.Store on all nodes that host the type.
	ErrNoStore = actor.Error("shard: the node has no store")
	// ErrNotEntity: the actor is no entity, so that no shard's owner may write for it.
	ErrNotEntity = actor.Error("shard: the actor is not an entity")
	// ErrRemembered: the store has the entities of the type by other Shards or another
	// ShardOf than are declared, so that each might be started twice. Declare what is
	// stored, or give the type another Name.
	ErrRemembered = actor.Error("shard: entities are remembered by another division into shards")
	// ErrRememberFull: a shard has so many remembered entities that the store takes no
	// more: about 400,000 with ids of 40 bytes. Use more Shards under another Name.
	ErrRememberFull = actor.Error("shard: no more entities can be remembered in the shard")
	// ErrRememberLong: the id is longer than 2 KiB, so that it could never be stored that
	// the entity is to be remembered. Use shorter ids, such as a hash of what they are now.
	ErrRememberLong = actor.Error("shard: the id is too long to be remembered")
	// ErrPoison: ten owners of the shard in a row have got the message, and ended
	// before they had confirmed it. It may be what ended them, so nobody gets it any more.
	ErrPoison = actor.Error("shard: ten owners have ended with the message")
	// ErrHops: a message was passed on by too many nodes, none of which was its
	// home. Homes were moving faster than the news of them; it is safe to retry.
	ErrHops = actor.Error("shard: passed on too often")
	// ErrHomeless: no home of its shard was known for [Type.DeliverWithin]. It was not
	// sent; it is safe to retry.
	ErrHomeless = actor.Error("shard: no home of its shard was known in time")
	// ErrUnconfirmed: it was sent, and nothing was heard of its owner for
	// [Type.DeliverWithin]. Perhaps it was handled.
	ErrUnconfirmed = actor.Error("shard: its owner has not confirmed it in time")
)

// A FullError refuses a message because too many wait on this node already.
// errors.Is finds [actor.ErrFull] in it. Sending later helps; so does a higher limit.
type FullError struct {
	To      string // the entity
	Limit   int    // messages
	Setting string // that names the limit
}

func (e *FullError) Error() string {
	return fmt.Sprintf("tell %s: %d messages wait on this node for a home, an entity or a confirmation (%s): %v", e.To, e.Limit, e.Setting, actor.ErrFull)
}

// Unwrap makes errors.Is(err, actor.ErrFull) hold.
func (e *FullError) Unwrap() error { return actor.ErrFull }

func (r *shell[M]) full(id string) error {
	return &FullError{To: r.Describe(id), Limit: r.typ.Buffer, Setting: "Type.Buffer of " + r.typ.Name}
}

// refuse tells a teller whose message was not taken, and why; nil stays nil. A
// full lane is a full queue like any other.
func (r *shell[M]) refuse(id string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, transport.ErrFull) {
		return fmt.Errorf("tell %s: %w: %w", r.Describe(id), actor.ErrFull, err)
	}
	return fmt.Errorf("tell %s: %w", r.Describe(id), err)
}
