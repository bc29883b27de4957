package placement

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
)

// cluster makes a state of n regions on as many members that are Up.
func cluster(n int) State {
	s := State{DataCenter: "default"}
	for i := range n {
		id := member.ID{Address: member.Address{Host: fmt.Sprintf("10.0.0.%03d", i), Port: 25520}, UID: int64(i + 1)}
		s.Members = append(s.Members, member.Member{ID: id, Status: member.Up, DataCenter: "default", AppVersion: "1.0.0"})
		s.Regions = append(s.Regions, Region{ID: id})
	}
	return s
}

// fill allocates shards 0 to n-1 one by one.
func fill(t testing.TB, strategy Strategy, s *State, n int) {
	t.Helper()
	for shard := range n {
		region, ok := strategy.Allocate(*s, ShardText(shard))
		if !ok {
			t.Fatalf("no region for %d\n%s", shard, s.Describe())
		}
		i := slices.IndexFunc(s.Regions, func(r Region) bool { return r.ID == region })
		s.Regions[i].Shards = append(s.Regions[i].Shards, ShardText(shard))
	}
}

// settle rebalances until nothing moves and counts how often each shard moved.
func settle(t *testing.T, strategy Strategy, s *State) map[string]int {
	t.Helper()
	moves := map[string]int{}
	for range 1000 {
		r := rebalanceOnce(t, strategy, s)
		if len(r.Moved) == 0 {
			return moves
		}
		for _, shard := range r.Moved {
			moves[shard]++
		}
	}
	t.Fatalf("still moving after 1000 rounds: %v", counts(*s))
	return nil
}

func TestSHD13RebalanceSettles(t *testing.T) {
	tests := []struct {
		name     string
		strategy Strategy
		minimum  int
	}{
		{"defaults", LeastShards{}, 90},
		{"small rounds", LeastShards{AbsoluteLimit: 7}, 90},
		{"one at a time", LeastShards{AbsoluteLimit: 1}, 90},
		// The legacy algorithm stops a threshold short of the optimum.
		{"legacy", LeastShardsLegacy{Threshold: 10, MaxSimultaneous: 20}, 80},
		{"by load, nothing measured", LeastLoad{Tolerance: -1}, 90},
		{"external, no homes set", External{}, 90},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := cluster(11)
			newcomer := s.Regions[10]
			s.Regions = s.Regions[:10]
			fill(t, tt.strategy, &s, 1000)
			s.Regions = append(s.Regions, newcomer)

			moves := settle(t, tt.strategy, &s)
			for shard, n := range moves {
				if n > 1 {
					t.Errorf("shard %s moved %d times", shard, n)
				}
			}
			if limit := tt.minimum * 12 / 10; len(moves) < tt.minimum || len(moves) > limit {
				t.Errorf("%d moves, want %d to %d; counts %v", len(moves), tt.minimum, limit, counts(s))
			}
		})
	}
}

// From any distribution, least shards reaches balance with no shard moved
// twice and not more moves than what is above the even share, plus one a region
// for filling up the last gaps.
func TestLeastShardsSettlesFromAnywhere(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := cluster(1 + r.IntN(20))
		total := r.IntN(400)
		for shard := range total {
			i := min(r.IntN(len(s.Regions)), r.IntN(len(s.Regions)))
			s.Regions[i].Shards = append(s.Regions[i].Shards, ShardText(shard))
		}
		before := counts(s)
		minimum := 0
		for _, n := range before {
			minimum += max(0, n-(total+len(s.Regions)-1)/len(s.Regions))
		}
		moves := settle(t, LeastShards{AbsoluteLimit: 1 + r.IntN(50), RelativeLimit: r.Float64()}, &s)
		if n := slices.Max(append(slices.Collect(maps.Values(moves)), 0)); n > 1 || !balanced(s) || len(moves) > minimum+len(s.Regions) {
			t.Errorf("seed %d: %v became %v in %d moves (minimum %d), most often moved: %d times",
				seed, before, counts(s), len(moves), minimum, n)
		}
	}
}

func TestHold(t *testing.T) {
	tests := []struct {
		name   string
		change func(s *State)
		want   string // part of the reason
	}{
		{"a good time", func(*State) {}, ""},
		{"no region", func(s *State) { s.Regions = nil }, "no region"},
		{"unreachable", func(s *State) { s.Unreachable = []member.ID{s.Members[2].ID} }, "10.0.0.002:25520#3 is unreachable"},
		{"unreachable elsewhere", func(s *State) {
			s.Unreachable = []member.ID{s.Members[2].ID}
			s.Members[2].DataCenter = "other"
		}, ""},
		{"joining", func(s *State) { s.Members[1].Status = member.Joining }, "is Joining"},
		{"weakly up", func(s *State) { s.Members[1].Status = member.WeaklyUp }, "is WeaklyUp"},
		{"rolling update", func(s *State) { s.Members[1].AppVersion = "1.0.1" }, "rolling update"},
		{"same version, other spelling", func(s *State) { s.Members[1].AppVersion = "1.0" }, ""},
	}
	for _, tt := range tests {
		s := cluster(3)
		tt.change(&s)
		if got := s.Hold(); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: Hold() = %q, want %q in it", tt.name, got, tt.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	s := cluster(2)
	s.Regions[0].Shards = []string{"1", "2"}
	s.Members[1].Status = member.Leaving
	s.Regions = append(s.Regions, Region{ID: member.ID{Address: member.Address{Host: "10.9.9.9", Port: 1}, UID: 7}})
	s.Unreachable = []member.ID{s.Members[0].ID}
	want := `10.0.0.000:25520#1: Up, version "1.0.0", 2 shards
10.0.0.001:25520#2: Leaving, version "1.0.0", 0 shards
10.9.9.9:1#7: not a member, passed over
no rebalance now: 10.0.0.000:25520#1 is unreachable
`
	if got := s.Describe(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestAllocateWithoutRegions(t *testing.T) {
	for _, strategy := range []Strategy{LeastShards{}, LeastShardsLegacy{}, ConsistentHashing{}} {
		if region, ok := strategy.Allocate(State{}, "1"); ok {
			t.Errorf("%s: a shard goes to %v without regions", strategy.Name(), region)
		}
		if moves := strategy.Rebalance(State{}, nil); len(moves) > 0 {
			t.Errorf("%s: moves %v without regions", strategy.Name(), moves)
		}
	}
}

func BenchmarkAllocate(b *testing.B) {
	benchmark(b, func(strategy Strategy, s State) { strategy.Allocate(s, "320") })
}

func BenchmarkRebalance(b *testing.B) {
	benchmark(b, func(strategy Strategy, s State) { strategy.Rebalance(s, nil) })
}

// benchmark asks each strategy in a cluster of usual size and in a large one.
func benchmark(b *testing.B, ask func(Strategy, State)) {
	for _, size := range []struct{ regions, shards int }{{10, 1000}, {1000, 10_000}} {
		s := cluster(size.regions)
		fill(b, LeastShards{}, &s, size.shards)
		for _, strategy := range []Strategy{LeastShards{}, LeastShardsLegacy{}, ConsistentHashing{}, LeastLoad{}, External{}} {
			b.Run(fmt.Sprintf("%s/%d", strategy.Name(), size.regions), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					ask(strategy, s)
				}
			})
		}
	}
}
