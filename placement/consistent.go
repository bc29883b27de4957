package placement

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// ringPoints is how often each region's node is on the ring.
const ringPoints = 10

// ConsistentHashing lets the hash of a shard's id decide: types that have the
// same shard ids keep them on the same nodes, and a node that comes or goes
// moves only its own share. The shares are less even than with [LeastShards].
type ConsistentHashing struct {
	// Limit is how many shards a round moves at most; 0 for no limit.
	Limit int
	// Prefix is put before host:port when a node's address is hashed, such as
	// "pekko://app@" for the map that a JVM cluster of that name has.
	Prefix string
}

// Name is "consistent-hashing".
func (ConsistentHashing) Name() string { return "consistent-hashing" }

// Allocate gives the region at or after the shard's place on the ring. A
// region on a node that is not a member, or not yet known to be one, counts.
func (c ConsistentHashing) Allocate(s State, shard string) (region member.ID, ok bool) {
	if len(s.Regions) == 0 {
		return member.ID{}, false
	}
	regions := byAddress(s.Regions)
	return regions[c.ring(regions).nodeFor(shard)].ID, true
}

// Rebalance names the shards that are not where the ring wants them, by
// regions in address order.
func (c ConsistentHashing) Rebalance(s State, inProgress []string) []string {
	if s.Hold() != "" {
		return nil
	}
	regions := byAddress(s.Regions)
	ring := c.ring(regions)
	var moves []string
	for i, r := range regions {
		for _, shard := range r.Shards {
			if c.Limit > 0 && len(moves) == c.Limit {
				return moves
			}
			if ring.nodeFor(shard) != i && !slices.Contains(inProgress, shard) {
				moves = append(moves, shard)
			}
		}
	}
	return moves
}

func (c ConsistentHashing) ring(regions []Region) ring {
	nodes := make([]string, len(regions))
	for i, r := range regions {
		nodes[i] = c.Prefix + r.ID.Address.String()
	}
	return newRing(nodes, ringPoints)
}

func byAddress(regions []Region) []Region {
	return slices.SortedFunc(slices.Values(regions), func(a, b Region) int { return a.ID.Compare(b.ID) })
}
