package gossip

import "github.com/troupe-go/troupe/internal/member"

// A member's crash is told by a majority whose links to it break, so each has to
// have links with a majority. Heartbeats and gossip make them by the way, in small
// clusters within seconds, in one of a thousand members only after many minutes.

// introductions is how many members that it has not heard of a node says hello to
// with each round of heartbeats.
const introductions = 10

// met notes that a member was heard of: there is a link in each direction, or
// there will be one with the answer.
func (m *Machine) met(from member.ID) {
	if m.phase == joined && m.state.Has(from) {
		m.beats.met = m.beats.met.with(from)
	}
}

// acquaint says hello to some of the members that this node has not heard of,
// while those it has are less than two thirds of all: more than a majority, as
// some may be silent when it counts.
func (m *Machine) acquaint() {
	if 3*(len(m.beats.met)+1) >= 2*len(m.state.Members) {
		return
	}
	var strangers []member.ID
	for i := range m.state.Members {
		other := &m.state.Members[i]
		if other.ID != m.cfg.Self && other.DataCenter == m.cfg.DataCenter && !going(other.Status) && !m.beats.met.has(other.ID) {
			strangers = append(strangers, other.ID)
		}
	}
	m.cfg.Rand.Shuffle(len(strangers), func(i, j int) { strangers[i], strangers[j] = strangers[j], strangers[i] })
	for _, to := range strangers[:min(introductions, len(strangers))] {
		m.send(to, Heartbeat{m.beats.seq})
	}
}
