package gossip

import (
	"cmp"
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// tell publishes what has changed in this Step and acts on it: the ring of
// heartbeats follows the members, and links of removed ones are cut.
func (m *Machine) tell() {
	if m.told.State == m.state {
		return
	}
	now := m.summary()
	events := now.Diff(m.told)
	view := now.View()
	view.Departed = m.departedLately(events)
	m.told, m.view = now, view
	m.out.View = m.view
	m.out.Events = events
	if m.phase == joined {
		m.followRing(events)
		m.cutReplaced()
	}
}

// departuresKept is how many members are remembered after their removal.
const departuresKept = 256

// departedLately adds the members that this Step has removed to those that were
// removed before: who looks at views now and then has to know how they went. A crash
// that this node has heard of is one, whoever removed the member for another reason.
func (m *Machine) departedLately(events []Event) []member.Departure {
	known := len(m.departed)
	for _, e := range events {
		if e, ok := e.(MemberRemoved); ok {
			d := member.Departure{ID: e.Member.ID, End: m.told.end(e.Member.ID)}
			if i, ok := search(m.state.Tombstones, d.ID, nodeOfTombstone); ok {
				d.End = max(d.End, m.state.Tombstones[i].End)
			}
			if d.End == member.Crashed && m.trusted.has(d.ID) {
				d.End = member.Downed
			}
			m.trusted = m.trusted.without(d.ID)
			m.departed = append(m.departed, d)
		}
	}
	if len(m.departed) == known {
		return m.view.Departed
	}
	m.departed = m.departed[max(0, len(m.departed)-departuresKept):]
	return slices.SortedFunc(slices.Values(m.departed), func(a, b member.Departure) int { return a.Compare(b.ID) })
}

func (m *Machine) followRing(events []Event) {
	var added []member.ID
	for _, e := range events {
		switch e := e.(type) {
		case MemberRemoved:
			m.beats.watch.Remove(e.Member.ID, m.now)
			m.beats.met = m.beats.met.without(e.Member.ID)
			m.confirmed = m.confirmed.without(e.Member.ID)
			m.cut(e)
		case MemberChanged:
			if e.Previous == 0 && e.Member.ID != m.cfg.Self && e.Member.DataCenter == m.cfg.DataCenter {
				added = append(added, e.Member.ID)
			}
		}
	}
	m.beats.watch.Add(m.now, added...)
	for _, e := range events {
		switch e := e.(type) {
		case UnreachableMember:
			m.beats.watch.Mark(e.Member.ID, true, m.now)
		case ReachableMember:
			m.beats.watch.Mark(e.Member.ID, false, m.now)
		}
	}
}

// cut has the links of a removed member cut: at once when it was declared dead
// or has a successor, else after it had the time to say its last words.
func (m *Machine) cut(e MemberRemoved) {
	if e.Previous != member.Exiting || m.state.occupied(e.Member.Address) {
		m.out.Quarantine = append(m.out.Quarantine, e.Member.ID)
		return
	}
	m.cutLater = append(m.cutLater, departure{m.now.Add(m.cfg.Times.QuarantineAfter), e.Member.ID})
	m.timers.set(quarantineTimer, m.cutLater[0].at)
}

// cutReplaced cuts those at whose address somebody new has shown up.
func (m *Machine) cutReplaced() {
	m.cutLater = slices.DeleteFunc(m.cutLater, func(d departure) bool {
		if !m.state.occupied(d.id.Address) {
			return false
		}
		m.out.Quarantine = append(m.out.Quarantine, d.id)
		return true
	})
}

func (m *Machine) cutDeparted() {
	for len(m.cutLater) > 0 && !m.cutLater[0].at.After(m.now) {
		m.out.Quarantine = append(m.out.Quarantine, m.cutLater[0].id)
		m.cutLater = m.cutLater[1:]
	}
	if len(m.cutLater) > 0 {
		m.timers.set(quarantineTimer, m.cutLater[0].at)
	}
}

// check panics when this Step broke what the package promises. Input cannot
// cause that: it was checked when it came in.
func (m *Machine) check(before *State) {
	s := m.state
	if s == before {
		return
	}
	broken := ""
	claim := func(holds bool, what string) {
		if !holds {
			broken = cmp.Or(broken, what)
		}
	}
	for i := range s.Members[min(1, len(s.Members)):] {
		claim(s.Members[i].Address != s.Members[i+1].Address, "two members at one address")
	}
	if !shared(before.Members, s.Members) {
		for was, is := range pairs(before.Members, s.Members, nodeOfMember) {
			switch {
			case is == nil:
			case was == nil:
				claim(!before.tombstoned(is.ID), "a removed member is back")
			default:
				claim(life[is.Status] >= life[was.Status], "a status went back")
			}
		}
	}
	claim(len(s.Members) == 0 || s.Has(m.cfg.Self), "self is no member")
	subset(s, s.Seen, nodeOfID, func() { claim(false, "a stranger has seen it") })
	subset(s, s.Version, nodeOfCount, func() { claim(false, "the clock counts a stranger") })
	subset(s, s.Table.rows, nodeOfRow, func() { claim(false, "a stranger observes") })
	if broken != "" {
		panic("gossip: " + broken + "\n" + m.Describe())
	}
}

// subset calls otherwise when a sorted list has a node that is no member.
func subset[T any](s *State, list []T, node func(*T) *member.ID, otherwise func()) {
	members := s.Members
	for i := range list {
		id := *node(&list[i])
		for len(members) > 0 && members[0].ID.Compare(id) < 0 {
			members = members[1:]
		}
		if len(members) == 0 || members[0].ID != id {
			otherwise()
			return
		}
	}
}
