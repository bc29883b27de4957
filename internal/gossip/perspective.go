package gossip

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// Perspective is a state as one node looks at it: convergence, leadership and
// reachability are questions of a data center.
type Perspective struct {
	*State
	Self       member.ID
	DataCenter string
}

// without is the same node's perspective of nothing.
func (p Perspective) without() Perspective {
	p.State = &State{}
	return p
}

// local tells whether a member is of the own data center; unknown nodes are not.
func (p Perspective) local(id member.ID) bool {
	i, ok := p.find(id)
	return ok && p.Members[i].DataCenter == p.DataCenter
}

// foreign tells whether a member is of another data center; unknown nodes are
// not.
func (p Perspective) foreign(id member.ID) bool {
	i, ok := p.find(id)
	return ok && p.Members[i].DataCenter != p.DataCenter
}

func (p Perspective) down(id member.ID) bool {
	i, ok := p.find(id)
	return ok && p.Members[i].Status == member.Down
}

// Converged tells whether this is agreed: whether nobody is [Perspective.Blocking].
func (p Perspective) Converged(confirmed []member.ID) bool { return len(p.Blocking(confirmed)) == 0 }

// Blocking lists, in order, who holds up convergence in the own data center:
// settled members that have not seen this version, and members that cannot be
// reached though they are not on their way out. confirmed are the members, in
// order, that have confirmed their exit; they hold up nothing, and neither do
// the observations of members that are Down, or Exiting and lost.
//
// The first members of a data center need the eyes of everybody: nobody is
// settled there yet, so all members that may become so count, of all data
// centers.
func (p Perspective) Blocking(confirmed []member.ID) []member.ID {
	_, unreachable := p.suspects()
	return p.blocking(unreachable, confirmed)
}

func (p Perspective) blocking(unreachable, confirmed ids) []member.ID {
	first := !slices.ContainsFunc(p.Members, func(m member.Member) bool {
		return m.DataCenter == p.DataCenter && settled(m.Status)
	})
	var blocking []member.ID
	seen := p.Seen
	for i := range p.Members {
		m := &p.Members[i]
		for len(seen) > 0 && seen[0].Compare(m.ID) < 0 {
			seen = seen[1:]
		}
		hasSeen := len(seen) > 0 && seen[0] == m.ID
		mustSee := m.DataCenter == p.DataCenter && settled(m.Status) ||
			first && (settled(m.Status) || m.Status == member.Joining || m.Status == member.WeaklyUp)
		mustReach := m.DataCenter == p.DataCenter && m.ID != p.Self && !going(m.Status)
		if (mustSee && !hasSeen || mustReach && unreachable.has(m.ID)) && !confirmed.has(m.ID) {
			blocking = append(blocking, m.ID)
		}
	}
	return blocking
}

// Leader is the leader of the own data center in the eyes of this node: the
// first settled member, in order, that is reachable; else the best of the
// others. There is no election, so both sides of a partition have one. The
// zero ID means that there is none.
func (p Perspective) Leader() member.ID { return p.RoleLeader("") }

// RoleLeader is the same among the members with a role.
func (p Perspective) RoleLeader(role string) member.ID {
	unreachable, _ := p.suspects()
	return p.leader(unreachable, role)
}

func (p Perspective) leader(unreachable ids, role string, except ...member.ID) member.ID {
	var best *member.Member
	for i := range p.Members {
		m := &p.Members[i]
		if m.DataCenter != p.DataCenter || m.Status == member.Down || !m.HasRole(role) || slices.Contains(except, m.ID) ||
			m.ID != p.Self && unreachable.has(m.ID) {
			continue
		}
		if best == nil || leaderRank(m.Status) < leaderRank(best.Status) {
			best = m
		}
		if settled(best.Status) {
			break
		}
	}
	if best == nil {
		return member.ID{}
	}
	return best.ID
}

// suspects are those of whom the own data center says something bad: any
// member of it, and any that lives as far as is known. Those that are Down do
// not; neither do Exiting ones that are suspected themselves, for what they said
// last they cannot take back, and it would hold up their own removal.
func (p Perspective) suspects() (byAnyone, byLiving ids) {
	var all, living []member.ID
	for _, r := range p.Table.rows {
		if r.fine() {
			continue
		}
		i, known := p.find(r.observer)
		if known && p.Members[i].DataCenter != p.DataCenter {
			continue
		}
		down := known && (p.Members[i].Status == member.Down || p.Members[i].Status == member.Exiting && p.lost(r.observer))
		for _, rec := range r.records {
			if rec.status == Reachable {
				continue
			}
			all = append(all, rec.subject)
			if !down {
				living = append(living, rec.subject)
			}
		}
	}
	same := len(all) == len(living)
	if byAnyone = setOf(all); same {
		return byAnyone, byAnyone
	}
	return byAnyone, setOf(living)
}

// IsReachable tells whether the own data center should treat a node as
// reachable: a member that nobody who counts says anything bad about. Down
// members do not count; about members of the own data center, neither do those
// of others.
func (p Perspective) IsReachable(id member.ID) bool {
	if !p.Has(id) {
		return false
	}
	local := p.local(id)
	for _, r := range p.Table.rows {
		if j, ok := r.find(id); ok && r.records[j].status != Reachable &&
			!p.down(r.observer) && (!local || !p.foreign(r.observer)) {
			return false
		}
	}
	return true
}

// Reaches tells whether from has nothing bad to say about the member to.
func (p Perspective) Reaches(from, to member.ID) bool {
	return p.Has(to) && p.Table.Status(from, to) == Reachable
}

// Unreachable lists, in order, the members of the own data center but self
// that a member of it cannot reach, one that is not Down, nor Exiting and lost.
func (p Perspective) Unreachable() []member.ID {
	_, bad := p.suspects()
	return p.unreachable(bad)
}

// lost tells whether a member that stays cannot reach a node.
func (p Perspective) lost(id member.ID) bool {
	return slices.ContainsFunc(p.Table.rows, func(r row) bool {
		j, said := r.find(id)
		i, known := p.find(r.observer)
		return said && r.records[j].status != Reachable && known && !going(p.Members[i].Status) &&
			p.Members[i].DataCenter == p.DataCenter
	})
}

func (p Perspective) unreachable(bad ids) []member.ID {
	return slices.DeleteFunc(slices.Clone(bad), func(id member.ID) bool { return id == p.Self || !p.local(id) })
}

// UnreachableDataCenters lists, in order, the other data centers with a member
// that cannot be reached from the own one.
func (p Perspective) UnreachableDataCenters() []string {
	var names []string
	for _, r := range p.Table.rows {
		for _, rec := range r.records {
			if rec.status == Unreachable && p.foreign(rec.subject) && !p.foreign(r.observer) {
				m, _ := p.Member(rec.subject)
				names = append(names, m.DataCenter)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Youngest is the member of the own data center that came up last; members
// that never did count as the very first ones.
func (p Perspective) Youngest() member.ID {
	var youngest member.Member
	age := -1
	for _, m := range p.Members {
		if m.DataCenter != p.DataCenter {
			continue
		}
		if n := m.UpNumber % member.NeverUp; n > age {
			youngest, age = m, n
		}
	}
	return youngest.ID
}

// oldest lists the n oldest members of a data center, oldest first.
func (p Perspective) oldest(dc string, n int) []member.Member {
	var all []member.Member
	for _, m := range p.Members {
		if m.DataCenter == dc {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, member.Member.CompareAge)
	return all[:min(n, len(all))]
}

// OldestPerDataCenter lists the n oldest members of each data center, oldest
// first.
func (p Perspective) OldestPerDataCenter(n int) map[string][]member.ID {
	all := map[string][]member.ID{}
	for _, dc := range p.dataCenters() {
		for _, m := range p.oldest(dc, n) {
			all[dc] = append(all[dc], m.ID)
		}
	}
	return all
}

// dataCenters lists the names of all, in order.
func (p Perspective) dataCenters() []string {
	var names []string
	for _, m := range p.Members {
		if len(names) == 0 || names[len(names)-1] != m.DataCenter {
			names = append(names, m.DataCenter)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// roles lists all roles of all members, in order.
func (p Perspective) roles() []string {
	var names []string
	for i, m := range p.Members {
		if i == 0 || !slices.Equal(m.Roles, p.Members[i-1].Roles) {
			names = append(names, m.Roles...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
