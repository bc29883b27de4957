package placement

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/internal/member"
)

func runnersOf(n int) []Runner {
	var runners []Runner
	for i := range n {
		runners = append(runners, Runner{Address: member.Address{Host: fmt.Sprintf("10.0.%d.%d", i/250, i%250), Port: 34431}})
	}
	return runners
}

// drawRunners draws runners with different addresses, some of them weighted.
func drawRunners(t *rapid.T, label string, least int) []Runner {
	n := rapid.IntRange(least, 30).Draw(t, label)
	runners := runnersOf(n)
	for i := range runners {
		runners[i].Groups = []string{DefaultGroup, "billing"}
	}
	if rapid.Bool().Draw(t, "weighted") {
		for i := range runners {
			runners[i].Weight = rapid.Float64Range(0.1, 5).Draw(t, "weight")
		}
	}
	return runners
}

func drawGroup(t *rapid.T) Group {
	return Group{Name: rapid.SampledFrom([]string{"", "billing"}).Draw(t, "group"), Shards: rapid.IntRange(0, 400).Draw(t, "shards")}
}

func drawOne(t *rapid.T, runners []Runner) int {
	return rapid.IntRange(0, len(runners)-1).Draw(t, "one")
}

func without(runners []Runner, i int) []Runner { return slices.Delete(slices.Clone(runners), i, i+1) }

func tally(homes []member.Address) map[member.Address]int {
	counts := map[member.Address]int{}
	for _, a := range homes {
		counts[a]++
	}
	return counts
}

// Whatever the locks say: every shard has one of the runners, and each runner
// has its quota, which for runners of one weight is an even share.
func TestLeastMovementIsBalancedFromAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, runners := drawGroup(t), drawRunners(t, "runners", 1)
		gone := member.Address{Host: "gone", Port: 1}
		holders := make([]member.Address, rapid.IntRange(0, g.Shards+5).Draw(t, "holders"))
		few := rapid.IntRange(1, len(runners)).Draw(t, "few")
		for i := range holders {
			switch k := rapid.IntRange(-2, few-1).Draw(t, "holder"); k {
			case -2:
			case -1:
				holders[i] = gone
			default:
				holders[i] = runners[k].Address
			}
		}
		homes := LeastMovement{}.Assign(g, runners, holders)
		counts := tally(homes)
		if len(homes) != g.Shards || counts[gone]+counts[member.Address{}] > 0 {
			t.Fatalf("%d homes for %d shards: %v", len(homes), g.Shards, counts)
		}
		moved, beyond := 0, 0
		held := tally(holders[:min(len(holders), g.Shards)])
		for _, s := range g.servers(runners) {
			beyond += max(0, held[s.address]-counts[s.address])
		}
		for i, home := range homes {
			if i < len(holders) && !holders[i].IsZero() && holders[i] != gone && holders[i] != home {
				moved++
			}
		}
		if moved != beyond {
			t.Fatalf("%d shards leave runners that stay, want the %d that are beyond their shares", moved, beyond)
		}
		if even(runners) && g.Shards > 0 {
			low, high := g.Shards/len(runners), (g.Shards+len(runners)-1)/len(runners)
			for _, r := range runners {
				if n := counts[r.Address]; n < low || n > high {
					t.Fatalf("%v has %d of %d shards, want %d to %d", r.Address, n, g.Shards, low, high)
				}
			}
		}
		slices.Reverse(runners)
		if again := (LeastMovement{}).Assign(g, runners, holders); !slices.Equal(again, homes) {
			t.Fatalf("in another order of runners:\n%v, want\n%v", again, homes)
		}
	})
}

func even(runners []Runner) bool {
	return !slices.ContainsFunc(runners, func(r Runner) bool { return r.weight() != runners[0].weight() })
}

func TestSHD13LeastMovementWhenOneJoinsOrLeaves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, all := drawGroup(t), drawRunners(t, "runners", 2)
		one := drawOne(t, all)
		fewer, it := without(all, one), all[one].Address

		small := LeastMovement{}.Assign(g, fewer, nil)
		joined := LeastMovement{}.Assign(g, all, small)
		for shard, home := range joined {
			if home != small[shard] && home != it {
				t.Fatalf("%v joins: shard %d moves from %v to %v, which both stay", it, shard, small[shard], home)
			}
		}
		left := LeastMovement{}.Assign(g, fewer, joined)
		for shard, home := range left {
			if home != joined[shard] && joined[shard] != it {
				t.Fatalf("%v leaves: shard %d moves from %v to %v, which both stay", it, shard, joined[shard], home)
			}
		}
		if again := (LeastMovement{}).Assign(g, all, joined); !slices.Equal(again, joined) {
			t.Fatalf("nothing changed, and shards move: %v, want %v", again, joined)
		}
	})
}

// A runner whose weight grows only takes; the others only give.
func TestLeastMovementWhenAWeightGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, runners := drawGroup(t), drawRunners(t, "runners", 2)
		before := LeastMovement{}.Assign(g, runners, nil)
		one := drawOne(t, runners)
		runners[one].Weight = runners[one].weight() + rapid.Float64Range(0, 5).Draw(t, "more")
		for shard, home := range (LeastMovement{}).Assign(g, runners, before) {
			if home != before[shard] && home != runners[one].Address {
				t.Fatalf("%v gets heavier: shard %d moves from %v to %v", runners[one].Address, shard, before[shard], home)
			}
		}
	})
}

// In the middle of a change every shard is where it was, or released, or where
// it goes: whoever reads that wants what was wanted at first.
func TestLeastMovementStaysTheSameWhileItIsCarriedOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGroup(t)
		before := drawRunners(t, "before", 1)
		holders := LeastMovement{}.Assign(g, before, nil)
		for i := range holders { // and what an operator moved, or nobody asked for yet
			switch rapid.IntRange(0, 9).Draw(t, "stray") {
			case 0:
				holders[i] = member.Address{}
			case 1:
				holders[i] = before[drawOne(t, before)].Address
			}
		}
		after := drawRunners(t, "after", 1)
		after = after[rapid.IntRange(0, len(after)-1).Draw(t, "gone"):]
		want := LeastMovement{}.Assign(g, after, holders)
		now := slices.Clone(holders)
		for i := range now {
			switch {
			case now[i] == want[i]: // it stays: nobody lets it go
			case rapid.Bool().Draw(t, "taken"):
				now[i] = want[i]
			case rapid.Bool().Draw(t, "released"):
				now[i] = member.Address{}
			}
		}
		if got := (LeastMovement{}).Assign(g, after, now); !slices.Equal(got, want) {
			t.Fatalf("held by\n%v: wants\n%v\nand in the middle, held by\n%v: wants\n%v", holders, want, now, got)
		}
	})
}

// The answer is part of the protocol: nodes of different versions must agree.
func TestLeastMovementIsPinned(t *testing.T) {
	const pinned = 0x24fde92d4b09d8fc
	runners := runnersOf(8)
	runners[2].Weight, runners[3].Weight = 2.5, 0.3
	var b strings.Builder
	for _, group := range []string{DefaultGroup, "billing"} {
		g, all := Group{Name: group, Shards: 300}, groupRunners(runners, group)
		seven := LeastMovement{}.Assign(g, all[:7], nil)
		for _, home := range append(seven, LeastMovement{}.Assign(g, all, seven)...) {
			fmt.Fprintln(&b, home)
		}
	}
	h := fnv.New64a()
	h.Write([]byte(b.String()))
	if got := h.Sum64(); got != pinned {
		t.Errorf("the assignment has the sum %#x, want %#x: nodes of this and the last version would want different homes", got, uint64(pinned))
	}
}

func groupRunners(runners []Runner, group string) []Runner {
	runners = slices.Clone(runners)
	for i := range runners {
		runners[i].Groups = []string{group}
	}
	return runners
}

// quotas one by one, from the definition.
func slowQuotas(servers []server, shards int, rank []uint64) []int {
	quota := make([]int, len(servers))
	for range shards {
		next := 0
		for i := range servers {
			a := int64(servers[i].weight*1000+0.5) * int64(2*quota[next]+1)
			b := int64(servers[next].weight*1000+0.5) * int64(2*quota[i]+1)
			if a > b || a == b && rank[i] > rank[next] {
				next = i
			}
		}
		quota[next]++
	}
	return quota
}

func TestQuotasAreWebsters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, servers := drawGroup(t), Group{}.servers(drawRunners(t, "runners", 1))
		rank := newMarks(g.name(), servers, 0).servers
		got, want := quotas(servers, g.Shards, rank), slowQuotas(servers, g.Shards, rank)
		if !slices.Equal(got, want) {
			t.Fatalf("%d shards, %v: quotas %v, want %v", g.Shards, servers, got, want)
		}
	})
}

func TestGroupsLiveOnTheirRunners(t *testing.T) {
	runners := runnersOf(4)
	runners[1].Groups = []string{"billing", "default"}
	runners[2].Groups = []string{"billing"}
	tests := []struct {
		group string
		want  []int // runners
	}{
		{"", []int{0, 1, 3}},
		{"default", []int{0, 1, 3}},
		{"billing", []int{1, 2}},
		{"nobody", nil},
	}
	for _, a := range []Assigner{LeastMovement{}, Compatible{}} {
		for _, tt := range tests {
			counts := tally(a.Assign(Group{Name: tt.group, Shards: 100}, runners, nil))
			delete(counts, member.Address{})
			for _, i := range tt.want {
				if counts[runners[i].Address] == 0 {
					t.Errorf("%s: runner %d has no shard of %q, want some", a.Name(), i, tt.group)
				}
			}
			if len(counts) != len(tt.want) {
				t.Errorf("%s: shards of %q are at %v, want runners %v", a.Name(), tt.group, counts, tt.want)
			}
		}
	}
}

// Types with one shard each, such as singletons, do not all live at one runner.
func TestSmallGroupsSpread(t *testing.T) {
	counts := map[member.Address]int{}
	for i := range 100 {
		for _, home := range (LeastMovement{}).Assign(Group{Name: fmt.Sprint(i), Shards: 1}, groupRunners(runnersOf(10), fmt.Sprint(i)), nil) {
			counts[home]++
		}
	}
	if len(counts) != 10 || slices.Max(slicesOf(counts)) > 20 {
		t.Errorf("100 groups of one shard on 10 runners: %v, want about 10 each", counts)
	}
}

func slicesOf(counts map[member.Address]int) []int {
	var ns []int
	for _, n := range counts {
		ns = append(ns, n)
	}
	return ns
}

func BenchmarkAssign(b *testing.B) {
	g, runners := Group{Shards: 10_000}, runnersOf(1000)
	homes := LeastMovement{}.Assign(g, runners, nil)
	newcomer := append(slices.Clone(runners), Runner{Address: member.Address{Host: "new", Port: 1}})
	for _, bench := range []struct {
		name     string
		assigner Assigner
		runners  []Runner
		holders  []member.Address
	}{
		{"compatible", Compatible{}, runners, nil},
		{"least-movement/cold", LeastMovement{}, runners, nil},
		{"least-movement/same", LeastMovement{}, runners, homes},
		{"least-movement/join", LeastMovement{}, newcomer, homes},
		{"least-movement/leave", LeastMovement{}, runners[1:], homes},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bench.assigner.Assign(g, bench.runners, bench.holders)
			}
		})
	}
}
