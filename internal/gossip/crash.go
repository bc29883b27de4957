package gossip

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// A crash is no status of its own: a member that is Down, and Terminated in the
// eyes of a member, has crashed for certain. That travels with the state, and
// everybody has seen it when the leader removes the member.

// hurryTo is to how many members a node that hurries sends what it has changed
// itself. In larger clusters those pass it on, to passOnTo each: if they sent
// it to as many, a change by one would become a flood.
const (
	hurryTo  = 32
	passOnTo = 2
)

// crashed downs an incarnation whose process is gone for certain. Nobody needs
// to tell it.
func (m *Machine) crashed(id member.ID) {
	if m.phase != joined || id == m.cfg.Self || !m.state.Has(id) {
		return
	}
	next := m.state.withTable(m.state.Table.Set(m.cfg.Self, id, Terminated))
	if !m.perspective().down(id) {
		next = next.MarkDown(id)
	}
	if next != m.state {
		m.change(next)
	}
}

// crashed lists, in order, the members that are confirmed to have crashed.
func (p Perspective) crashed() []member.ID {
	return slices.DeleteFunc(p.Table.terminated(), func(id member.ID) bool { return !p.down(id) })
}

// Trust notes that the process of a member has shown itself, after its link broke or
// when this node vouched for it. News of its crash that comes now is late: a
// majority may have confirmed it before, and the one that counted may not have
// been heard since. It holds until a link to it breaks.
func (m *Machine) Trust(id member.ID) {
	if m.state.Has(id) {
		m.trusted = m.trusted.with(id)
	}
}

// disputed gives s itself, unless it holds somebody for crashed whom this node
// trusts. Down it stays, but as one that may not know that yet; all who have seen that
// the crash is disputed agree on it before the leader removes the member.
func (m *Machine) disputed(s *State) *State {
	if len(m.trusted) == 0 || m.undisputed.holds(s, m.trusted) {
		return s
	}
	table := s.Table
	for _, id := range (Perspective{State: s}).crashed() {
		if m.trusted.has(id) {
			table = table.Set(m.cfg.Self, id, Disputed)
		}
	}
	next := s.withTable(table)
	if next == s {
		m.undisputed = undisputed{s, m.trusted}
	}
	return next
}

// undisputed is a state that held nobody for crashed whom this node trusted.
type undisputed struct {
	state   *State
	trusted ids
}

// holds tells whether s holds nobody for crashed whom this node trusts, for the same
// reasons.
func (u undisputed) holds(s *State, trusted ids) bool {
	return u.state != nil && shared(u.trusted, trusted) && shared(u.state.Members, s.Members) && shared(u.state.Table.rows, s.Table.rows)
}

// hurry speeds up what removes a crashed member, from the news of its end to the
// news of its removal: a new version goes around at once instead of to one in
// each round, and the leader acts as soon as all have seen it.
func (m *Machine) hurry(before *State) {
	if m.phase != joined || m.state == before {
		return
	}
	s := m.summary()
	if len(m.told.crashed) == 0 && len(s.crashed) == 0 { // told is still of the state before
		return
	}
	switch {
	case m.state.Version.count(m.cfg.Self) > before.Version.count(m.cfg.Self):
		m.sendStateToUnseen(hurryTo)
	case len(m.state.Members) > hurryTo && m.state.Version.Compare(before.Version) != Same:
		m.sendStateToUnseen(passOnTo)
	}
	switch {
	case len(s.blocking) > 0:
	case s.leader != m.cfg.Self:
		if m.perspective().validTarget(s.leader) {
			m.sendState(s.leader) // it may not know yet that all have seen it
		}
	default: // in a Step of its own, so that subscribers hear of the crash before the removal
		m.timers.set(leaderTimer, m.now)
	}
}

// sendStateToUnseen sends the state to so many members that have not seen it.
func (m *Machine) sendStateToUnseen(most int) {
	p := m.perspective()
	targets := p.Targets(true, true, nil, 0)
	m.cfg.Rand.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
	for _, to := range targets[:min(most, len(targets))] {
		if !p.SeenBy(to) {
			m.sendState(to)
		}
	}
}

// Quiet tells whether this node gives no verdicts on others at present, because
// it was not running for a while itself.
func (m *Machine) Quiet(now time.Time) bool { return now.Before(m.beats.quiet) }
