package sbr

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// sides is a situation as the rules look at it: who is here, who is there, and
// who is in between.
type sides struct {
	Situation // Unreachable sorted, Observations between members only

	cycle    []member.ID // both observer and subject of an observation, in order
	alive    []member.ID // both ends of observations whose subject has seen the membership, in order
	doubtful []member.ID // both of these: indirectly connected, in order
}

// newSides sorts a situation. Observations that name a node which is no member
// any more are stale and say nothing about those who are: they are dropped, or
// a connected cluster would find itself split after a few quick restarts.
func newSides(in Situation) *sides {
	s := &sides{Situation: in}
	s.Unreachable = sorted(in.Unreachable)
	s.Observations = slices.DeleteFunc(slices.Clone(in.Observations), func(o member.Observation) bool {
		return !s.isMember(o.Observer) || !s.isMember(o.Subject)
	})
	observers, subjects := ends(s.Observations)
	s.cycle = slices.DeleteFunc(observers, func(id member.ID) bool { return !contains(subjects, id) })
	seen := sorted(in.SeenBy)
	for _, o := range s.Observations {
		if contains(seen, o.Subject) {
			s.alive = append(s.alive, o.Observer, o.Subject)
		}
	}
	s.alive = sorted(s.alive)
	s.doubtful = union(s.cycle, s.alive)
	return s
}

// withoutDoubt is the situation that is left when the observations among the
// indirectly connected members are taken away: what remains tells whether
// there is a partition besides.
func (s *sides) withoutDoubt() *sides {
	rest := s.Situation
	downable := s.downable()
	rest.Observations = slices.DeleteFunc(slices.Clone(s.Observations), func(o member.Observation) bool {
		return !contains(downable, o.Observer) || !contains(downable, o.Subject) ||
			contains(s.cycle, o.Observer) && contains(s.cycle, o.Subject) ||
			contains(s.alive, o.Observer) && contains(s.alive, o.Subject)
	})
	_, rest.Unreachable = ends(rest.Observations)
	return newSides(rest)
}

// downable are the members that a decision may down, in order.
func (s *sides) downable() []member.ID {
	var ids []member.ID
	for _, m := range s.Members {
		if downable(m) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// downable tells whether a decision may down m: it is not on its way out.
func downable(m member.Member) bool { return m.Status != member.Down && m.Status != member.Exiting }

// electorate says which members a rule counts. Members that come or go may
// already be counted differently by the other side, so a rule can ask twice.
type electorate struct {
	role    string
	joining bool // with Joining and WeaklyUp
	staying bool // without Leaving
}

func (e electorate) has(m member.Member) bool {
	if !m.HasRole(e.role) {
		return false
	}
	switch m.Status {
	case member.Joining, member.WeaklyUp:
		return e.joining
	case member.Leaving:
		return !e.staying
	case member.Down, member.Exiting, member.Removed:
		return false
	default:
		return true
	}
}

// counted are the members of an electorate, in address order.
func (s *sides) counted(e electorate) []member.Member {
	return slices.DeleteFunc(slices.Clone(s.Members), func(m member.Member) bool { return !e.has(m) })
}

// count tells how many of an electorate are on this side and on the other.
func (s *sides) count(e electorate) (here, there int) {
	for _, m := range s.Members {
		switch {
		case !e.has(m):
		case s.isUnreachable(m.ID):
			there++
		default:
			here++
		}
	}
	return here, there
}

func (s *sides) isUnreachable(id member.ID) bool { return contains(s.Unreachable, id) }

func (s *sides) isMember(id member.ID) bool {
	_, ok := slices.BinarySearchFunc(s.Members, id, func(m member.Member, id member.ID) int { return m.ID.Compare(id) })
	return ok
}

// ends gives the observers and the subjects of observations, each in order.
func ends(observations []member.Observation) (observers, subjects []member.ID) {
	for _, o := range observations {
		observers = append(observers, o.Observer)
		subjects = append(subjects, o.Subject)
	}
	return sorted(observers), sorted(subjects)
}

// The sets of the package are sorted slices without repeats.

func sorted(ids []member.ID) []member.ID {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, member.ID.Compare)
	return slices.Compact(ids)
}

func contains(set []member.ID, id member.ID) bool {
	_, ok := slices.BinarySearchFunc(set, id, member.ID.Compare)
	return ok
}

func union(a, b []member.ID) []member.ID { return sorted(slices.Concat(a, b)) }

func intersect(a, b []member.ID) []member.ID {
	return slices.DeleteFunc(slices.Clone(a), func(id member.ID) bool { return !contains(b, id) })
}

func subtract(a, b []member.ID) []member.ID {
	return slices.DeleteFunc(slices.Clone(a), func(id member.ID) bool { return contains(b, id) })
}
