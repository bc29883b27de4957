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
	// ErrShardNumber: ShardOf gave a number that is not a shard.
	ErrShardNumber = actor.Error("shard: number of the shard out of range")
	// ErrDisagree: two nodes declare the type differently. What waits for a home on
	// the one that the coordinator does not agree with is dropped with it, and what
	// is told there is refused. Start it with the coordinator's Shards and ShardOf.
	ErrDisagree = actor.Error("shard: nodes disagree on Shards or ShardOf")
	// ErrHops: a message was passed on by too many nodes, none of which was its
	// home. Homes were moving faster than the news of them; it is safe to retry.
	ErrHops = actor.Error("shard: passed on too often")
)

// A FullError refuses a message because too many wait on this node already.
// errors.Is finds [actor.ErrFull] in it. Sending later helps; so does a higher limit.
type FullError struct {
	To      string // the entity
	Limit   int    // messages
	Setting string // that names the limit
}

func (e *FullError) Error() string {
	return fmt.Sprintf("tell %s: %d messages wait on this node for homes of their shards (%s): %v", e.To, e.Limit, e.Setting, actor.ErrFull)
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
