package gossip

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// DifferentViewProbability is the probability p of preferring targets that have
// not seen the current version, adjusted to the size of the cluster: it falls
// linearly from reduceAt members on to a tenth at three times as many, so that
// in a large cluster the last ones to learn are not hit by everybody at once.
//
// The original feeds reduceAt where p is meant and so always prefers them; here
// the setting works.
func DifferentViewProbability(p float64, reduceAt, size int) float64 {
	low, high := reduceAt, 3*reduceAt
	switch {
	case size <= low:
		return p
	case size >= high:
		return p / 10
	default:
		return p - p*0.9*float64(size-low)/float64(high-low)
	}
}

// validTarget tells whether gossip may go to a node: not to self, and not to
// those that self cannot reach. What others say does not matter here, or a
// wrong suspicion could never be refuted.
func (p Perspective) validTarget(id member.ID) bool {
	return id != p.Self && p.Reaches(p.Self, id)
}

// Targets lists the candidates for one round of gossip. The dice have been
// thrown: local is to stay in the own data center, differ is to prefer nodes
// that have not seen this version, others is the order in which to try other
// data centers, in each of which only the n oldest take part.
func (p Perspective) Targets(local, differ bool, others []string, n int) []member.ID {
	if !local && p.amongOldest(n) {
		for _, dc := range others {
			var there []member.ID
			for _, m := range p.oldest(dc, n) {
				if p.validTarget(m.ID) {
					there = append(there, m.ID)
				}
			}
			if len(there) > 0 {
				return there
			}
		}
	}
	var all, unaware []member.ID
	bad, seen := p.Table.by(p.Self), p.Seen
	for i := range p.Members {
		m := &p.Members[i]
		for len(seen) > 0 && seen[0].Compare(m.ID) < 0 {
			seen = seen[1:]
		}
		if m.DataCenter != p.DataCenter || m.ID == p.Self || bad.has(m.ID) {
			continue
		}
		all = append(all, m.ID)
		if differ && (len(seen) == 0 || seen[0] != m.ID) {
			unaware = append(unaware, m.ID)
		}
	}
	if len(unaware) > 0 {
		return unaware
	}
	return all
}

func (p Perspective) amongOldest(n int) bool {
	return slices.ContainsFunc(p.oldest(p.DataCenter, n), func(m member.Member) bool { return m.ID == p.Self })
}

// otherDataCenters lists all but the own one, in order.
func (p Perspective) otherDataCenters() []string {
	return slices.DeleteFunc(p.dataCenters(), func(dc string) bool { return dc == p.DataCenter })
}

// ExitingTargets lists, in order, who should learn at once that members were
// moved to Exiting: the two oldest of the data center and of each of their
// roles, where singletons and coordinators live.
func (p Perspective) ExitingTargets(exiting []member.ID) []member.ID {
	var roles []string
	for _, id := range exiting {
		if m, ok := p.Member(id); ok {
			roles = append(roles, m.Roles...)
		}
	}
	if len(exiting) == 0 {
		return nil
	}
	slices.Sort(roles)
	var targets []member.ID
	byAge := p.oldest(p.DataCenter, len(p.Members))
	for _, role := range slices.Compact(append([]string{""}, roles...)) {
		found := 0
		for _, m := range byAge {
			if found < 2 && m.HasRole(role) {
				targets = append(targets, m.ID)
				found++
			}
		}
	}
	return setOf(targets)
}
