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

// survivors are the nodes of a side that are left when only those decide that
// think they lead, and when all do.
func (l links) survivors(strategy Strategy, side []int) (leaders, all []int) {
	var byLeaders, byAll []member.ID
	for _, self := range side {
		in := l.situation(self, side)
		if len(in.Unreachable) == 0 {
			continue
		}
		down := Decide(strategy, in).Down
		byAll = append(byAll, down...)
		if !slices.ContainsFunc(in.Members[:self], func(m member.Member) bool { return !slices.Contains(in.Unreachable, m.ID) }) {
			byLeaders = append(byLeaders, down...)
		}
	}
	without := func(down []member.ID) []int {
		return slices.DeleteFunc(slices.Clone(side), func(i int) bool { return slices.Contains(down, nodeID(i)) })
	}
	return without(byLeaders), without(byAll)
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
// without broken links is left alone, and of two whole sides one is left with
// the strategies that promise it.
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
				l := links{n, broken}
				sides := l.sides()
				var byLeaders, byAll [][]int
				for _, side := range sides {
					leaders, all := l.survivors(tt.strategy, side)
					byLeaders, byAll = append(byLeaders, leaders), append(byAll, all)
				}
				one := tt.one && l.clean() && len(sides) <= 2
				l.checkSurvivors(t, tt.strategy, byLeaders, one)
				l.checkSurvivors(t, tt.strategy, byAll, one)
			}
		}
	}
}

func (l links) checkSurvivors(t *testing.T, strategy Strategy, left [][]int, one bool) {
	t.Helper()
	alive := slices.DeleteFunc(left, func(nodes []int) bool { return len(nodes) == 0 })
	switch {
	case len(alive) > 1:
		t.Errorf("%s, %d nodes, broken%s: sides %v survive", strategy.Name(), l.n, l, alive)
	case len(alive) == 0:
		if one {
			t.Errorf("%s, %d nodes, broken%s: nobody survives", strategy.Name(), l.n, l)
		}
	case l.broken == 0 && len(alive[0]) < l.n:
		t.Errorf("%s, %d nodes, nothing broken: only %v survive", strategy.Name(), l.n, alive[0])
	case !l.connected(alive[0]):
		t.Errorf("%s, %d nodes, broken%s: survivors %v are not connected", strategy.Name(), l.n, l, alive[0])
	}
}
