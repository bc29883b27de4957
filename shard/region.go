package shard

import (
	"context"
	"slices"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/placement"
)

// Region is a node's part in a type, whatever its messages: for tools. All
// methods are safe for concurrent use. Those without a context read what is known
// on this node at that moment; the others may ask other nodes, each of which has two
// seconds to answer.
type Region interface {
	TypeName() string
	// ShardOf gives the shard of an entity id, empty if the type's ShardOf panics for it.
	ShardOf(id string) string
	// Home is where a shard lives, as far as this node knows.
	Home(shard string) (troupe.ID, bool)
	// Hosted lists the shards that live here, by number.
	Hosted() []ShardStat
	// Hosts is false for a proxy, which routes and hosts nothing.
	Hosts() bool
	// Registered tells whether whoever decides where shards live knows of this region.
	Registered() bool
	// Waiting is how many messages wait on this node for a home, a start or an end.
	Waiting() int
	// Drops counts what was let go, by reason; reasons that never occurred are
	// left out.
	Drops() map[Drop]uint64
	// Stats is how all of that stands but the drops, and how many waits were overdue.
	Stats() RegionStats
	// ClusterStats asks every member for its Stats. Who does not answer is named.
	ClusterStats(ctx context.Context) ClusterStats
	// Why tells where an entity is or should be, and what that waits for: as this node
	// sees it, and as those do who decide and who host.
	Why(ctx context.Context, id string) Why
	// Troubles are the waits that have lasted for longer than they may.
	Troubles() []Trouble
	// Move has a shard handed over to the node at an address, where it stays until it
	// is released: see [Entities.SetHome]. It returns when that has begun. An error
	// says why it cannot be: [ErrUnfit], [ErrNoShard], [ErrUndecided].
	Move(ctx context.Context, shard string, to troupe.Address) error
	// Release takes back what Move or SetHome said, and has the shard handed over to
	// whoever the strategy names, another node than now if there is one. With a ring
	// its host gives up the lock: the node to which the shard is assigned takes it.
	// It returns when that has begun. An error says why it cannot be:
	// [ErrUnsettled], [ErrUnfit], [ErrNoShard], [ErrUndecided].
	Release(ctx context.Context, shard string) error
}

// participant is what the office of a node wants of a region besides.
type participant interface {
	Region
	account(shard string) account
	relocate(r relocation) error
	spare(on bool)
}

// Regions lists the types that were joined on a node, by name.
func Regions(n *troupe.Node) []Region { return joinedOn(n).list() }

func (r *shell[M]) TypeName() string { return r.typ.Name }

func (r *shell[M]) ShardOf(id string) string {
	number, err := numberOf(r.typ.ShardOf, id, r.typ.Shards)
	if err != nil {
		return ""
	}
	return placement.ShardText(number)
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

// Troubles implements [Region].
func (r *shell[M]) Troubles() []Trouble { return slices.Clone(r.control.troubles()) }
