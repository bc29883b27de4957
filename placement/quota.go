package placement

import (
	"cmp"
	"math"
)

// quotas divides the shards among the servers by weight: Webster's method
// (Balinski and Young, Fair Representation, 1982). Servers of one weight get
// the same number, give or take one.
//
// It is what makes the least movement possible. Divisor methods are the only
// ones where nobody who stays gains when another comes, and nobody loses when
// another goes (the book's population monotonicity): with shares that are merely
// rounded a runner that stays may gain from another that stays, when one joins.
// Shards go out one by one, the next to the greatest weight / (2*shards held + 1),
// so those who got the first n stay the same with more to give; a newcomer
// only pushes the last ones out. All sums are exact: weights count in thousandths.
//
// Of servers that come next alike, the one with the greater rank does.
func quotas(servers []server, shards int, rank []uint64) []int {
	weights := make([]int64, len(servers))
	total := int64(0)
	for i, s := range servers {
		weights[i] = int64(math.Round(s.weight * 1000))
		total += weights[i]
	}
	quota := make([]int, len(servers))
	left := shards
	// The first ones at once: with as many shards fewer as servers could gain by
	// rounding, each has its share, rounded, for sure.
	if sure := 2*int64(shards) - int64(len(servers)); sure > 0 {
		for i, w := range weights {
			quota[i] = int((w*sure + total) / (2 * total))
			left -= quota[i]
		}
	}
	for ; left > 0; left-- {
		next := 0
		for i := 1; i < len(servers); i++ {
			here, best := weights[i]*int64(2*quota[next]+1), weights[next]*int64(2*quota[i]+1)
			if cmp.Or(cmp.Compare(here, best), cmp.Compare(rank[i], rank[next])) > 0 {
				next = i
			}
		}
		quota[next]++
	}
	return quota
}
