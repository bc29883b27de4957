package shard

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/wire"
)

// A Type declares a kind of entity. Name, Start and Protocol are required; the
// zero values of the other fields mean the defaults beside them. All nodes that
// join the type must declare the same Shards, ShardOf and Always.
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

	// Ring has the nodes divide the shards among themselves by means of the store;
	// see there. It must be set on all nodes that join the type, or on none. Default:
	// the oldest node decides, the coordinator.
	Ring *Ring
	// Shards is how many shards the ids are divided over: about ten times the
	// number of nodes that there may ever be. Default 1000, with a Ring 300.
	Shards int
	// ShardOf gives the number of an id's shard. It must take any id, and [Join]
	// tries some, to compare it with the other nodes', and refuses one that panics. An
	// id for which it panics later, or gives no shard's number, is refused with
	// [ErrShardNumber]. Default [placement.JavaHash].
	ShardOf placement.ShardFunc
	// Role limits the hosting to the nodes that have it. On the others the type
	// is a proxy: it routes and hosts nothing. Default: every node hosts.
	Role string
	// Strategy decides where shards live and which move; Join warns of one by which
	// that takes minutes when a node joins. It is for the coordinator: a Ring has
	// an Assign instead. Default [placement.LeastShards].
	Strategy placement.Strategy

	// Idle is how long an entity lives without a message. Default 2 min; negative
	// for ever.
	Idle time.Duration
	// Remember has the node's store (troupe.Config.Store) know which entities have been
	// started, so that they are started again wherever their shard lives, without a
	// message: after a move, a crash, a restart of the whole cluster. An entity is
	// forgotten when it stops by itself or is passivated; Idle is therefore never
	// by default. One that fails is started again after its rest; see Backoff. Join
	// waits for the store, at most 5 s. Ids may have up to 2 KiB: see [ErrRememberLong].
	Remember bool
	// Always are the ids of entities that live all the time, without a message and
	// without a store: from when their shard has a home, and again wherever it moves
	// or a crash brings it, until the last node has left the type. Being idle does not
	// end them; one that fails, or stops by itself, is started again after its rest: see
	// Backoff. Other ids live as usual. The list must be the same on all nodes, in any
	// order, for nothing is sent to keep them alive: every node knows them. A node
	// with another one hosts nothing ([ErrDisagree]), so it changes when all nodes
	// have stopped, or with Name. Default: none.
	Always []string
	// RecoverRate is how many entities that are remembered, or always live, a node
	// starts in a second, those for which messages wait first. Default 1000.
	RecoverRate int
	// RecoverOpen is how many of them may be in their Start at a time. Default 64.
	RecoverOpen int
	// Limit is how many entities of the type may be active on a node. When one
	// more starts, Evict chooses who is passivated instead; one that is in use
	// stays, and the limit is exceeded for that time. Default: no limit.
	Limit int
	// LimitBytes bounds the sum of what the entities of the type on a node tell of
	// their size, in the same way. It needs StartSized. Default: no limit.
	LimitBytes int64
	// Evict chooses who has to go because of Limit or LimitBytes. Default [LRU].
	Evict Eviction
	// Pool bounds the entities of several types on a node together, beside the type's
	// own limits; see there. Default: nothing does.
	Pool *Pool
	// Stop is told to an entity that has to end, because it is idle, over a limit, or
	// its shard moves: behind all other messages, so that it can end in order, also by
	// what it does within c.Go. When that is done it ends; after HandOffTimeout it is stopped.
	// Nobody else can send it: it is not in Protocol. Default (nil, if M is an
	// interface): an entity is not told, and has its Cleanup functions.
	Stop M
	// Buffer is how many messages may wait on this node, over all shards, for a
	// home, a start or an end, or to be confirmed by their owners. Default 100,000. Beyond it Tell gives a [FullError].
	Buffer int
	// Delivery is what is promised of messages that do not stay on one node. Default
	// [AtLeastOnce].
	Delivery Delivery
	// DeliverWithin is how long a message may wait for a home, or for a word of its
	// owner, before it is given up as a dead letter. Default 5 min.
	DeliverWithin time.Duration
	// Order gives the key by which messages to one entity are put in order when they come
	// from several nodes, such as the time that a chat has given them; not ok for a message
	// that needs no order. Each is held for OrderWithin, counted from when the
	// entity's node has it, and handled behind all with a lower key that have come by then. One that
	// comes when a higher key was handled is handled at once, and counted. At most 1,000
	// messages of an entity are held. It must not block, nor tell an entity. Default: messages are handled as they come.
	Order func(m M) (key int64, ok bool)
	// OrderWithin is that time. Default 100 ms.
	OrderWithin time.Duration
	// Mailbox is how many messages may wait for one entity. Default: the node's.
	Mailbox int
	// Options vary how entities run, such as [actor.Restart].
	Options []actor.Option
	// Backoff is how long an entity that failed rests before it is started again.
	// Default: 100 ms, twice as long each time, up to 30 s.
	Backoff Backoff

	// HandOffTimeout is how long a shard may take to move; entities that have
	// not ended by then are stopped after the message in hand. Default 60 s.
	HandOffTimeout time.Duration
	// RebalanceEvery is how often the strategy is asked what should move; a Ring
	// moves whenever its nodes change. Default 10 s; negative never.
	RebalanceEvery time.Duration
	// ShardStartTimeout is how long a node may take to confirm that it hosts a
	// shard before it is told again, which is also how long a shard is without a home
	// when a link that breaks has lost the word. Default 2 s.
	ShardStartTimeout time.Duration
	// Retry is the longest time between two requests to the coordinator for the
	// same thing. Default 2 s.
	Retry time.Duration
	// Overdue is how long a shard may wait for something that sets no time itself, such
	// as a home; what waits for longer is logged, counted and a [Trouble]. Default 30 s.
	Overdue time.Duration
	// RollOut is how long a roll-out may take. Until then nothing is spread anew
	// between the nodes while they run different versions, and while nodes leave, are
	// drained, or have just come or gone. Default 15 min.
	RollOut time.Duration

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
	defaultShardStart     = 2 * time.Second
	defaultRetry          = 2 * time.Second
	defaultDeliverWithin  = 5 * time.Minute
	defaultOrderWithin    = 100 * time.Millisecond
	defaultOverdue        = 30 * time.Second
	defaultRollOut        = 15 * time.Minute
)

var typeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// withDefaults fills in the defaults and reports all problems together.
func (t Type[M]) withDefaults() (Type[M], error) {
	if t.Ring != nil {
		t.Ring = t.Ring.withDefaults()
		t.Shards = cmp.Or(t.Shards, defaultRingShards)
	}
	t.Shards = cmp.Or(t.Shards, defaultShards)
	t.Always = slices.Clone(t.Always)
	if t.Remember {
		t.Idle = cmp.Or(t.Idle, -1)
	}
	if t.recovers() {
		t.RecoverRate = cmp.Or(t.RecoverRate, defaultRecoverRate)
		t.RecoverOpen = cmp.Or(t.RecoverOpen, defaultRecoverOpen)
	}
	t.Idle = cmp.Or(t.Idle, defaultIdle)
	t.Buffer = cmp.Or(t.Buffer, defaultBuffer)
	t.Backoff = t.Backoff.withDefaults()
	t.HandOffTimeout = cmp.Or(t.HandOffTimeout, defaultHandOff)
	t.RebalanceEvery = cmp.Or(t.RebalanceEvery, defaultRebalanceEvery)
	t.ShardStartTimeout = cmp.Or(t.ShardStartTimeout, defaultShardStart)
	t.Retry = cmp.Or(t.Retry, defaultRetry)
	t.DeliverWithin = cmp.Or(t.DeliverWithin, defaultDeliverWithin)
	if t.Order != nil {
		t.OrderWithin = cmp.Or(t.OrderWithin, defaultOrderWithin)
	}
	t.Overdue = cmp.Or(t.Overdue, defaultOverdue)
	t.RollOut = cmp.Or(t.RollOut, defaultRollOut)
	if t.ShardOf == nil {
		t.ShardOf = placement.JavaHash
	}
	if t.Strategy == nil && t.Ring == nil {
		t.Strategy = placement.LeastShards{}
	}
	return t, t.validate()
}

func (t Type[M]) limited() bool { return t.Limit > 0 || t.LimitBytes > 0 }

// recovers tells whether entities are started without a message.
func (t Type[M]) recovers() bool { return t.Remember || len(t.Always) > 0 }

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
	if err := t.probe(); err != nil {
		problems = append(problems, err)
	}
	check(t.Ring == nil || t.Strategy == nil, "Strategy and Ring are both set: a coordinator has a strategy, and a ring has Ring.Assign; use one of them")
	if t.Ring != nil {
		problems = append(problems, t.Ring.problems())
	}
	check(t.Buffer >= 1, "Buffer is %d: use 1 or more", t.Buffer)
	check(t.Limit >= 0, "Limit is %d: it cannot be negative", t.Limit)
	check(t.LimitBytes >= 0, "LimitBytes is %d: it cannot be negative", t.LimitBytes)
	check(t.LimitBytes == 0 || t.StartSized != nil, "LimitBytes is %d, but without StartSized no entity tells its size", t.LimitBytes)
	check(t.Evict <= S3FIFO, "Evict is %d: use LRU, LFU or S3FIFO", t.Evict)
	check(t.Evict == LRU || t.limited(), "Evict is set without Limit or LimitBytes, so that nobody has to go for it; who goes for a pool is Pool.Evict's to choose")
	check(!t.stops() || t.Protocol == nil || t.Protocol.Check(t.Stop) != nil, "Stop is %T, which is in Protocol, so that others could send it: use a message of its own", t.Stop)
	if err := t.Pool.problems(t.StartSized != nil); err != nil {
		problems = append(problems, err)
	}
	check(!t.Remember || !t.limited(), "Remember and Limit or LimitBytes are both set: who is passivated for a limit would be forgotten; use one of them")
	check(!t.Remember || t.Pool == nil, "Remember and Pool are both set: who is passivated for the pool would be forgotten; use one of them")
	check(!t.Remember || t.Backoff.Min >= 0, "Backoff.Min is %s: with Remember one that always fails would be started without a rest; use 0 or more", t.Backoff.Min)
	check(t.recovers() || t.RecoverRate == 0 && t.RecoverOpen == 0, "RecoverRate or RecoverOpen is set without Remember or Always, so that there is nobody to recover")
	problems = append(problems, t.alwaysProblems())
	check(t.RecoverRate >= 0, "RecoverRate is %d: it cannot be negative", t.RecoverRate)
	check(t.RecoverOpen >= 0, "RecoverOpen is %d: it cannot be negative", t.RecoverOpen)
	check(t.Backoff.Max >= t.Backoff.Min, "Backoff.Max is %s: it cannot be less than Min, %s", t.Backoff.Max, t.Backoff.Min)
	check(t.Delivery <= AtMostOnce, "Delivery is %d: use AtLeastOnce or AtMostOnce", t.Delivery)
	check(t.OrderWithin >= 0, "OrderWithin is %s: it cannot be negative", t.OrderWithin)
	check(t.OrderWithin == 0 || t.Order != nil, "OrderWithin is %s, but without Order no message has a key", t.OrderWithin)
	check(t.Mailbox >= 0, "Mailbox is %d: it cannot be negative", t.Mailbox)
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"HandOffTimeout", t.HandOffTimeout},
		{"ShardStartTimeout", t.ShardStartTimeout},
		{"Retry", t.Retry},
		{"DeliverWithin", t.DeliverWithin},
		{"Overdue", t.Overdue},
		{"RollOut", t.RollOut},
	} {
		check(d.value > 0, "%s is %s: it must be positive", d.name, d.value)
	}
	return errors.Join(problems...)
}
