package gossip

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// Nodes without a first seed find each other and agree who founds. Each asks all
// contacts whether they know a cluster, and each says, with every question and
// every no, whom it has chosen: the lowest address among those that it hears
// from. The chosen one founds when enough have said so for long enough; the
// others learn it from the answer to their next question.
//
// Choices are opinions, so two nodes may found when some hear from one and some
// from the other. A cluster that was founded so begins only when a majority is in
// it (State.Quorum), and has seen that; see meet for the other one.

// joinContacts begins to look for a cluster, or goes on with other contacts.
func (m *Machine) joinContacts(in JoinContacts) {
	if m.phase == idle {
		m.join = joining{way: byContacts}
		m.limitAttempts()
	}
	if m.join.way != byContacts {
		return
	}
	m.join.required, m.join.only = min(in.Required, maxSeeds), in.ID
	m.listSeeds(in.Contacts)
	if m.phase == idle {
		m.ask()
	}
}

// choice is whom this node would let found a cluster now; zero is nobody.
func (m *Machine) choice() member.Address {
	if m.join.way != byContacts || m.join.required == 0 || m.phase != asking {
		return member.Address{}
	}
	lowest := m.cfg.Self.Address
	for _, s := range m.join.seeds {
		if m.looksToo(s) && s.Address.Compare(lowest) < 0 {
			lowest = s.Address
		}
	}
	return lowest
}

// forgetContact is after how many questions without an answer a contact is
// none any more.
const forgetContact = 3

// looksToo tells whether a contact was heard of lately, and founds together with
// others.
func (m *Machine) looksToo(s seed) bool {
	return !s.choice.IsZero() && m.now.Sub(s.nacked) < forgetContact*m.cfg.Times.JoinRetry
}

// hear takes note of what a node said that is no member. One that looks for
// contacts is one, listed or not: nodes may have found different ones.
func (m *Machine) hear(from, choice member.Address) {
	s := m.seedAt(from)
	if s == nil && m.join.way == byContacts && !choice.IsZero() && len(m.join.seeds) < maxSeeds && from != m.cfg.Self.Address {
		m.join.seeds = append(m.join.seeds, seed{Address: from})
		s = &m.join.seeds[len(m.join.seeds)-1]
	}
	if s != nil {
		s.nacked, s.choice, s.refuse = m.now, choice, ""
	}
}

// agree founds a cluster once this node is to do it.
func (m *Machine) agree() {
	m.join.seeds = slices.DeleteFunc(m.join.seeds, func(s seed) bool { return !s.listed && !m.looksToo(s) })
	votes, required := m.votes()
	switch {
	case m.choice() != m.cfg.Self.Address || votes < required:
		m.join.agreed = time.Time{}
	case m.join.agreed.IsZero():
		m.join.agreed = m.now
	case m.now.Sub(m.join.agreed) >= m.cfg.Times.SeedTimeout:
		m.found(m.newClusterID(), required)
	}
}

// votes counts who has chosen this node, itself included, and how many must.
func (m *Machine) votes() (votes, required int) {
	votes = 1
	for _, s := range m.join.seeds {
		if m.looksToo(s) && s.choice == m.cfg.Self.Address {
			votes++
		}
	}
	return votes, max(m.join.required, (1+len(m.join.seeds))/2+1)
}
