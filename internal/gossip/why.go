package gossip

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// Joins tells what keeps this node from becoming a member, or members from
// coming up; empty when nobody waits for that. Since is not known here.
func (m *Machine) Joins() []member.Wait {
	switch m.phase {
	case asking:
		return []member.Wait{m.asks()}
	case waiting:
		return []member.Wait{m.waitsAtDoor()}
	case joined:
		return m.comesUp()
	default:
		return nil
	}
}

// waitsAtDoor is the wait of a node that has found its cluster.
func (m *Machine) waitsAtDoor() member.Wait {
	on := member.Holdup{Node: member.ID{Address: m.join.target}, Why: "has not let this node in yet"}
	w := member.Wait{What: member.WaitJoin, Why: "this node has found a member and asks it to let it in", Until: m.timers[phaseTimer]}
	if m.join.closing {
		w.Why, w.Until = "the cluster is shutting down as a whole, and lets nobody in", time.Time{}
		w.Act = "stop this node, and start it with the others once they have ended"
		on.Why = "says so"
	}
	w.On = []member.Holdup{on}
	return w
}

// asks is the wait of a node that looks for its cluster.
func (m *Machine) asks() member.Wait {
	w := member.Wait{What: member.WaitJoin, Why: "this node asks its seeds for a cluster", Until: m.timers[giveUpTimer]}
	for _, s := range m.join.seeds {
		w.On = append(w.On, member.Holdup{Node: member.ID{Address: s.Address}, Why: s.answer()})
	}
	switch {
	case m.join.way == bySeeds && m.join.first:
		w.Why += "; being the first of them it founds one if no other knows any"
		w.Until = m.timers[phaseTimer]
	case m.join.way == byContacts && m.join.required == 0:
		w.Why = "this node looks for members in the store, and may found the cluster when the store has had none for a while: " +
			"after the end of all nodes about 20 s"
		w.Act = "if it lasts, see in this node's log what the store answers, and in that of the nodes below why they do not let it in"
	case m.join.way == byContacts:
		w.Why += fmt.Sprintf("; the one with the lowest address founds one if %d agree that there is none", m.join.required)
		w.Act = "start as many nodes as must agree, or see why they do not answer each other"
	default:
		w.Act = "start a seed that is a member or may found a cluster, or name others"
	}
	return w
}

// answer tells what a seed said last.
func (s seed) answer() string {
	switch {
	case s.refuse != "":
		return "refuses: " + s.refuse
	case s.nacked.IsZero():
		return "has not answered"
	case s.choice.IsZero():
		return "answers that it is no member either"
	default:
		return fmt.Sprintf("answers that it is no member either, and would let %v found a cluster", s.choice)
	}
}

// comesUp is the wait of members that are not Up yet.
func (m *Machine) comesUp() []member.Wait {
	var joining []string
	for _, other := range m.state.Members {
		if other.DataCenter == m.cfg.DataCenter && (other.Status == member.Joining || other.Status == member.WeaklyUp) {
			joining = append(joining, fmt.Sprintf("%v is %v", other.Address, other.Status))
		}
	}
	if len(joining) == 0 {
		return nil
	}
	w := member.Wait{What: member.WaitJoin}
	s := m.summary()
	switch missing := m.missing(s.Perspective); {
	case m.shuttingDown():
		w.Why, w.Act = "nobody comes up while the whole cluster shuts down", "stop these nodes, and start all anew"
	case len(missing) > 0:
		w.Why, w.Act = strings.Join(missing, "; "), "start more nodes"
	case s.leader.IsZero():
		w.Why = "nobody leads: no member that could is reachable"
	case len(s.blocking) > 0:
		w.Why = fmt.Sprintf("the leader %v moves them up once all agree: see convergence", s.leader.Address)
		w.On = []member.Holdup{{Node: s.leader, Why: "leads"}}
	default:
		w.Why = fmt.Sprintf("the leader %v moves them up at its next look", s.leader.Address)
		w.On = []member.Holdup{{Node: s.leader, Why: "leads"}}
	}
	w.Why = few(joining) + ": " + w.Why
	return []member.Wait{w}
}

// few joins the first of many texts.
func few(texts []string) string {
	const shown = 5
	if len(texts) <= shown {
		return strings.Join(texts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(texts[:shown], ", "), len(texts)-shown)
}

// missing tells which numbers of members are not reached; see enough.
func (m *Machine) missing(p Perspective) []string {
	var missing []string
	if n := len(p.Members); n < m.cfg.MinMembers {
		missing = append(missing, fmt.Sprintf("MinMembers is %d, and there are %d", m.cfg.MinMembers, n))
	}
	for role, required := range m.cfg.MinRoleMembers { // any order: what is found is sorted
		n := 0
		for _, other := range p.Members {
			if other.HasRole(role) {
				n++
			}
		}
		if n < required {
			missing = append(missing, fmt.Sprintf("role %s needs %d members, and there are %d", role, required, n))
		}
	}
	slices.Sort(missing)
	return missing
}

// ShuttingDown tells whether the whole cluster is about to stop.
func (m *Machine) ShuttingDown() bool { return m.shuttingDown() }
