package shard

import (
	"cmp"
	"slices"
	"sync"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/placement"
)

// An Event is something that happened to an entity or a shard, as this node sees
// it. Events of one entity are told on the entity itself, in order with what it
// does: its start is told before its first message, its end after its last
// cleanup. Homes are told in the order in which the node learned of them.
type Event struct {
	Kind  EventKind
	Type  string
	Shard string
	ID    string    // of the entity; empty for homes
	Node  troupe.ID // where the entity or the shard lives
}

// EventKind says what happened.
type EventKind uint8

// The kinds of event.
const (
	EntityStarted EventKind = iota + 1 // an incarnation has started here
	EntityStopped                      // it has ended, or is about to be restarted
	HomeLearned                        // the shard lives on Node
)

// Region is a node's part in a type, whatever its messages: for tools. All
// methods are safe for concurrent use and read what is known at that moment.
type Region interface {
	TypeName() string
	// ShardOf gives the shard of an entity id.
	ShardOf(id string) string
	// Home is where a shard lives, as far as this node knows.
	Home(shard string) (troupe.ID, bool)
	// Hosted lists the shards that live here, by number.
	Hosted() []ShardStat
	// Hosts is false for a proxy, which routes and hosts nothing.
	Hosts() bool
	// Registered tells whether a coordinator knows of this region.
	Registered() bool
	// Waiting is how many messages wait on this node for a home, a start or an end.
	Waiting() int
	// Drops counts what was let go, by reason; reasons that never occurred are
	// left out.
	Drops() map[Drop]uint64
	// Why says in plain words how the shard of an entity stands and what it waits for.
	Why(id string) []string
}

// ShardStat is one hosted shard.
type ShardStat struct {
	Shard    string
	Entities int
}

// Regions lists the types that were joined on a node, by name.
func Regions(n *troupe.Node) []Region { return joinedOn(n).list() }

// joined are the types of one node.
type joined struct {
	mu      sync.Mutex
	regions []Region
}

type joinedKey struct{}

func joinedOn(n interface {
	Component(key any, create func() any) any
},
) *joined {
	return n.Component(joinedKey{}, func() any { return new(joined) }).(*joined)
}

// add refuses a type of a name that is taken.
func (j *joined) add(r Region) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	i, taken := slices.BinarySearchFunc(j.regions, r.TypeName(), func(r Region, name string) int {
		return cmp.Compare(r.TypeName(), name)
	})
	if taken {
		return ErrJoined
	}
	j.regions = slices.Insert(j.regions, i, r)
	return nil
}

func (j *joined) remove(r Region) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.regions = slices.DeleteFunc(j.regions, func(o Region) bool { return o == r })
}

func (j *joined) list() []Region {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.regions)
}

func (r *shell[M]) TypeName() string { return r.typ.Name }

func (r *shell[M]) ShardOf(id string) string {
	return placement.ShardText(r.typ.ShardOf(id, r.typ.Shards))
}

// A regionOf is the [Region] of a shell: as the door of entities a shell has another
// Home.
type regionOf[M any] struct{ *shell[M] }

// Home implements Region.
func (r regionOf[M]) Home(shard string) (troupe.ID, bool) {
	s, ok := r.slotNamed(shard)
	if !ok {
		return troupe.ID{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.target == nil {
		return troupe.ID{}, false
	}
	return s.target.home, true
}

func (r *shell[M]) Hosted() []ShardStat {
	var out []ShardStat
	for s := range r.allSlots() {
		s.mu.Lock()
		if s.here != nil {
			out = append(out, ShardStat{Shard: s.shard, Entities: len(s.here.entities)})
		}
		s.mu.Unlock()
	}
	return out
}

func (r *shell[M]) Hosts() bool            { return r.control.hosts.Load() }
func (r *shell[M]) Registered() bool       { return r.control.registered.Load() }
func (r *shell[M]) Waiting() int           { return int(r.room.used.Load()) }
func (r *shell[M]) Drops() map[Drop]uint64 { return r.counts.read() }

func (r *shell[M]) Why(id string) []string {
	s, err := r.slotOf(id)
	if err != nil {
		return []string{err.Error()}
	}
	return append([]string{s.describe()}, r.control.why(s.shard)...)
}

// start is the Start of all entities: the user's, which also marks that the
// entity came to life and tells the observer.
func (r *shell[M]) start(c *actor.Ctx[M]) (actor.Behavior[M], error) {
	e := r.active.find(c.Name()) // here before its cell, and until that has ended
	begin := r.typ.Start
	if r.typ.StartSized != nil {
		begin = func(c *actor.Ctx[M]) (actor.Behavior[M], error) { return r.typ.StartSized(c, e.resize) }
	}
	if r.typ.Observe == nil {
		b, err := begin(c)
		e.started = e.started || err == nil
		return b, err
	}
	event := Event{Type: r.typ.Name, Shard: e.home.s.shard, ID: c.Name(), Node: r.self}
	tell := func(k EventKind) {
		event.Kind = k
		r.typ.Observe(event)
	}
	live := false
	// The first cleanup runs last: the end is told after all else.
	c.Cleanup(func() {
		if live {
			tell(EntityStopped)
		}
	})
	b, err := begin(c)
	if err != nil {
		return nil, err
	}
	e.started, live = true, true
	tell(EntityStarted)
	return b, nil
}
