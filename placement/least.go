package placement

import (
	"cmp"

	"github.com/troupe-go/troupe/internal/member"
)

// LeastShards gives a new shard to the region with the fewest and moves shards
// until all regions have the same number, give or take one. It moves only what
// is above the optimum, so that a shard moves once and the rest stay; each
// round waits for the one before it. It is the default.
type LeastShards struct {
	// AbsoluteLimit is how many shards a round moves at most. Default 100: so
	// many hand-overs are done within a few seconds. Negative for one.
	AbsoluteLimit int
	// RelativeLimit is the share of all shards that a round moves at most; one
	// is always allowed. Default 0.1, which is what a tenth node takes over.
	// Negative for one shard.
	RelativeLimit float64
}

// Name is "least-shards".
func (LeastShards) Name() string { return "least-shards" }

// Allocate gives the region with the fewest shards among those of the newest
// version whose members are not on their way out.
func (LeastShards) Allocate(s State, _ string) (region member.ID, ok bool) { return s.mostSuitable() }

// Rebalance takes, from each region that has more than its share, its oldest
// shards; when no region has too many but some have too few, one each from
// regions that can spare it.
func (l LeastShards) Rebalance(s State, inProgress []string) []string {
	if len(inProgress) > 0 || s.Hold() != "" {
		return nil
	}
	regions := s.ranked()
	total := 0
	for _, r := range regions {
		total += len(r.Shards)
	}
	share := (total + len(regions) - 1) / len(regions) // rounded up
	limit := l.limit(total)
	if excess := above(regions, share, limit); len(excess) > 0 {
		return excess
	}
	return fillUp(regions, share, limit)
}

func (l LeastShards) limit(total int) int {
	absolute := cmp.Or(l.AbsoluteLimit, 100)
	relative := cmp.Or(l.RelativeLimit, 0.1)
	return max(1, min(int(relative*float64(total)), absolute))
}

// above is what regions have beyond their share.
func above(regions []candidate, share, limit int) []string {
	var moves []string
	for _, r := range regions {
		n := min(len(r.Shards)-share, limit-len(moves))
		if n > 0 {
			moves = append(moves, r.Shards[:n]...)
		}
	}
	return moves
}

// fillUp is one shard of each region with a full share, as many as regions
// with less than a share minus one lack.
func fillUp(regions []candidate, share, limit int) []string {
	lack := 0
	for _, r := range regions {
		lack += max(0, share-1-len(r.Shards))
	}
	var moves []string
	for _, r := range regions {
		if len(r.Shards) >= share && len(moves) < min(lack, limit) {
			moves = append(moves, r.Shards[0])
		}
	}
	return moves
}
