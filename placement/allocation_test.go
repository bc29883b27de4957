package placement

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/internal/vectortest"
)

func TestVectorsShardAllocation(t *testing.T) {
	vectortest.Run(t, "shard_allocation", map[string]vectortest.Check{
		"allocate":          vectortest.Kind(checkAllocate),
		"rebalance":         vectortest.Kind(checkRebalance),
		"rebalance_rounds":  vectortest.Kind(checkRounds),
		"suitability_order": vectortest.Kind(checkSuitability),
		"version_compare":   vectortest.Kind(checkVersions),
	})
}

type allocationInput struct {
	Strategy    strategyInput `json:"strategy"`
	Members     []memberInput `json:"members"`
	Unreachable []string      `json:"unreachable"`
	Self        string        `json:"self"`
	Regions     []regionInput `json:"regions"`
	Shards      []string      `json:"shards"`
	InProgress  []string      `json:"in_progress"`
	MaxRounds   int           `json:"max_rounds"`
}

type strategyInput struct {
	Name            string  `json:"name"`
	AbsoluteLimit   int     `json:"absolute_limit"`
	RelativeLimit   float64 `json:"relative_limit"`
	Threshold       int     `json:"rebalance_threshold"`
	MaxSimultaneous int     `json:"max_simultaneous_rebalance"`
	RebalanceLimit  int     `json:"rebalance_limit"`
}

type memberInput struct {
	Name       string `json:"name"`
	Host       string `json:"host"`
	Port       int    `json:"port"`
	Status     string `json:"status"`
	AppVersion string `json:"app_version"`
	DC         string `json:"dc"`
}

type regionInput struct {
	Name          string          `json:"name"`
	Member        string          `json:"member"`
	UnknownMember *member.Address `json:"unknown_member"`
	Local         bool            `json:"local"`
	Shards        []string        `json:"shards"`
}

// question is an input turned into what the package takes, with the way back
// from node to name.
type question struct {
	strategy Strategy
	state    State
	names    map[member.ID]string
}

func (in allocationInput) question(t *testing.T) question {
	t.Helper()
	q := question{strategy: in.Strategy.build(t), names: map[member.ID]string{}}
	byName := map[string]member.Member{}
	for _, m := range in.Members {
		built := m.build(t)
		byName[m.Name] = built
		q.state.Members = append(q.state.Members, built)
		if slices.Contains(in.Unreachable, m.Name) {
			q.state.Unreachable = append(q.state.Unreachable, built.ID)
		}
	}
	slices.SortFunc(q.state.Members, func(a, b member.Member) int { return a.ID.Compare(b.ID) })
	q.state.DataCenter = byName[in.Self].DataCenter
	for _, r := range in.Regions {
		id := byName[r.Member].ID
		if r.UnknownMember != nil {
			id = member.ID{Address: *r.UnknownMember, UID: 1}
		}
		if r.Local && r.Member != in.Self {
			t.Fatalf("region %s is local, but not on %s", r.Name, in.Self)
		}
		q.names[id] = r.Name
		q.state.Regions = append(q.state.Regions, Region{ID: id, Shards: r.Shards})
	}
	return q
}

func (s strategyInput) build(t *testing.T) Strategy {
	t.Helper()
	switch s.Name {
	case "least_shards":
		return LeastShards{
			AbsoluteLimit: cmp.Or(s.AbsoluteLimit, -1), // 0 in the file is no default
			RelativeLimit: cmp.Or(s.RelativeLimit, -1),
		}
	case "least_shards_legacy":
		return LeastShardsLegacy{Threshold: s.Threshold, MaxSimultaneous: s.MaxSimultaneous}
	case "consistent_hashing":
		return ConsistentHashing{Limit: s.RebalanceLimit, Prefix: "pekko://myapp@"}
	}
	t.Fatalf("unknown strategy %q", s.Name)
	return nil
}

func (m memberInput) build(t *testing.T) member.Member {
	t.Helper()
	built := member.Member{
		ID:         member.ID{Address: member.Address{Host: m.Host, Port: m.Port}, UID: 1},
		Status:     member.Up,
		DataCenter: "default",
		AppVersion: "1.0.0",
	}
	if m.Status != "" {
		status, ok := member.ParseStatus(m.Status)
		if !ok {
			t.Fatalf("unknown status %q", m.Status)
		}
		built.Status = status
	}
	if m.AppVersion != "" {
		built.AppVersion = m.AppVersion
	}
	if m.DC != "" {
		built.DataCenter = m.DC
	}
	return built
}

func checkAllocate(t *testing.T, in allocationInput, want struct {
	Regions map[string]string `json:"regions"`
},
) {
	q := in.question(t)
	if len(in.Shards) != len(want.Regions) {
		t.Errorf("asked for %v, answers for %v", in.Shards, want.Regions)
	}
	for _, shard := range in.Shards {
		region, ok := q.strategy.Allocate(q.state, shard)
		if got := q.names[region]; !ok || got != want.Regions[shard] {
			t.Errorf("shard %s goes to %q (%v), want %q\n%s", shard, got, ok, want.Regions[shard], q.state.Describe())
		}
	}
}

func checkRebalance(t *testing.T, in allocationInput, want struct {
	Shards []string `json:"shards"`
},
) {
	q := in.question(t)
	if got := slices.Sorted(slices.Values(q.strategy.Rebalance(q.state, in.InProgress))); !slices.Equal(got, want.Shards) {
		t.Errorf("moves %v, want %v\n%s", got, want.Shards, q.state.Describe())
	}
}

type round struct {
	Moved  []string `json:"moved"`
	Counts []int    `json:"counts"`
}

func checkRounds(t *testing.T, in allocationInput, want struct {
	Rounds   []round `json:"rounds"`
	Balanced bool    `json:"balanced"`
},
) {
	q := in.question(t)
	var got []round
	for len(got) < in.MaxRounds && !balanced(q.state) {
		got = append(got, rebalanceOnce(t, q.strategy, &q.state))
	}
	if balanced(q.state) != want.Balanced {
		t.Errorf("balanced %v, want %v", !want.Balanced, want.Balanced)
	}
	if g, w := fmt.Sprint(got), fmt.Sprint(want.Rounds); g != w {
		t.Errorf("rounds %s, want %s", g, w)
	}
}

// rebalanceOnce moves what the strategy wants to move, as a coordinator does.
func rebalanceOnce(t *testing.T, strategy Strategy, s *State) round {
	t.Helper()
	moved := slices.Sorted(slices.Values(strategy.Rebalance(*s, nil)))
	for i := range s.Regions {
		s.Regions[i].Shards = slices.DeleteFunc(slices.Clone(s.Regions[i].Shards), func(shard string) bool {
			return slices.Contains(moved, shard)
		})
	}
	for _, shard := range moved {
		region, ok := strategy.Allocate(*s, shard)
		if !ok {
			t.Fatalf("no region for %s\n%s", shard, s.Describe())
		}
		i := slices.IndexFunc(s.Regions, func(r Region) bool { return r.ID == region })
		s.Regions[i].Shards = append(s.Regions[i].Shards, shard)
	}
	return round{Moved: moved, Counts: counts(*s)}
}

func counts(s State) []int {
	var ns []int
	for _, r := range s.Regions {
		ns = append(ns, len(r.Shards))
	}
	return ns
}

func balanced(s State) bool {
	ns := counts(s)
	return slices.Max(ns)-slices.Min(ns) <= 1
}

func checkSuitability(t *testing.T, in allocationInput, want struct {
	Order []string `json:"order"`
},
) {
	q := in.question(t)
	var got []string
	for _, c := range q.state.ranked() {
		got = append(got, q.names[c.ID])
	}
	if !slices.Equal(got, want.Order) {
		t.Errorf("order %v, want %v", got, want.Order)
	}
}

func checkVersions(t *testing.T, in struct {
	Left  string `json:"left"`
	Right string `json:"right"`
}, want struct {
	Order *int   `json:"order"`
	Error string `json:"error"`
},
) {
	left, err := ParseVersion(in.Left)
	right, rightErr := ParseVersion(in.Right)
	err = errors.Join(err, rightErr)
	wantErr := map[string]error{"not_a_number": ErrVersionNotANumber, "unsupported": ErrVersionUnsupported}[want.Error]
	if !errors.Is(err, wantErr) {
		t.Fatalf("versions %q, %q: error %v, want %q", in.Left, in.Right, err, want.Error)
	}
	if want.Order != nil && (left.Compare(right) != *want.Order || right.Compare(left) != -*want.Order) {
		t.Errorf("%q against %q = %d, want %d", in.Left, in.Right, left.Compare(right), *want.Order)
	}
}
