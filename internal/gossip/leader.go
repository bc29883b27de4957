package gossip

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// leaderTick runs the duties of the leader, should this node be it, and what
// every node looks after at the same pace.
func (m *Machine) leaderTick() {
	m.timers.set(leaderTimer, m.now.Add(m.cfg.Times.LeaderActions))
	m.leave.downTicks++
	m.joinShutdown()
	m.leaderDuties()
	m.leaveNow()
	if m.timers[inviteTimer].IsZero() {
		m.invite()
	}
}

func (m *Machine) leaderDuties() {
	s := m.summary()
	agreed := len(s.blocking) == 0
	if !agreed && len(m.confirmed) > 0 {
		agreed = s.Converged(m.confirmed)
	}
	if agreed {
		m.unagreed = 0
	} else {
		m.unagreed++
	}
	switch after := m.cfg.Times.WeaklyUpAfter; {
	case s.leader != m.cfg.Self:
	case agreed:
		m.moveOn(s.Perspective)
	case after >= 0 && time.Duration(m.unagreed)*m.cfg.Times.LeaderActions >= after:
		m.weaklyUp(s.Perspective)
	}
}

// moveOn is what the leader does with an agreed state, all in one new version.
func (m *Machine) moveOn(p Perspective) {
	up := m.comingUp(p)
	changed := up
	var exiting []member.ID
	for _, other := range p.Members {
		if other.DataCenter != p.DataCenter {
			continue
		}
		switch other.Status {
		case member.Leaving:
			other.Status = member.Exiting
			exiting = append(exiting, other.ID)
		case member.PreparingForShutdown:
			other.Status = member.ReadyForShutdown
		default:
			continue
		}
		changed = append(changed, other)
	}
	next := m.forgetOldTombstones(p.State)
	for _, id := range m.removable(p) {
		end := next.end(id)
		if m.confirmed.has(id) {
			end = member.Exited
		}
		next = next.remove(id, m.now.UnixMilli(), end)
	}
	if len(changed) > 0 {
		next = next.Update(changed...)
	}
	if len(up) > 0 {
		next.Quorum = 0 // it is met
	}
	if next == m.state {
		return
	}
	m.change(next)
	p.State = m.state
	for _, to := range p.ExitingTargets(exiting) {
		if p.validTarget(to) {
			m.sendState(to)
		}
	}
}

// comingUp lists the members to be moved to Up with their ranks of age, in the
// order of their addresses. A rank of a removed member may be used again.
func (m *Machine) comingUp(p Perspective) []member.Member {
	if !m.enough(p) {
		return nil
	}
	rank := 0
	for _, other := range p.Members {
		if other.DataCenter == p.DataCenter && other.UpNumber != member.NeverUp {
			rank = max(rank, other.UpNumber)
		}
	}
	var up []member.Member
	for _, other := range p.Members {
		if other.DataCenter == p.DataCenter && (other.Status == member.Joining || other.Status == member.WeaklyUp) {
			rank = min(rank+1, member.NeverUp-1)
			other.Status, other.UpNumber = member.Up, rank
			up = append(up, other)
		}
	}
	return up
}

// enough tells whether members may come up: there are as many as required, of
// each role too, and the cluster is not about to stop. Members of all statuses
// count.
func (m *Machine) enough(p Perspective) bool {
	if len(p.Members) < max(m.cfg.MinMembers, p.Quorum) || m.shuttingDown() {
		return false
	}
	for role, required := range m.cfg.MinRoleMembers { // any order: all must be met
		for _, other := range p.Members {
			if other.HasRole(role) {
				required--
			}
		}
		if required > 0 {
			return false
		}
	}
	return true
}

// removable lists the members that are gone: downed or exiting ones that
// somebody here cannot reach any more, exiting ones that have said that they
// are done, and those of other data centers whose leader has agreed with them.
func (m *Machine) removable(p Perspective) []member.ID {
	unreachable := p.Table.against(p.local)
	var gone []member.ID
	for _, other := range p.Members {
		switch {
		case !going(other.Status), other.ID == p.Self:
		case p.Table.Worst(other.ID) == Terminated && !m.told.down(other.ID): // subscribers hear of the crash first
		case other.Status == member.Exiting && m.confirmed.has(other.ID), other.DataCenter != p.DataCenter:
			gone = append(gone, other.ID)
		case unreachable.has(other.ID):
			gone = append(gone, other.ID)
		}
	}
	return gone
}

// maxTombstones bounds the state under a storm of restarts: the newest are
// those that can still be met.
const maxTombstones = 4096

func (m *Machine) forgetOldTombstones(s *State) *State {
	s = s.PruneTombstones(m.now.Add(-m.cfg.Times.TombstonesFor).UnixMilli())
	if len(s.Tombstones) <= maxTombstones {
		return s
	}
	var times []int64
	for _, t := range s.Tombstones {
		times = append(times, t.Removed)
	}
	slices.Sort(times)
	return s.PruneTombstones(times[len(times)-maxTombstones-1])
}

// weaklyUp lets joining members work, though somebody is unreachable and so
// nothing is agreed. They own nothing that needs agreement. A cluster does not
// begin with them.
func (m *Machine) weaklyUp(p Perspective) {
	if !m.enough(p) || p.Quorum > 0 {
		return
	}
	var changed []member.Member
	for _, other := range p.Members {
		if other.DataCenter == p.DataCenter && other.Status == member.Joining && p.IsReachable(other.ID) {
			other.Status = member.WeaklyUp
			changed = append(changed, other)
		}
	}
	if len(changed) > 0 {
		m.change(m.state.Update(changed...))
	}
}
