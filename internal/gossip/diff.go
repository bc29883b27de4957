package gossip

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// Summary is what one node concludes from a state; the difference between two
// is what it tells its subscribers.
type Summary struct {
	Perspective
	leader      member.ID
	roleLeaders []RoleLeaderChanged // by role
	unreachable []member.ID
	centers     []string // that are unreachable
	blocking    []member.ID

	byAnyone     ids // of whom the own data center says something bad, see suspects
	byLiving     ids
	observations []member.Observation
	crashed      ids
}

// Summarize draws the conclusions.
func Summarize(p Perspective) Summary {
	byAnyone, byLiving := p.suspects()
	s := Summary{
		Perspective: p,
		leader:      p.leader(byAnyone, ""),
		unreachable: p.unreachable(byLiving),
		centers:     p.UnreachableDataCenters(),
		blocking:    p.blocking(byLiving, nil),

		byAnyone:     byAnyone,
		byLiving:     byLiving,
		observations: p.Table.Observations(),
		crashed:      p.crashed(),
	}
	for _, role := range p.roles() {
		s.roleLeaders = append(s.roleLeaders, RoleLeaderChanged{role, p.leader(byAnyone, role)})
	}
	return s
}

// next draws the conclusions from a state that follows. When only those who have
// seen it are others, so is only who holds up convergence.
func (s Summary) next(p Perspective) Summary {
	if s.Self != p.Self || s.DataCenter != p.DataCenter || !shared(s.Members, p.Members) || !shared(s.Table.rows, p.Table.rows) {
		return Summarize(p)
	}
	s.Perspective, s.blocking = p, p.blocking(s.byLiving, nil)
	return s
}

// View is the summary as other parts of the node see it.
func (s Summary) View() *member.View {
	return &member.View{
		Self:         s.Self,
		Cluster:      s.ID,
		DataCenter:   s.DataCenter,
		Members:      s.Members,
		Unreachable:  s.unreachable,
		Crashed:      s.crashed,
		Observations: s.observations,
		SeenBy:       s.Seen,
		Leader:       s.leader,
		Converged:    len(s.blocking) == 0,
		Blocking:     s.blocking,
	}
}

// Diff lists what has changed from old to s, in the order of [Event].
func (s Summary) Diff(old Summary) []Event {
	events := s.memberEvents(old)
	events = append(events, s.reachabilityEvents(old)...)
	events = append(events, s.leaderEvents(old)...)
	converged := len(s.blocking) == 0
	if converged != (len(old.blocking) == 0) || !slices.Equal(s.Seen, old.Seen) {
		events = append(events, SeenChanged{converged, s.Seen})
	}
	if !s.Table.equal(old.Table) {
		events = append(events, ReachabilityChanged{s.observations})
	}
	return events
}

// memberEvents tells the removed members before the others, so that a removed
// incarnation is gone before its successor appears.
func (s Summary) memberEvents(old Summary) []Event {
	if shared(old.Members, s.Members) {
		return nil
	}
	var removed, changed []Event
	for was, is := range pairs(old.Members, s.Members, nodeOfMember) {
		switch {
		case is == nil:
			gone := *was
			gone.Status = member.Removed
			removed = append(removed, MemberRemoved{gone, was.Status})
		case was == nil:
			changed = append(changed, MemberChanged{Member: *is})
		case was.Status != is.Status, was.UpNumber != is.UpNumber:
			changed = append(changed, MemberChanged{*is, was.Status})
		}
	}
	return append(removed, changed...)
}

func (s Summary) reachabilityEvents(old Summary) []Event {
	var events []Event
	for _, id := range s.unreachable {
		if m, ok := s.Member(id); ok && !ids(old.unreachable).has(id) {
			events = append(events, UnreachableMember{m})
		}
	}
	for _, id := range old.unreachable {
		if m, ok := s.Member(id); ok && !ids(s.unreachable).has(id) {
			events = append(events, ReachableMember{m})
		}
	}
	for _, dc := range s.centers {
		if !slices.Contains(old.centers, dc) {
			events = append(events, UnreachableDataCenter{dc})
		}
	}
	for _, dc := range old.centers {
		if !slices.Contains(s.centers, dc) {
			events = append(events, ReachableDataCenter{dc})
		}
	}
	return events
}

func (s Summary) leaderEvents(old Summary) []Event {
	var events []Event
	if s.leader != old.leader {
		events = append(events, LeaderChanged{s.leader})
	}
	roles := slices.Concat(s.roles(), old.roles())
	slices.Sort(roles)
	for _, role := range slices.Compact(roles) {
		if now := s.roleLeader(role); now != old.roleLeader(role) {
			events = append(events, RoleLeaderChanged{role, now})
		}
	}
	return events
}

func (s Summary) roleLeader(role string) member.ID {
	i := slices.IndexFunc(s.roleLeaders, func(l RoleLeaderChanged) bool { return l.Role == role })
	if i < 0 {
		return member.ID{}
	}
	return s.roleLeaders[i].Leader
}
