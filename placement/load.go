package placement

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// A Load is what was measured of a shard at its present home.
type Load struct {
	Messages float64       // handled per second
	Bytes    float64       // of these messages, per second
	Over     time.Duration // for how long it was measured
}

// LeastLoad spreads shards by what they cost, not by their number: for types
// where some ids are a thousand times busier than others. It moves little: only
// where regions differ by much, only so many a round, and no shard before it
// was measured for some time at the home that it has.
//
// Without measurements it spreads by number.
type LeastLoad struct {
	// MessageBytes is how many bytes cost as much as handling one message.
	// Default 4096; negative leaves bytes out.
	MessageBytes float64
	// Idle is what a shard costs besides, in messages per second, so that quiet
	// shards are spread too. Default 1.
	Idle float64
	// Tolerance is the difference between two regions, as a share of the mean
	// of all, that is left alone. Default 0.2; negative for none.
	Tolerance float64
	// Limit is how many shards a round moves at most. Default a twentieth of all,
	// at least 10. The next round waits until all have arrived.
	Limit int
	// Settle is how long a shard stays where it is at least, and so how often it
	// can move. Default 1 min; negative for no such time.
	Settle time.Duration
}

// Name is "least-load".
func (LeastLoad) Name() string { return "least-load" }

// Allocate gives the region with the least load among those of the newest
// version whose members are not on their way out.
func (l LeastLoad) Allocate(s State, _ string) (region member.ID, ok bool) {
	burdens := l.burdens(s)
	if len(burdens) == 0 {
		return member.ID{}, false
	}
	return slices.MinFunc(burdens, burden.compare).ID, true
}

// Rebalance takes shards from the regions with the most, each for the one that
// then has the least, as long as that brings the two closer.
func (l LeastLoad) Rebalance(s State, inProgress []string) []string {
	if len(inProgress) > 0 || s.Hold() != "" {
		return nil
	}
	burdens := l.burdens(s)
	mean, shards := 0.0, 0
	for _, b := range burdens {
		mean += b.load / float64(len(burdens))
		shards += len(b.Shards)
	}
	tolerated := max(0, cmp.Or(l.Tolerance, 0.2)) * mean
	limit := max(1, cmp.Or(l.Limit, max(10, shards/20)))
	var moves []string
	for len(moves) < limit {
		shard, ok := relieve(burdens, tolerated)
		if !ok {
			break
		}
		moves = append(moves, shard)
	}
	return moves
}

// A burden is a candidate with what its shards cost.
type burden struct {
	candidate
	load     float64
	measured int       // shards
	shards   []weighed // that may move
}

type weighed struct {
	shard string
	cost  float64
}

// compare orders burdens, the best for a new shard first.
func (b burden) compare(o burden) int {
	switch {
	case b.going() == o.going():
		return cmp.Or(o.version.Compare(b.version), cmp.Compare(b.load, o.load))
	case b.going():
		return 1
	default:
		return -1
	}
}

// burdens weighs the candidates. A shard that was not measured yet counts as
// the mean of those that were, and stays; without measurements all are alike.
func (l LeastLoad) burdens(s State) []burden {
	settle := cmp.Or(l.Settle, time.Minute)
	burdens := make([]burden, 0, len(s.Regions))
	known, measured := 0.0, 0
	for c := range s.candidates() {
		b := burden{candidate: c, shards: make([]weighed, 0, len(c.Shards))}
		for _, shard := range c.Shards {
			load, ok := s.Loads[shard]
			cost := l.cost(load)
			if ok {
				b.load += cost
				b.measured++
			}
			if ok && load.Over >= settle || len(s.Loads) == 0 {
				b.shards = append(b.shards, weighed{shard: shard, cost: cost})
			}
		}
		known, measured = known+b.load, measured+b.measured
		burdens = append(burdens, b)
	}
	typical := l.cost(Load{})
	if measured > 0 {
		typical = known / float64(measured)
	}
	for i := range burdens {
		b := &burdens[i]
		b.load += typical * float64(len(b.Shards)-b.measured)
	}
	return burdens
}

// cost of a load; what no measurement can have given counts as nothing.
func (l LeastLoad) cost(load Load) float64 {
	busy := load.Messages
	if perMessage := cmp.Or(l.MessageBytes, 4096); perMessage > 0 {
		busy += load.Bytes / perMessage
	}
	if !(busy >= 0 && busy <= math.MaxFloat32) {
		busy = 0
	}
	return cmp.Or(max(0, l.Idle), 1) + busy
}

// relieve moves one shard in burdens and tells which: from the region with the
// most to the one with the least, or, if none of its shards fits,
// from the next. A shard costs less than the two differ by, so the sum of the
// squares falls with every move, and moves come to an end.
func relieve(burdens []burden, tolerated float64) (shard string, ok bool) {
	if len(burdens) == 0 {
		return "", false
	}
	least := 0
	for i := range burdens {
		if heavier(burdens, least, i) {
			least = i
		}
	}
	for from := next(burdens, -1); from != least; from = next(burdens, from) {
		b := &burdens[from]
		gap := b.load - burdens[least].load
		if gap <= tolerated {
			return "", false
		}
		if i := fitting(b.shards, gap); i >= 0 {
			w := b.shards[i]
			b.shards = slices.Delete(b.shards, i, i+1)
			b.load -= w.cost
			burdens[least].load += w.cost
			return w.shard, true
		}
	}
	return "", false
}

// heavier tells whether burden i is before j from the heaviest to the lightest.
func heavier(burdens []burden, i, j int) bool {
	return cmp.Or(cmp.Compare(burdens[j].load, burdens[i].load), cmp.Compare(i, j)) < 0
}

// next gives the burden behind i from the heaviest to the lightest, the first
// for -1. A search for each is quicker than a new order after each move: the
// first one nearly always has what is wanted.
func next(burdens []burden, i int) int {
	found := -1
	for j := range burdens {
		if (i < 0 || heavier(burdens, i, j)) && (found < 0 || heavier(burdens, j, found)) {
			found = j
		}
	}
	return found
}

// fitting finds the shard to move across the gap: the greatest that does not
// turn it round, for then a hot shard stays and its neighbours go; otherwise
// the smallest that at least halves it; -1 when none does.
func fitting(shards []weighed, gap float64) int {
	under, over := -1, -1
	for i, w := range shards {
		switch {
		case w.cost <= gap/2:
			if under < 0 || w.cost > shards[under].cost {
				under = i
			}
		case w.cost <= gap*3/4:
			if over < 0 || w.cost < shards[over].cost {
				over = i
			}
		}
	}
	if under >= 0 {
		return under
	}
	return over
}
