// Package placement decides where shards live: which shard an id belongs to,
// which region gets a new shard, and which shards move to restore balance.
//
// Everything is a pure function of its arguments and safe for concurrent use:
// the same input gives the same answer on every node and in every process, so
// a decision can be repeated, compared and explained. Nothing here moves a
// shard.
//
// There are two families. A [Strategy] advises a coordinator that knows what
// all regions host; [Plan] tells ahead what it would do. An [Assigner] is what
// runners agree by that have no coordinator, only a table of runners and one of
// locks.
package placement

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// A Region is one node's part in an entity type: a place that can host shards.
type Region struct {
	ID     member.ID
	Shards []string // in the order in which they were allocated, oldest first
}

// State is what a decision is made from. A strategy reads it and keeps no part
// of it.
type State struct {
	// Regions that may host, in an order that stays the same from one question
	// to the next: ties go to the one listed first. Whoever asks leaves out the
	// regions that must not get a shard, such as those that shut down.
	Regions []Region
	// Members is the whole cluster, in the order of member.ID.Compare.
	Members []member.Member
	// Unreachable are the members that are held for unreachable.
	Unreachable []member.ID
	// DataCenter is the one of the node that asks.
	DataCenter string
	// Homes are the places of shards that were set from outside: see [External].
	Homes map[string]member.Address
	// Loads are what was measured of shards, as far as it is known: see
	// [LeastLoad].
	Loads map[string]Load
	// Impatient: versions have been mixed for so long that it is no roll-out any more,
	// and holds nothing back.
	Impatient bool
}

// A Strategy decides for one entity type. Implementations are values without
// state of their own; one may be shared by all types of all nodes.
type Strategy interface {
	// Name identifies the strategy in logs and tools, such as "least-shards".
	Name() string
	// Allocate chooses the region of a shard that has none. It is false when no
	// region will do; the question is then asked again later.
	Allocate(s State, shard string) (region member.ID, ok bool)
	// Rebalance names shards that should leave their region now; each is handed
	// over and then allocated anew. The answer has no repeats and none of
	// inProgress, the shards that are already on their way.
	Rebalance(s State, inProgress []string) []string
}

// member finds the entry of a region's node, exactly this incarnation.
func (s State) member(id member.ID) (member.Member, bool) {
	i, ok := slices.BinarySearchFunc(s.Members, id, func(m member.Member, id member.ID) int { return m.ID.Compare(id) })
	if !ok {
		return member.Member{}, false
	}
	return s.Members[i], true
}
