package gossip

import (
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// initJoin answers a joiner's question: is this a member, and would the two
// agree on the configuration?
func (m *Machine) initJoin(from member.ID, msg InitJoin) {
	switch {
	case m.wrongCluster(from, msg.Cluster):
	case len(msg.Settings) > maxSettings:
		m.ignore(from, Malformed, "%d settings to check", len(msg.Settings))
	case !m.takesIn():
		if m.phase == asking {
			m.hear(from.Address, msg.Choice)
		}
		m.send(from, InitJoinNack{m.cfg.Cluster, m.choice()})
	default:
		m.send(from, m.checked(from, msg.Settings))
	}
}

// takesIn tells whether this node is a member that stays.
func (m *Machine) takesIn() bool { return m.phase == joined && !going(m.self().Status) }

// checked compares a joiner's settings with the own ones and gives it the own
// ones of the same names, so that both can say what differs.
func (m *Machine) checked(from member.ID, theirs []Setting) InitJoinAck {
	ack := m.ack(common(m.cfg.Agree, theirs))
	if len(theirs) == 0 {
		return ack
	}
	ack.Check = Compatible
	if text := differences(m.cfg.Agree, theirs); text != "" {
		ack.Check = Incompatible
		m.notes = append(m.notes, JoinerRefused{from, text})
	}
	return ack
}

// ack tells of the cluster that this node is a member of.
func (m *Machine) ack(settings []Setting) InitJoinAck {
	return InitJoinAck{Cluster: m.cfg.Cluster, ID: m.state.ID, Stage: m.state.stage(), Settings: settings, Closing: m.shuttingDown()}
}

// letIn adds a joiner to the cluster.
//
// An earlier incarnation on the same address is dead, for the new one holds its
// port. It is removed in the same version: to wait for agreement would lock the
// node out as long as anybody else is unreachable. The tombstone makes the
// removal stick in states that did not know of it. A later incarnation shows
// that it is the join that is late: it was overtaken by the restart of its
// sender.
func (m *Machine) letIn(from member.ID, msg Join) {
	switch err := m.checkJoin(from, msg); {
	case m.wrongCluster(from, msg.Cluster):
		return
	case err != nil:
		m.ignore(from, Malformed, "join: %v", err)
		return
	case m.phase != joined:
		m.ignore(from, NotMember, "join")
		return
	case !m.takesIn(), m.shuttingDown():
		m.ignore(from, Departing, "join")
		return
	case msg.ID != 0 && msg.ID != m.state.ID:
		m.ignore(from, OtherID, "join of cluster %v", msg.ID)
		return
	case m.state.tombstoned(from):
		m.sendState(from) // it was removed before it was welcome, and asks for ever
		m.ignore(from, WasRemoved, "join")
		return
	}
	next := m.state
	switch there, ok := m.state.at(from.Address); {
	case there.ID == from: // it has missed the welcome
	case there.Replaces(from) && there.Status != member.Down:
		m.ignore(from, Outdated, "join of %v: a member that was started later, %v, is at its address; if not, "+
			"the clock there was set back, and the node gets in once that member is down", from, there.ID)
		return
	default:
		if ok {
			next = next.Remove(there.ID, m.now.UnixMilli())
		}
		m.change(next.Update(m.newMember(from, msg.Roles, msg.DataCenter, msg.AppVersion)))
	}
	m.send(from, Welcome{Cluster: m.cfg.Cluster, To: from, Gossip: m.pack()})
}

// checkJoin tells whether a join could come from a correct node.
func (m *Machine) checkJoin(from member.ID, msg Join) error {
	if msg.Node != from {
		return fmt.Errorf("%v asks for %v", from, msg.Node)
	}
	if from.Address == m.cfg.Self.Address {
		return fmt.Errorf("%v claims the address of this node: give each its own", from)
	}
	if len(msg.Roles) > maxRoles {
		return fmt.Errorf("%d roles are more than %d", len(msg.Roles), maxRoles)
	}
	for _, text := range append([]string{msg.DataCenter, msg.AppVersion}, msg.Roles...) {
		if len(text) > maxText {
			return fmt.Errorf("a role, data center or version of %d bytes is longer than %d", len(text), maxText)
		}
	}
	if msg.DataCenter == "" || slices.Contains(msg.Roles, "") {
		return fmt.Errorf("the data center %q or a role of %q has no name", msg.DataCenter, msg.Roles)
	}
	return checkNode(from)
}

// invite tells seeds that are not in this cluster that it exists. A seed that
// was restarted asks the other seeds only, and if none of them is a member it
// would found another cluster. The leader is enough to do that, and it goes on
// twice in a round of the seed's questions until the seed is in.
func (m *Machine) invite() {
	if m.summary().leader != m.cfg.Self || !m.takesIn() {
		return
	}
	for _, a := range m.otherSeeds() {
		if !m.state.occupied(a) {
			invitation := m.ack(m.cfg.Agree)
			invitation.Invitation = true
			m.send(member.ID{Address: a}, invitation)
			m.timers.set(inviteTimer, m.now.Add(m.cfg.Times.JoinRetry/2))
		}
	}
}
