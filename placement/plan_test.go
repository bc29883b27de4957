package placement

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/internal/member"
)

// three nodes with a hundred shards each, and a fourth.
func three() (s State, fourth member.Member) {
	s = cluster(4)
	fourth = s.Members[3]
	s.Members, s.Regions = s.Members[:3], s.Regions[:3]
	for shard := range 300 {
		r := &s.Regions[shard%3]
		r.Shards = append(r.Shards, ShardText(shard))
	}
	return s, fourth
}

func ExamplePlanChange() {
	s, fourth := three()
	fmt.Print(PlanChange(LeastShardsLegacy{}, s, Change{Join: []member.Member{fourth}}, Pace{}))
	// Output:
	// least-shards-legacy: 75 of 300 shards move in 75 rounds, in about 12m31s
	//   10.0.0.000:25520  100 -> 75
	//   10.0.0.001:25520  100 -> 75
	//   10.0.0.002:25520  100 -> 75
	//   10.0.0.003:25520    0 -> 75, joins
	// warning: 75 shards move in 75 rounds, at most 1 a round: that takes 12m31s. Raise Threshold and MaxSimultaneous to about 7, or use LeastShards, which takes 3 rounds and 31s
}

func ExamplePlanRing() {
	group, runners := Group{Shards: 300}, runnersOf(5)
	before := runners[:4]
	holders := Compatible{}.Assign(group, before, nil)
	fmt.Print(PlanRing(Compatible{}, group, holders, before, runners, Pace{Every: time.Second}))
	fmt.Print(PlanRing(LeastMovement{}, group, holders, before, runners, Pace{Every: time.Second}))
	// Output:
	// compatible: 69 of 300 shards move in 1 round, in about 2s
	//   10.0.0.0:34431   75 -> 60
	//   10.0.0.1:34431   75 -> 60
	//   10.0.0.2:34431   75 -> 60
	//   10.0.0.3:34431   75 -> 60
	//   10.0.0.4:34431    0 -> 60, joins
	// warning: 9 of 69 moves are between runners that stay: with LeastMovement there are none unless the shares themselves are wrong now
	// least-movement: 60 of 300 shards move in 1 round, in about 2s
	//   10.0.0.0:34431   75 -> 60
	//   10.0.0.1:34431   75 -> 60
	//   10.0.0.2:34431   75 -> 60
	//   10.0.0.3:34431   75 -> 60
	//   10.0.0.4:34431    0 -> 60, joins
}

func TestTraps(t *testing.T) {
	tests := []struct {
		name     string
		strategy Strategy
		shards   int
		want     string // part of the only warning; empty for none
	}{
		{"default", LeastShards{}, 1000, ""},
		{"legacy, few shards", LeastShardsLegacy{}, 30, ""},
		{"legacy", LeastShardsLegacy{}, 300, "75 shards move in 75 rounds, at most 1 a round: that takes 12m31s"},
		{"legacy, tuned as it says", LeastShardsLegacy{Threshold: 7, MaxSimultaneous: 7}, 300, ""},
		{"one by one", LeastShards{AbsoluteLimit: 1}, 1000, "Raise AbsoluteLimit or RelativeLimit"},
		{"consistent hashing", ConsistentHashing{}, 1000, ""},
		{"restless", restless{}, 300, "still move after 1000 rounds"},
		{"load", LeastLoad{}, 1000, ""},
		{"external", External{Otherwise: LeastShardsLegacy{}}, 300, "or use LeastShards, which takes 3 rounds and 31s"},
		{"very many shards", LeastShards{}, 1 << 20, ""},
		{"very many shards, one by one", LeastShardsLegacy{}, 1 << 20, "750 shards move in 750 rounds"},
		{"no shards", LeastShards{}, 0, ""},
	}
	for _, tt := range tests {
		got := Traps(tt.strategy, tt.shards, Pace{})
		if tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// restless moves the oldest shard of the fullest region for ever.
type restless struct{ LeastShards }

func (restless) Name() string { return "restless" }
func (restless) Rebalance(s State, _ []string) []string {
	fullest := slices.MaxFunc(s.Regions, func(a, b Region) int { return len(a.Shards) - len(b.Shards) })
	return slices.Clone(fullest.Shards[:1])
}

func TestPlanWarns(t *testing.T) {
	tests := []struct {
		name     string
		strategy Strategy
		change   func(s *State, c *Change)
		want     []string // a part of each warning
	}{
		{"nothing", LeastShards{}, func(*State, *Change) {}, nil},
		{"unreachable", LeastShards{}, func(s *State, _ *Change) { s.Unreachable = []member.ID{s.Members[0].ID} }, []string{
			"nothing is balanced while 10.0.0.000:25520#1 is unreachable",
		}},
		{"the unreachable one leaves", LeastShards{}, func(s *State, c *Change) {
			s.Unreachable = []member.ID{s.Members[0].ID}
			c.Leave = s.Unreachable
		}, nil},
		{"all leave", LeastShards{}, func(s *State, c *Change) {
			c.Join = nil
			for _, m := range s.Members {
				c.Leave = append(c.Leave, m.ID)
			}
		}, []string{"nothing is balanced while there is no region", "300 shards find no region that takes them, such as 0"}},
		{"few shards", LeastShards{}, func(s *State, _ *Change) {
			for i := range s.Regions {
				s.Regions[i].Shards = s.Regions[i].Shards[:1]
			}
		}, []string{"3 shards for 4 nodes: 1 have nothing to do"}},
		{"uneven", LeastShardsLegacy{Threshold: 101, MaxSimultaneous: 101}, func(*State, *Change) {}, []string{"where 75 would be even"}},
		{"the newcomer stays empty", LeastShardsLegacy{Threshold: 120, MaxSimultaneous: 120}, func(s *State, _ *Change) {
			for i := range s.Regions {
				s.Regions[i].Shards = s.Regions[i].Shards[:81+9*i] // 81, 90, 99
			}
		}, []string{"10.0.0.003:25520 ends with 0 shards, where 68 would be even"}},
		{"by load nobody counts", LeastLoad{}, func(s *State, _ *Change) {
			s.Loads = map[string]Load{}
			for _, r := range s.Regions {
				for i, shard := range r.Shards {
					s.Loads[shard] = Load{Messages: float64(i), Over: time.Hour}
				}
			}
		}, nil},
		{"restless", restless{}, func(*State, *Change) {}, []string{"still move after 1000 rounds"}},
		{"very slow", LeastShardsLegacy{}, func(s *State, _ *Change) {
			for shard := 300; shard < 2000; shard++ {
				s.Regions[0].Shards = append(s.Regions[0].Shards, ShardText(shard))
			}
		}, []string{"1000 shards move in more than 1000 rounds"}},
	}
	for _, tt := range tests {
		s, fourth := three()
		c := Change{Join: []member.Member{fourth}}
		tt.change(&s, &c)
		got := PlanChange(tt.strategy, s, c, Pace{}).Warnings
		ok := len(got) == len(tt.want)
		for i := range got {
			ok = ok && strings.Contains(got[i], tt.want[i])
		}
		if !ok {
			t.Errorf("%s: warns %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A plan is exact: what it says is what a coordinator does, and its moves lead
// from how it was to how it will be.
func TestPlanIsCarriedOut(t *testing.T) {
	strategies := []Strategy{LeastShards{}, LeastShards{AbsoluteLimit: 5}, LeastShardsLegacy{}, ConsistentHashing{}, LeastLoad{}, External{}}
	rapid.Check(t, func(rt *rapid.T) {
		s := cluster(rapid.IntRange(2, 12).Draw(rt, "nodes"))
		joining := rapid.IntRange(0, len(s.Regions)-1).Draw(rt, "joining")
		c := Change{Join: slices.Clone(s.Members[len(s.Members)-joining:])}
		s.Members, s.Regions = s.Members[:len(s.Members)-joining], s.Regions[:len(s.Regions)-joining]
		shards := rapid.IntRange(0, 200).Draw(rt, "shards")
		fill(t, LeastShards{}, &s, shards)
		if rapid.Bool().Draw(rt, "leave") {
			c.Leave = []member.ID{s.Regions[0].ID}
		}
		strategy := rapid.SampledFrom(strategies).Draw(rt, "strategy")
		before := s.Describe()
		p := PlanChange(strategy, s, c, Pace{})
		if s.Describe() != before {
			rt.Fatalf("the plan changed the state: %s, was %s", s.Describe(), before)
		}
		homes := map[string]member.Address{}
		for _, r := range s.Regions {
			for _, shard := range r.Shards {
				homes[shard] = r.ID.Address
			}
		}
		for _, m := range p.Moves {
			if homes[m.Shard] != m.From || m.Round > p.Rounds {
				rt.Fatalf("move %+v of a shard that is at %v", m, homes[m.Shard])
			}
			homes[m.Shard] = m.To
		}
		counts, sum := map[member.Address]int{}, 0
		for _, a := range homes {
			counts[a]++
		}
		for _, n := range p.Nodes {
			sum += n.After
			if counts[n.Address] != n.After {
				lost := len(c.Leave) == len(s.Regions) && joining == 0
				if !lost {
					rt.Fatalf("the moves leave %d shards at %v, the plan says %+v", counts[n.Address], n.Address, n)
				}
			}
		}
		if len(c.Leave) < len(s.Regions)+joining && sum != shards {
			rt.Fatalf("%d shards become %d", shards, sum)
		}
		if !p.Settled {
			rt.Fatalf("does not settle: %v", p)
		}
	})
}

func TestPlanWarnsOfRepeatedMoves(t *testing.T) {
	p := Plan{Moves: []Move{{Shard: "1", Round: 1}, {Shard: "2", Round: 1}, {Shard: "1", Round: 2}}, Rounds: 2, Settled: true}
	if got := p.repeated(); !strings.HasPrefix(got, "1 moves are of shards that have moved before") {
		t.Errorf("%+v: %q, want a warning of one move", p.Moves, got)
	}
}

func TestPlanRingCountsNeedlessMoves(t *testing.T) {
	g, runners := Group{Shards: 300}, runnersOf(51)
	before := runners[:50]
	for _, tt := range []struct {
		assigner Assigner
		most     int
		needless bool
	}{
		{Compatible{}, 100, true},
		{LeastMovement{}, 6, false},
	} {
		holders := tt.assigner.Assign(g, before, nil)
		p := PlanRing(tt.assigner, g, holders, before, runners, Pace{})
		warned := slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, "between runners that stay") })
		if len(p.Moves) > tt.most || warned != tt.needless {
			t.Errorf("%s: %v, want at most %d moves, some of them needless: %v", tt.assigner.Name(), p, tt.most, tt.needless)
		}
	}
	p := PlanRing(LeastMovement{}, Group{Name: "nobody", Shards: 3}, nil, before, runners, Pace{})
	if len(p.Warnings) == 0 || !strings.Contains(p.Warnings[0], `no runner serves the group "nobody"`) {
		t.Errorf("without runners: %v, want a warning", p)
	}
}

func TestPaceIsNoFasterThanHandOvers(t *testing.T) {
	for _, tt := range []struct {
		pace   Pace
		rounds int
		want   time.Duration
	}{
		{Pace{}, 0, 0},
		{Pace{}, 3, 31 * time.Second},
		{Pace{Every: 10 * time.Second, HandOver: 25 * time.Second}, 2, 85 * time.Second},
	} {
		if got := tt.pace.withDefaults().rounds(tt.rounds); got != tt.want {
			t.Errorf("%+v: %d rounds take %v, want %v", tt.pace, tt.rounds, got, tt.want)
		}
	}
}

func BenchmarkPlanChange(b *testing.B) {
	s := cluster(1001)
	newcomer := s.Members[1000]
	s.Members, s.Regions = s.Members[:1000], s.Regions[:1000]
	fill(b, LeastShards{}, &s, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		PlanChange(LeastShards{}, s, Change{Join: []member.Member{newcomer}, Leave: []member.ID{s.Members[0].ID}}, Pace{})
	}
}
