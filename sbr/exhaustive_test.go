package sbr

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
)

// links says which pairs of n nodes have a broken link. A link that is broken
// in one direction is noticed at both ends, because heartbeats are answered:
// these 1<<(n*(n-1)/2) graphs stand for all directed ones.
type links struct {
	n      int
	broken uint64
}

func (l links) bad(i, j int) bool {
	low, high := min(i, j), max(i, j)
	return low != high && l.broken>>(high*(high-1)/2+low)&1 == 1
}

// sides are the groups in which news gets round.
func (l links) sides() [][]int {
	side := make([]int, l.n)
	for i := range side {
		side[i] = i
	}
	for range l.n {
		for i := range l.n {
			for j := range l.n {
				if !l.bad(i, j) {
					side[i] = min(side[i], side[j])
				}
			}
		}
	}
	groups := make([][]int, l.n)
	for i, s := range side {
		groups[s] = append(groups[s], i)
	}
	return slices.DeleteFunc(groups, func(g []int) bool { return g == nil })
}

// situation is what a node knows when the news has got round on its side.
func (l links) situation(self int, side []int) Situation {
	s := Situation{Self: nodeID(self)}
	for i := range l.n {
		s.Members = append(s.Members, member.Member{ID: nodeID(i), Status: member.Up, UpNumber: l.n - i})
	}
	for _, observer := range side {
		s.SeenBy = append(s.SeenBy, nodeID(observer))
		for i := range l.n {
			if !l.bad(observer, i) {
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

// survivors are the nodes of a side that nobody on it has downed, when all of
// them decide or when only those do that think they lead.
func (l links) survivors(strategy Strategy, side []int, leadersOnly bool) []int {
	var down []member.ID
	for _, self := range side {
		in := l.situation(self, side)
		leads := !slices.ContainsFunc(in.Members[:self], func(m member.Member) bool { return !slices.Contains(in.Unreachable, m.ID) })
		if len(in.Unreachable) > 0 && (leads || !leadersOnly) {
			down = append(down, Decide(strategy, in).Down...)
		}
	}
	return slices.DeleteFunc(slices.Clone(side), func(i int) bool { return slices.Contains(down, nodeID(i)) })
}

// clean tells whether the sides are whole: no broken link inside one.
func (l links) clean() bool {
	for _, side := range l.sides() {
		if !l.connected(side) {
			return false
		}
	}
	return true
}

func (l links) connected(nodes []int) bool {
	for _, i := range nodes {
		for _, j := range nodes {
			if l.bad(i, j) {
				return false
			}
		}
	}
	return true
}

func (l links) String() string {
	var b strings.Builder
	for i := range l.n {
		for j := range i {
			if l.bad(i, j) {
				fmt.Fprintf(&b, " %c-%c", 'a'+j, 'a'+i)
			}
		}
	}
	return b.String()
}

func nodeID(i int) member.ID {
	return member.ID{Address: member.Address{Host: string(rune('a' + i)), Port: 1}, UID: 1}
}

// Every way in which the links of up to five nodes can break is asked on every
// side. At most one side survives, what survives is connected fully, a cluster
// without broken links is left alone, and a clean split in two leaves one side
// with the strategies that promise it.
func TestAtMostOneSideSurvives(t *testing.T) {
	for n := 2; n <= 5; n++ {
		for _, tt := range []struct {
			strategy Strategy
			one      bool // of two whole sides, one survives for sure
		}{
			{KeepMajority{}, true},
			{KeepOldest{}, true},
			{KeepOldest{DownIfAlone: true}, true},
			{StaticQuorum{Size: n/2 + 1}, n%2 == 1},
			{DownAll{}, false},
		} {
			for broken := range uint64(1) << (n * (n - 1) / 2) {
				for _, leadersOnly := range []bool{false, true} {
					checkSides(t, links{n, broken}, tt.strategy, leadersOnly, tt.one)
				}
			}
		}
	}
}

func checkSides(t *testing.T, l links, strategy Strategy, leadersOnly, one bool) {
	t.Helper()
	var alive [][]int
	sides := l.sides()
	for _, side := range sides {
		if left := l.survivors(strategy, side, leadersOnly); len(left) > 0 {
			alive = append(alive, left)
			if !l.connected(left) {
				t.Errorf("%s, %d nodes, broken%s: survivors %v are not connected", strategy.Name(), l.n, l, left)
			}
		}
	}
	whole := l.clean()
	switch {
	case len(alive) > 1:
		t.Errorf("%s, %d nodes, broken%s: sides %v survive", strategy.Name(), l.n, l, alive)
	case l.broken == 0 && len(alive[0]) < l.n:
		t.Errorf("%s, %d nodes, nothing broken: only %v survive", strategy.Name(), l.n, alive)
	case one && whole && len(sides) <= 2 && len(alive) != 1:
		t.Errorf("%s, %d nodes, broken%s: nobody survives", strategy.Name(), l.n, l)
	}
}
