package placement

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// measured makes a state of n regions whose shards, 0 and up, have these loads
// in messages per second and go round the regions.
func measured(n int, loads ...float64) State {
	s := cluster(n)
	s.Loads = map[string]Load{}
	for shard, load := range loads {
		r := &s.Regions[shard%n]
		r.Shards = append(r.Shards, ShardText(shard))
		s.Loads[ShardText(shard)] = Load{Messages: load, Over: time.Hour}
	}
	return s
}

func TestLeastLoadRebalance(t *testing.T) {
	set := func(shard string, l Load) func(*State) { return func(s *State) { s.Loads[shard] = l } }
	tests := []struct {
		name   string
		loads  []float64 // shards 0, 2, ... at the first region, 1, 3, ... at the second
		change func(*State)
		l      LeastLoad
		moving []string
		want   []string
	}{
		{name: "even", loads: []float64{100, 100, 50, 50}},
		{name: "the greatest that fits", loads: []float64{400, 10, 90, 10, 200, 10}, want: []string{"4", "2"}},
		{name: "none fits, one helps", loads: []float64{60, 20, 55}, want: []string{"2"}},
		{name: "the hot one is alone", loads: []float64{1000, 20}},
		{name: "a hot one stays, its neighbours go", loads: []float64{1000, 10, 90, 10, 50, 10}, want: []string{"2", "4"}},
		{name: "tolerated", loads: []float64{59, 50, 50, 50}},
		{name: "not tolerated", loads: []float64{59, 50, 2, 0}, l: LeastLoad{Tolerance: -1}, want: []string{"2"}},
		{name: "a limit", loads: []float64{10, 0, 10, 0, 10, 0, 10, 0}, l: LeastLoad{Limit: 1}, want: []string{"0"}},
		{name: "the round before is not over", loads: []float64{400, 10, 90, 10}, moving: []string{"9"}},
		{
			name: "measured too shortly", loads: []float64{400, 10, 90, 10, 200, 10},
			change: set("4", Load{Messages: 200, Over: 59 * time.Second}), want: []string{"2"},
		},
		{
			name: "bytes count", loads: []float64{1, 1, 1, 1},
			change: set("0", Load{Messages: 1, Bytes: 1 << 20, Over: time.Hour}), want: []string{"2"},
		},
		{
			name: "bytes left out", loads: []float64{1, 1, 1, 1}, l: LeastLoad{MessageBytes: -1},
			change: set("0", Load{Messages: 1, Bytes: 1 << 20, Over: time.Hour}),
		},
		{
			name: "impossible measurements count as idle", loads: []float64{0, 0, 0, 0, 0, 0},
			change: func(s *State) {
				for i, m := range []float64{math.NaN(), math.Inf(1), -5} {
					s.Loads[ShardText(i)] = Load{Messages: m, Bytes: m, Over: time.Hour}
				}
			},
		},
		{name: "unreachable", loads: []float64{400, 10, 90, 10}, change: func(s *State) { s.Unreachable = append(s.Unreachable, s.Members[0].ID) }},
	}
	for _, tt := range tests {
		s := measured(2, tt.loads...)
		if tt.change != nil {
			tt.change(&s)
		}
		if got := tt.l.Rebalance(s, tt.moving); !slices.Equal(got, tt.want) {
			t.Errorf("%s: moves %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestLeastLoadAllocatesByLoadVersionAndStatus(t *testing.T) {
	s := measured(3, 500, 20, 400)
	s.Regions[1].Shards = append(s.Regions[1].Shards, "a", "b") // not measured: as the mean of the others
	allocate := func(want int, why string) {
		t.Helper()
		if got, ok := (LeastLoad{}).Allocate(s, "x"); !ok || got != s.Regions[want].ID {
			t.Errorf("%s: goes to %v, want %v", why, got, s.Regions[want].ID)
		}
	}
	allocate(2, "the least load")
	s.Members[0].AppVersion = "1.1.0"
	allocate(0, "the newest version")
	s.Members[0].Status = 4 // Leaving
	allocate(2, "the newest version is leaving")
}

// Without measurements it is like least shards.
func TestLeastLoadWithoutMeasurements(t *testing.T) {
	s := cluster(4)
	newcomer := s.Regions[3]
	s.Regions = s.Regions[:3]
	fill(t, LeastLoad{}, &s, 300)
	s.Regions = append(s.Regions, newcomer)
	moves := settle(t, LeastLoad{}, &s)
	if ns := counts(s); slices.Max(ns)-slices.Min(ns) > 15 || len(moves) > 75 {
		t.Errorf("%v after %d moves, want all within a fifth of 75 and no more than 75 moves", ns, len(moves))
	}
}

// From any distribution of any loads that stay as they are: it comes to rest
// in few rounds, with no shard lost or doubled and none that moves again and
// again, and then every shard that could still narrow a gap is tolerated.
func TestLeastLoadSettlesFromAnywhere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := cluster(rapid.IntRange(1, 12).Draw(rt, "regions"))
		s.Loads = map[string]Load{}
		shards := rapid.IntRange(0, 150).Draw(rt, "shards")
		for shard := range shards {
			i := rapid.IntRange(0, len(s.Regions)-1).Draw(rt, "region")
			s.Regions[i].Shards = append(s.Regions[i].Shards, ShardText(shard))
			load := math.Exp(rapid.Float64Range(0, 8).Draw(rt, "log load"))
			s.Loads[ShardText(shard)] = Load{Messages: load, Over: time.Hour}
		}
		limit := rapid.IntRange(1, 20).Draw(rt, "limit")
		strategy := LeastLoad{Limit: limit}
		before, rounds := strategy.spread(s), 0
		for ; ; rounds++ {
			if rounds > 3*shards {
				rt.Fatalf("still moving after %d rounds", rounds)
			}
			r := rebalanceOnce(t, strategy, &s)
			if len(r.Moved) > limit {
				rt.Fatalf("%d moves in a round, want at most %d", len(r.Moved), limit)
			}
			if len(r.Moved) == 0 {
				break
			}
		}
		if rounds > 2*(shards/limit+1)+20 {
			rt.Fatalf("%d rounds for %d shards, %d a round", rounds, shards, limit)
		}
		if after := strategy.spread(s); after > before*1.000001 {
			rt.Fatalf("spread %v became %v", before, after)
		}
		var all []string
		for _, r := range s.Regions {
			all = append(all, r.Shards...)
		}
		slices.Sort(all)
		if len(all) != shards || len(slices.Compact(all)) != shards {
			rt.Fatalf("%d shards became %v", shards, all)
		}
	})
}

// spread is the sum of the squares of the regions' loads: the less the evener.
func (l LeastLoad) spread(s State) float64 {
	sum := 0.0
	for _, b := range l.burdens(s) {
		sum += b.load * b.load
	}
	return sum
}

func BenchmarkLeastLoad(b *testing.B) {
	s := cluster(1000)
	fill(b, LeastShards{}, &s, 10_000)
	s.Loads = map[string]Load{}
	for shard := range 10_000 {
		s.Loads[ShardText(shard)] = Load{Messages: float64(shard * 7919 % 1000), Over: time.Hour}
	}
	b.Run("allocate", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			LeastLoad{}.Allocate(s, "x")
		}
	})
	b.Run("rebalance", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if moves := (LeastLoad{}).Rebalance(s, nil); len(moves) != 500 {
				b.Fatal(fmt.Sprint(moves))
			}
		}
	})
}
