package sbr

import (
	"fmt"
	"slices"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
)

// mutant is a strategy with one fault planted: what it makes of two sides is
// changed once more.
type mutant struct {
	Strategy
	fault func(s *sides, v verdict) verdict
}

func (m mutant) choose(s *sides) verdict { return m.fault(s, m.Strategy.choose(s)) }

func always(a Action) func(*sides, verdict) verdict {
	return func(*sides, verdict) verdict { return verdict{action: a} }
}

// instead turns one action into another.
func instead(of, a Action) func(*sides, verdict) verdict {
	return func(_ *sides, v verdict) verdict {
		if v.action == of {
			v.action = a
		}
		return v
	}
}

// atTie decides anew when as many are here as there.
func atTie(a Action) func(*sides, verdict) verdict {
	return func(s *sides, v verdict) verdict {
		if here, there := s.count(electorate{}); here == there && len(s.doubtful) == 0 {
			v.action = a
		}
		return v
	}
}

// blind does not see who is indirectly connected.
func blind(strategy Strategy) func(*sides, verdict) verdict {
	return func(s *sides, _ verdict) verdict {
		sure := *s
		sure.cycle, sure.alive, sure.doubtful = nil, nil, nil
		return strategy.choose(&sure)
	}
}

// The tests of whole graphs would notice if a rule were wrong.
func TestGraphsKillMutants(t *testing.T) {
	for _, m := range []struct {
		fault string
		mutant
	}{
		{"a tie keeps both", mutant{KeepMajority{}, atTie(DownUnreachable)}},
		{"a tie keeps neither", mutant{KeepMajority{}, atTie(DownReachable)}},
		{"the minority stays too", mutant{KeepMajority{}, instead(DownReachable, DownUnreachable)}},
		{"the majority goes too", mutant{KeepMajority{}, instead(DownUnreachable, DownReachable)}},
		{"does not see bad links", mutant{KeepMajority{}, blind(KeepMajority{})}},
		{"bad links are a partition", mutant{KeepOldest{}, instead(DownIndirectlyConnected, DownUnreachable)}},
		{"bad links end all", mutant{KeepMajority{}, func(s *sides, v verdict) verdict {
			if len(s.doubtful) == 0 && v.action == DownUnreachable {
				v.action = DownIndirectlyConnected
			}
			return v
		}}},
		{"the quorum is one too small", mutant{StaticQuorum{Size: 3}, func(s *sides, v verdict) verdict {
			if here, _ := s.count(electorate{}); here >= 2 && v.action == DownReachable {
				v.action = DownUnreachable
			}
			return v
		}}},
		{"too many for the quorum are well", mutant{StaticQuorum{Size: 2}, instead(DownEverybody, DownUnreachable)}},
		{"each side has its oldest", mutant{KeepOldest{}, instead(DownReachable, DownUnreachable)}},
		{"the lonely oldest stays", mutant{KeepOldest{DownIfAlone: true}, func(s *sides, v verdict) verdict {
			if here, _ := s.count(electorate{}); here == 1 && v.action == DownReachable {
				v.action = DownUnreachable
			}
			return v
		}}},
		{"nobody asks for the lease", mutant{LeaseMajority{}, instead(AcquireLeaseThenDownUnreachable, DownUnreachable)}},
		{"down-all keeps a side", mutant{DownAll{}, always(DownUnreachable)}},
		{"down-all downs the others alone", mutant{DownAll{}, func(s *sides, v verdict) verdict {
			if s.isUnreachable(nodeID(0)) {
				v.action = DownUnreachable
			}
			return v
		}}},
	} {
		rule := ruled{m.mutant, m.Strategy != DownAll{} && m.Strategy != StaticQuorum{Size: 3}}
		if !killed(rule, 4) {
			t.Errorf("%s: nothing noticed that %s", m.Name(), m.fault)
		}
	}
}

func killed(s ruled, n int) bool {
	var v verdicts
	for bits := range uint64(1) << (n * (n - 1)) {
		if v.judge(graphOf(n, bits), s) != "" {
			return true
		}
	}
	return false
}

// Sides whose membership differs by members that were just joining or leaving:
// one side may have seen them come up, or go, and the other not.
func TestSidesThatCountDifferentlyDoNotBothSurvive(t *testing.T) {
	for _, s := range []Strategy{KeepMajority{}, KeepOldest{}, KeepOldest{DownIfAlone: true}} {
		if bad := bothSurvive(s); bad != "" {
			t.Errorf("%s: %s", title(s), bad)
		}
	}
	// Without the second, cautious look they would.
	careless := func(_ *sides, v verdict) verdict { return instead(DownEverybody, DownUnreachable)(nil, v) }
	for _, s := range []Strategy{KeepMajority{}, KeepOldest{DownIfAlone: true}} {
		if bothSurvive(mutant{s, careless}) == "" {
			t.Errorf("%s: nothing noticed that the second look is missing", s.Name())
		}
	}
}

// bothSurvive describes a partition of four members after which both sides live
// on; empty when there is none. The first side may know an earlier membership.
func bothSurvive(s Strategy) string {
	const n = 4
	before := [...]member.Status{member.Up, member.Joining, member.Leaving}
	after := [...]member.Status{member.Up, member.Up, member.Exiting}
	for statuses := range 81 {
		for side := 1; side < 1<<n-1; side++ {
			var here, there []member.ID
			var old, young []member.Member
			for i, rest := 0, statuses; i < n; i, rest = i+1, rest/3 {
				m := member.Member{ID: nodeID(i), Status: before[rest%3], UpNumber: n - i}
				if m.Status == member.Joining {
					m.UpNumber = member.NeverUp
				}
				old = append(old, m)
				if m.Status = after[rest%3]; m.UpNumber == member.NeverUp {
					m.UpNumber = n + 1 + i
				}
				young = append(young, m)
				if side>>i&1 == 1 {
					here = append(here, nodeID(i))
				} else {
					there = append(there, nodeID(i))
				}
			}
			first := Decide(s, Situation{Self: here[0], Members: old, Unreachable: there, SeenBy: here, Wary: true})
			second := Decide(s, Situation{Self: there[0], Members: young, Unreachable: here, SeenBy: there, Wary: true})
			if first.Action == DownUnreachable && second.Action == DownUnreachable && serves(young, here) && serves(young, there) {
				return fmt.Sprintf("%v and %v both survive\n%s%s", here, there, first.Describe(), second.Describe())
			}
		}
	}
	return ""
}

// serves tells whether somebody on a side is more than on its way out.
func serves(members []member.Member, side []member.ID) bool {
	return slices.ContainsFunc(members, func(m member.Member) bool {
		return slices.Contains(side, m.ID) && m.Status != member.Exiting
	})
}
