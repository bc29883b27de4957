package placement

import (
	"cmp"
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// LeastShardsLegacy is the older algorithm of the JVM's sharding: a few shards
// at a time go from the region with the most to the one with the fewest. It is
// slower to settle than [LeastShards] and here for clusters that compare.
type LeastShardsLegacy struct {
	// Threshold is the difference between the most and the fewest shards that
	// is left alone, and how many move at once. Default 1.
	Threshold int
	// MaxSimultaneous is how many may be on their way at a time. Default 3.
	MaxSimultaneous int
}

// Name is "least-shards-legacy".
func (LeastShardsLegacy) Name() string { return "least-shards-legacy" }

// Allocate chooses as [LeastShards.Allocate] does.
func (LeastShardsLegacy) Allocate(s State, _ string) (region member.ID, ok bool) {
	return s.mostSuitable()
}

// Rebalance takes the lowest shard ids (as text) of the region with the most
// shards.
func (l LeastShardsLegacy) Rebalance(s State, inProgress []string) []string {
	threshold := cmp.Or(l.Threshold, 1)
	free := cmp.Or(l.MaxSimultaneous, 3) - len(inProgress)
	if free <= 0 || s.Hold() != "" {
		return nil
	}
	regions := s.ranked()
	fewest := len(slices.MinFunc(regions, candidate.compare).Shards)
	var most []string // not counting those on their way
	for i, r := range regions {
		staying := slices.DeleteFunc(slices.Clone(r.Shards), func(shard string) bool {
			return slices.Contains(inProgress, shard)
		})
		if i == 0 || len(staying) > len(most) {
			most = staying
		}
	}
	difference := len(most) - fewest
	n := min(difference-threshold, threshold, free)
	if n <= 0 {
		return nil
	}
	slices.Sort(most)
	return most[:n]
}
