package sbr

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
)

var graphNodes = flag.Int("nodes", 4, "how many nodes the reachability graphs have at most, up to 5")

// graph is which of n nodes can send to which: a directed graph, one of
// 1<<(n*(n-1)). A link that is broken in one direction is noticed at both of its
// ends, because heartbeats are answered; and gossip goes neither way between nodes
// one of which holds the other for unreachable.
type graph struct {
	n    int
	lost [5]uint8 // of each sender, a bit for each receiver that nothing arrives at
}

// graphOf spreads the bits of a number over the pairs of different nodes.
func graphOf(n int, bits uint64) graph {
	g := graph{n: n}
	for i := range n {
		for j := range n {
			if i != j {
				g.lost[i] |= uint8(bits&1) << j
				bits >>= 1
			}
		}
	}
	return g
}

func (g graph) missed(i, j int) bool { return i != j && (g.lost[i]>>j|g.lost[j]>>i)&1 == 1 }

// seen is who misses whom: of each node, a bit for each other.
func (g graph) seen() (seen [5]uint8) {
	for i := range g.n {
		for j := range g.n {
			if g.missed(i, j) {
				seen[i] |= 1 << j
			}
		}
	}
	return seen
}

// sides are the groups in which news gets round.
func (g graph) sides() [][]int {
	side := make([]int, g.n)
	for i := range side {
		side[i] = i
	}
	for range g.n {
		for i := range g.n {
			for j := range g.n {
				if !g.missed(i, j) {
					side[i] = min(side[i], side[j])
				}
			}
		}
	}
	groups := make([][]int, g.n)
	for i, s := range side {
		groups[s] = append(groups[s], i)
	}
	return slices.DeleteFunc(groups, func(s []int) bool { return s == nil })
}

// situation is what a node knows when the news has got round on its side.
func (g graph) situation(self int, side []int) Situation {
	s := Situation{Self: nodeID(self)}
	for i := range g.n {
		s.Members = append(s.Members, member.Member{ID: nodeID(i), Status: member.Up, UpNumber: g.n - i})
	}
	for _, observer := range side {
		s.SeenBy = append(s.SeenBy, nodeID(observer))
		for i := range g.n {
			if !g.missed(observer, i) {
				continue
			}
			s.Observations = append(s.Observations, member.Observation{Observer: nodeID(observer), Subject: nodeID(i)})
			if i != self {
				s.Unreachable = append(s.Unreachable, nodeID(i))
			}
		}
	}
	return s
}

// decision is what one node decides; leads tells whether it thinks it is its
// side's leader, the first that is not held for unreachable.
type decision struct {
	side  []int
	leads bool
	Decision
}

// decisions are those of all nodes that have something to decide.
func (g graph) decisions(strategy Strategy) []decision {
	var all []decision
	for _, side := range g.sides() {
		for _, self := range side {
			in := g.situation(self, side)
			if len(in.Unreachable) == 0 {
				continue
			}
			leads := !slices.ContainsFunc(in.Members[:self], func(m member.Member) bool { return !slices.Contains(in.Unreachable, m.ID) })
			all = append(all, decision{side, leads, Decide(strategy, in)})
		}
	}
	return all
}

// leases are all ways in which these decisions can become final: with each of
// those that ask for the lease as the one that gets it.
func leases(all []decision) [][]decision {
	var ways [][]decision
	for winner := range all {
		if !all[winner].NeedsLease() {
			continue
		}
		way := slices.Clone(all)
		for i := range way {
			if i != winner {
				way[i].Decision = way[i].Denied()
			}
		}
		ways = append(ways, way)
	}
	if ways == nil {
		return [][]decision{all}
	}
	return ways
}

// left are the survivors of each side once the decisions were carried out, of
// which nobody hears on another side.
func (g graph) left(all []decision) [][]int {
	var down uint8
	for _, d := range all {
		for _, id := range d.Down {
			i := int(id.Host[0] - 'a')
			if slices.Contains(d.side, i) {
				down |= 1 << i
			}
		}
	}
	var left [][]int
	for _, side := range g.sides() {
		alive := slices.DeleteFunc(slices.Clone(side), func(i int) bool { return down>>i&1 == 1 })
		if len(alive) > 0 {
			left = append(left, alive)
		}
	}
	return left
}

// clean tells whether the sides are whole: nobody is missed inside one.
func (g graph) clean() bool {
	return !slices.ContainsFunc(g.sides(), func(side []int) bool { return !g.connected(side) })
}

func (g graph) connected(nodes []int) bool {
	for _, i := range nodes {
		for _, j := range nodes {
			if g.missed(i, j) {
				return false
			}
		}
	}
	return true
}

func (g graph) String() string {
	var b strings.Builder
	for i := range g.n {
		for j := range g.n {
			if g.lost[i]>>j&1 == 1 {
				fmt.Fprintf(&b, " %c->%c", 'a'+i, 'a'+j)
			}
		}
	}
	return b.String()
}

func nodeID(i int) member.ID {
	return member.ID{Address: member.Address{Host: string(rune('a' + i)), Port: 1}, UID: 1}
}

// ruled is a strategy and what it promises beyond that at most one side survives.
type ruled struct {
	Strategy
	one bool // of two whole sides, one survives for sure
}

func strategies(n int) []ruled {
	return []ruled{
		{KeepMajority{}, true},
		{KeepOldest{}, true},
		{KeepOldest{DownIfAlone: true}, true},
		{StaticQuorum{Size: n/2 + 1}, n%2 == 1},
		{LeaseMajority{}, true},
		{DownAll{}, false},
	}
}

// verdicts counts what became of the graphs.
type verdicts struct{ graphs, whole, part, nobody, wrong int }

func (v *verdicts) add(o verdicts) {
	v.graphs, v.whole, v.part, v.nobody, v.wrong = v.graphs+o.graphs, v.whole+o.whole, v.part+o.part, v.nobody+o.nobody, v.wrong+o.wrong
}

// judge applies a strategy to a graph, on every side, as carried out by the
// leaders and as carried out by everybody. The first wrong outcome is described.
func (v *verdicts) judge(g graph, s ruled) (wrong string) {
	all := g.decisions(s.Strategy)
	leaders := slices.DeleteFunc(slices.Clone(all), func(d decision) bool { return !d.leads })
	if _, lease := s.Strategy.(LeaseMajority); !lease { // for which leaders alone ask
		wrong = g.wrong(s, g.left(all))
	}
	for _, decisions := range leases(leaders) {
		v.graphs++
		left := g.left(decisions)
		wrong = cmp.Or(wrong, g.wrong(s, left))
		switch {
		case len(left) == 0:
			v.nobody++
		case slices.ContainsFunc(g.sides(), func(side []int) bool { return slices.Equal(side, left[0]) }):
			v.whole++
		default:
			v.part++
		}
	}
	if wrong != "" {
		v.wrong++
		wrong = fmt.Sprintf("%s, %d nodes, lost%s: %s", s.Name(), g.n, g, wrong)
	}
	return wrong
}

// wrong says which promise is broken, if one is.
func (g graph) wrong(s ruled, left [][]int) string {
	switch {
	case len(left) > 1:
		return fmt.Sprintf("%v survive", left)
	case len(left) == 0 && s.one && g.clean() && len(g.sides()) <= 2:
		return "nobody survives"
	case g.lost == [5]uint8{} && (len(left) == 0 || len(left[0]) < g.n):
		return fmt.Sprintf("nothing is lost, and only %v survive", left)
	case len(left) == 1 && !g.connected(left[0]):
		return fmt.Sprintf("survivors %v do not reach each other", left[0])
	default:
		return ""
	}
}

// Every way in which links of some nodes can break, each direction for itself,
// asked on every side: at most one side survives, its survivors reach each other,
// and of two whole sides one is left with the strategies that promise it. A cluster
// in which nothing is lost is left alone.
//
// That one node alone is mistaken about another that it can reach is no such
// graph: the next answered heartbeat ends it.
func TestAtMostOneSideSurvives(t *testing.T) {
	for n := 2; n <= min(*graphNodes, 5); n++ {
		for _, s := range strategies(n) {
			t.Run(fmt.Sprintf("%d nodes, %s", n, title(s.Strategy)), func(t *testing.T) {
				t.Parallel()
				var v verdicts
				known := map[[5]uint8]verdicts{} // by who misses whom, which is all that nodes see
				for bits := range uint64(1) << (n * (n - 1)) {
					g := graphOf(n, bits)
					seen := g.seen()
					one, ok := known[seen]
					if !ok {
						if wrong := one.judge(g, s); wrong != "" && v.wrong <= 10 {
							t.Error(wrong)
						}
						known[seen] = one
					}
					v.add(one)
				}
				t.Log(v.row(s.Strategy))
				if row := v.row(s.Strategy); n == 4 && !strings.Contains(documented(t), row) {
					t.Errorf("docs/downing.md does not have the row\n%s", row)
				}
			})
		}
	}
}

func title(s Strategy) string {
	switch s := s.(type) {
	case KeepOldest:
		if s.DownIfAlone {
			return s.Name() + ", down if alone"
		}
	case StaticQuorum:
		return fmt.Sprintf("%s of %d", s.Name(), s.Size)
	}
	return s.Name()
}

// row is a line of the table in docs/downing.md.
func (v verdicts) row(s Strategy) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d |", title(s), v.graphs, v.whole, v.part, v.nobody, v.wrong)
}

func documented(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/downing.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
