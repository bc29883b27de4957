package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
)

// The numbers of docs/placement.md; -v shows them.

func TestNumbersOfAssignments(t *testing.T) {
	const shards, trials = 300, 20
	g := Group{Shards: shards}
	for _, n := range []int{3, 5, 10, 20, 50} {
		for _, a := range []Assigner{LeastMovement{}, Compatible{}} {
			moves, needless, most := 0, 0, 0
			for trial := range uint64(trials) {
				r := rand.New(rand.NewPCG(trial, 1))
				var runners []Runner
				for range n + 1 {
					host := fmt.Sprintf("10.%d.%d.%d", r.IntN(256), r.IntN(256), r.IntN(256))
					runners = append(runners, Runner{Address: member.Address{Host: host, Port: 34431}})
				}
				before := a.Assign(g, runners[:n], nil)
				after := a.Assign(g, runners, before)
				for shard := range after {
					if after[shard] != before[shard] {
						moves++
						if after[shard] != runners[n].Address {
							needless++
						}
					}
				}
				most = max(most, slices.Max(slicesOf(tally(after))))
			}
			t.Logf("%2d -> %2d %-14s moves %5.1f, between runners that stay %4.1f, at most %d a runner",
				n, n+1, a.Name(), float64(moves)/trials, float64(needless)/trials, most)
			if _, ok := a.(LeastMovement); ok && (needless > 0 || most > shards/(n+1)+1 || moves > trials*(shards/(n+1)+1)) {
				t.Errorf("%d -> %d: %d moves, %d of them needless, at most %d a runner", n, n+1, moves, needless, most)
			}
		}
	}
}

func TestNumbersOfStrategies(t *testing.T) {
	for _, size := range []struct{ nodes, shards int }{{3, 300}, {3, 1000}, {10, 1000}, {50, 1000}} {
		for _, strategy := range []Strategy{LeastShards{}, LeastLoad{}, ConsistentHashing{}, LeastShardsLegacy{}} {
			s := cluster(size.nodes + 1)
			newcomer := s.Members[size.nodes]
			s.Members, s.Regions = s.Members[:size.nodes], s.Regions[:size.nodes]
			fill(t, strategy, &s, size.shards)
			p := PlanChange(strategy, s, Change{Join: []member.Member{newcomer}}, Pace{})
			var after []int
			for _, n := range p.Nodes {
				after = append(after, n.After)
			}
			t.Logf("%2d nodes, %4d shards, one joins: %-19s %3d moves, %3d rounds, %7v, then %d to %d a node",
				size.nodes, size.shards, p.By, len(p.Moves), p.Rounds, p.Lasts, slices.Min(after), slices.Max(after))
			if !p.Settled || p.again() > 0 {
				t.Errorf("%d nodes, %d shards: %v", size.nodes, size.shards, p)
			}
		}
	}
}
