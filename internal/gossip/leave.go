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
}

// patience is for how many leader ticks a downed node waits for the other
// downed ones to learn of it.
const patience = 4

// startLeave makes a member leave.
func (m *Machine) startLeave(a member.Address) {
	if m.phase != joined {
		if a == m.cfg.Self.Address {
			m.stop(Left, "left before it had joined")
		}
		return
	}
	other, ok := m.state.at(a)
	if ok && Allowed(other.Status, member.Leaving) && other.Status != member.Leaving {
		other.Status = member.Leaving
		m.change(m.state.Update(other))
		m.gossipOnce()
	}
}

// down declares a member dead. It is told so directly, reachable or not, unless
// too many are declared dead at the same moment, as the smaller side of a large
// cluster is: each would be sent the whole state. Those find out by themselves, or are
// told when they come back.
func (m *Machine) down(a member.Address) {
	if m.phase != joined {
		return
	}
	other, ok := m.state.at(a)
	if !ok || other.Status == member.Down {
		return
	}
	m.change(m.state.MarkDown(other.ID))
	if other.ID == m.cfg.Self {
		m.sendStateAround()
		return
	}
	if !m.now.Equal(m.downed.at) {
		m.downed.at, m.downed.told = m.now, 0
	}
	if m.downed.told++; m.downed.told <= hurryTo {
		m.sendState(other.ID)
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
	unreachable := p.Table.against(p.local)
	told := !slices.ContainsFunc(p.Members, func(o member.Member) bool {
		return o.DataCenter == p.DataCenter && o.Status == member.Down && !unreachable.has(o.ID) && !p.SeenBy(o.ID)
	})
	if told || m.leave.downTicks >= patience {
		m.sendStateAround()
		m.stop(Downed, "this node was declared down in cluster %q: start it anew to join again", m.cfg.Cluster)
	}
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
