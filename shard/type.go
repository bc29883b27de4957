package shard

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/wire"
)

// A Type declares a kind of entity. Name, Start and Protocol are required; the
// zero values of the other fields mean the defaults beside them. All nodes that
// join the type must declare the same Shards and ShardOf.
type Type[M any] struct {
	// Name of the type, the same on all nodes: letters, digits, - _ and dots.
	Name string
	// Start makes an entity's first behavior. In it, c.Name() is the entity's id
	// and c.Self() the ref that leads to it wherever it lives later.
	Start actor.Start[M]
	// StartSized is what entities have in place of Start if they tell how large
	// they are: they call size on the entity whenever that has changed by much.
	// What they told counts against LimitBytes until they end.
	StartSized func(c *actor.Ctx[M], size func(bytes int64)) (actor.Behavior[M], error)
	// Protocol names the messages that entities take. Others are refused at
	// Tell, also for an entity on the same node.
	Protocol *wire.Protocol[M]

	// Shards is how many shards the ids are divided over: about ten times the
	// number of nodes that there may ever be. Default 1000.
	Shards int
	// ShardOf gives the number of an id's shard. It must take any id, and [Join]
	// tries some, to compare it with the other nodes'. Default [placement.JavaHash].
	ShardOf placement.ShardFunc
	// Role limits the hosting to the nodes that have it. On the others the type
	// is a proxy: it routes and hosts nothing. Default: every node hosts.
	Role string
	// Strategy decides where shards live and which move; Join warns of one by which
	// that takes minutes when a node joins. Default [placement.LeastShards].
	Strategy placement.Strategy

	// Idle is how long an entity lives without a message. Default 2 min; negative
	// for ever.
	Idle time.Duration
	// Limit is how many entities of the type may be active on a node. When one
	// more starts, Evict chooses who is passivated instead; one that is in use
	// stays, and the limit is exceeded for that time. Default: no limit.
	Limit int
	// LimitBytes bounds the sum of what the entities of the type on a node tell of
	// their size, in the same way. It needs StartSized. Default: no limit.
	LimitBytes int64
	// Evict chooses who has to go because of a limit. Default [LRU].
	Evict Eviction
	// Buffer is how many messages may wait on this node, over all shards, for a
	// home, a start or an end. Default 100,000. Beyond it Tell gives a [FullError].
	Buffer int
	// Mailbox is how many messages may wait for one entity. Default: the node's.
	Mailbox int
	// Options vary how entities run, such as [actor.Restart].
	Options []actor.Option

	// HandOffTimeout is how long a shard may take to move; entities that have
	// not ended by then are stopped after the message in hand. Default 60 s.
	HandOffTimeout time.Duration
	// RebalanceEvery is how often the strategy is asked what should move.
	// Default 10 s; negative never.
	RebalanceEvery time.Duration
	// ShardStartTimeout is how long a node may take to confirm that it hosts a
	// shard before it is told again. Default 10 s.
	ShardStartTimeout time.Duration
	// Retry is the longest time between two requests to the coordinator for the
	// same thing. Default 2 s.
	Retry time.Duration

	// Observe hears what happens to entities and shards on this node: see
	// [Event]. It must not block.
	Observe func(Event)
}

const (
	defaultShards         = 1000
	maxShards             = 1 << 20
	defaultIdle           = 2 * time.Minute
	defaultBuffer         = 100_000
	defaultHandOff        = 60 * time.Second
	defaultRebalanceEvery = 10 * time.Second
	defaultShardStart     = 10 * time.Second
	defaultRetry          = 2 * time.Second
)

var typeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// withDefaults fills in the defaults and reports all problems together.
func (t Type[M]) withDefaults() (Type[M], error) {
	t.Shards = cmp.Or(t.Shards, defaultShards)
	t.Idle = cmp.Or(t.Idle, defaultIdle)
	t.Buffer = cmp.Or(t.Buffer, defaultBuffer)
	t.HandOffTimeout = cmp.Or(t.HandOffTimeout, defaultHandOff)
	t.RebalanceEvery = cmp.Or(t.RebalanceEvery, defaultRebalanceEvery)
	t.ShardStartTimeout = cmp.Or(t.ShardStartTimeout, defaultShardStart)
	t.Retry = cmp.Or(t.Retry, defaultRetry)
	if t.ShardOf == nil {
		t.ShardOf = placement.JavaHash
	}
	if t.Strategy == nil {
		t.Strategy = placement.LeastShards{}
	}
	return t, t.validate()
}

func (t Type[M]) limited() bool { return t.Limit > 0 || t.LimitBytes > 0 }

func (t Type[M]) validate() error {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	check(typeName.MatchString(t.Name), "Name %q: use 1 to 128 letters, digits, - _ and dots, a letter or digit first", t.Name)
	check(t.Start != nil || t.StartSized != nil, "Start is nil: it makes an entity's behavior")
	check(t.Start == nil || t.StartSized == nil, "Start and StartSized are both set: use one")
	check(t.Protocol != nil, "Protocol is nil: it names the messages that travel; see wire.NewProtocol")
	check(t.Shards >= 1 && t.Shards <= maxShards, "Shards is %d: use 1 to %d", t.Shards, maxShards)
	check(t.Buffer >= 1, "Buffer is %d: use 1 or more", t.Buffer)
	check(t.Limit >= 0, "Limit is %d: it cannot be negative", t.Limit)
	check(t.LimitBytes >= 0, "LimitBytes is %d: it cannot be negative", t.LimitBytes)
	check(t.LimitBytes == 0 || t.StartSized != nil, "LimitBytes is %d, but without StartSized no entity tells its size", t.LimitBytes)
	check(t.Evict <= S3FIFO, "Evict is %d: use LRU, LFU or S3FIFO", t.Evict)
	check(t.Evict == LRU || t.limited(), "Evict is set without Limit or LimitBytes, so that nobody has to go")
	check(t.Mailbox >= 0, "Mailbox is %d: it cannot be negative", t.Mailbox)
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"HandOffTimeout", t.HandOffTimeout},
		{"ShardStartTimeout", t.ShardStartTimeout},
		{"Retry", t.Retry},
	} {
		check(d.value > 0, "%s is %s: it must be positive", d.name, d.value)
	}
	return errors.Join(problems...)
}
