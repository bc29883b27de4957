package gossip

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// leaving is how this node gets out.
type leaving struct {
	handedOver bool // the node's exiting tasks are done
	started    bool // StartExiting was given
	downTicks  int  // leader ticks since this node saw itself Down
	wasDown    bool
	untold     *State // not all other downed ones know of this one

	later ids // members that are to leave when they have come up
}

// leaveNow makes those leave that were to do so later.
func (m *Machine) leaveNow() {
	for _, id := range m.leave.later {
		other, ok := m.state.Member(id)
		if ok && other.UpNumber == member.NeverUp && m.enough(m.perspective()) {
			continue
		}
		m.leave.later = m.leave.later.without(id)
		if ok {
			m.startLeave(id.Address)
		}
	}
}

// patience is for how many leader ticks a downed node waits for the other
// downed ones to learn of it.
const patience = 4

// startLeave makes a member leave; one that is about to come up, when it has. Leaving, it
// would be the only settled member where nobody has come up yet: it would agree
// with itself, and lead beside whom the others agree on.
func (m *Machine) startLeave(a member.Address) {
	if m.phase != joined {
		if a == m.cfg.Self.Address {
			m.stop(Left, "left before it had joined")
		}
		return
	}
	other, ok := m.state.at(a)
	switch {
	case !ok || !Allowed(other.Status, member.Leaving) || other.Status == member.Leaving:
	case other.UpNumber == member.NeverUp && m.enough(m.perspective()):
		m.leave.later = m.leave.later.with(other.ID)
	default:
		other.Status = member.Leaving
		m.change(m.state.Update(other))
		m.sendStateToUnseen(hurryTo) // who follows it as coordinator is obeyed by those who know
	}
}

// downAt declares the member at an address dead.
func (m *Machine) downAt(a member.Address) {
	if there, ok := m.state.at(a); ok {
		m.down(there.ID)
	}
}

// down declares members dead, all in one new version: a decision that was carried out
// in part may leave somebody to lead who is about to fall too. Each is told so
// directly, reachable or not, unless too many are declared dead at the same
// moment, as the smaller side of a large cluster is: each would be sent the whole
// state. Those find out by themselves, or are told when they come back.
func (m *Machine) down(members ...member.ID) {
	if m.phase != joined {
		return
	}
	next, dead := m.state, []member.ID(nil)
	for _, id := range members {
		if other, ok := next.Member(id); ok && other.Status != member.Down {
			next, dead = next.MarkDown(id), append(dead, id)
		}
	}
	if len(dead) == 0 {
		return
	}
	m.change(next)
	if !m.now.Equal(m.downed.at) {
		m.downed.at, m.downed.told = m.now, 0
	}
	for _, id := range dead {
		if id == m.cfg.Self {
			m.sendStateAround()
			continue
		}
		if m.downed.told++; m.downed.told <= hurryTo {
			m.sendState(id)
		}
	}
}

// downed counts whom this node has told at one moment that they are Down.
type downed struct {
	at   time.Time
	told int
}

// exitingConfirmed notes that an Exiting member has handed over.
func (m *Machine) exitingConfirmed(from member.ID) {
	if m.phase != joined || !m.state.Has(from) {
		m.ignore(from, Stranger, "exit")
		return
	}
	m.confirmed = m.confirmed.with(from)
}

// mindSelf follows this node's own status to the end.
func (m *Machine) mindSelf() {
	if m.phase != joined {
		return
	}
	switch self := m.self(); {
	case self.Status == member.Exiting && m.leave.handedOver:
		m.exit()
	case self.Status == member.Exiting && !m.leave.started:
		m.leave.started = true
		m.out.StartExiting = true
	case self.Status == member.Down:
		m.endDown()
	}
}

// exit is the end of a graceful leave: the state counts as seen now, a few
// members get it, and the two that are most likely to lead hear directly that
// this node may be removed.
func (m *Machine) exit() {
	m.state = m.state.seenAlso(m.cfg.Self)
	m.sendStateAround()
	p := m.perspective()
	unreachable, _ := p.suspects()
	first := p.leader(unreachable, "", p.Self)
	second := p.leader(unreachable, "", p.Self, first)
	for _, to := range []member.ID{first, second} {
		if !to.IsZero() {
			m.send(to, ExitingConfirmed{})
		}
	}
	m.stop(Left, "left cluster %q", m.cfg.Cluster)
}

// endDown ends a downed node when the other downed ones know their fate too or
// cannot be told, or when it has waited long enough.
func (m *Machine) endDown() {
	if !m.leave.wasDown {
		m.leave.wasDown, m.leave.downTicks = true, 0
	}
	p := m.perspective()
	if m.leave.untold == p.State && m.leave.downTicks < patience {
		return
	}
	unreachable := m.summary().byAnyone
	told := !slices.ContainsFunc(p.Members, func(o member.Member) bool {
		return o.DataCenter == p.DataCenter && o.Status == member.Down && !unreachable.has(o.ID) && !p.SeenBy(o.ID)
	})
	if told || m.leave.downTicks >= patience {
		m.sendStateAround()
		m.stop(Downed, "this node was declared down in cluster %q: start it anew to join again", m.cfg.Cluster)
		return
	}
	m.leave.untold = p.State
}

// prepareShutdown announces the end of the whole cluster.
func (m *Machine) prepareShutdown() {
	if m.phase == joined && !m.shuttingDown() {
		m.prepare(func(member.Member) bool { return true })
	}
}

// joinShutdown lets this node take part when it came up only afterwards.
func (m *Machine) joinShutdown() {
	if m.shuttingDown() {
		m.prepare(func(o member.Member) bool { return o.ID == m.cfg.Self })
	}
}

func (m *Machine) prepare(which func(member.Member) bool) {
	var changed []member.Member
	for _, other := range m.state.Members {
		if other.Status == member.Up && which(other) {
			other.Status = member.PreparingForShutdown
			changed = append(changed, other)
		}
	}
	if len(changed) > 0 {
		m.change(m.state.Update(changed...))
		m.gossipOnce()
	}
}

// shuttingDown tells whether the whole cluster is about to stop.
func (m *Machine) shuttingDown() bool {
	return slices.ContainsFunc(m.state.Members, func(o member.Member) bool {
		return o.Status == member.PreparingForShutdown || o.Status == member.ReadyForShutdown
	})
}
