package gossip

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/internal/phi"
)

// heartbeats is this node's part in watching the others.
type heartbeats struct {
	watch    *phi.Watch // nil before this node is a member: its clocks start then
	seq      uint64     // of the last heartbeats sent
	expected []expectation
	quiet    time.Time // until then this node gives no verdict
	met      ids       // members that have been heard
}

// expectation is a neighbour that was sent its first heartbeat.
type expectation struct {
	at   time.Time // when an answer should have come
	node member.ID
}

// noticeStall detects that this node was not running for a while: a timer is
// much too late. It then has not listened either, so it must not blame others
// for their silence before it has listened again for as long as it takes to
// hear from everybody who lives (Dadgar et al., "Lifeguard", 2018).
func (m *Machine) noticeStall() {
	first := m.timers.next()
	if m.phase != joined || first.IsZero() {
		return
	}
	if late := m.now.Sub(first); late > 2*m.cfg.Times.Heartbeat {
		m.beats.quiet = m.now.Add(m.cfg.Times.AcceptablePause + m.cfg.Times.Heartbeat)
		m.notes = append(m.notes, Stalled{late})
	}
}

func (m *Machine) sendHeartbeats() {
	m.timers.set(heartbeatTimer, m.now.Add(m.cfg.Times.Heartbeat))
	b := &m.beats
	b.seq++
	for _, to := range b.watch.Receivers() {
		m.send(to, Heartbeat{b.seq})
		if !b.watch.Monitoring(to) && !slices.ContainsFunc(b.expected, func(e expectation) bool { return e.node == to }) {
			b.expected = append(b.expected, expectation{m.now.Add(m.cfg.Times.ExpectedResponse), to})
			m.timers.set(expectTimer, b.expected[0].at)
		}
	}
	m.acquaint()
}

// expectResponses starts the clocks of neighbours that have not answered their
// first heartbeat, so that one that never does is noticed.
func (m *Machine) expectResponses() {
	b := &m.beats
	for len(b.expected) > 0 && !b.expected[0].at.After(m.now) {
		b.watch.Expect(b.expected[0].node, m.now)
		b.expected = b.expected[1:]
	}
	if len(b.expected) > 0 {
		m.timers.set(expectTimer, b.expected[0].at)
	}
}

// heartbeat answers anybody, member yet or not, but those that were removed:
// they must not believe that this cluster is still theirs.
func (m *Machine) heartbeat(from member.ID, msg Heartbeat) {
	if m.state.tombstoned(from) && !m.state.Has(from) {
		m.ignore(from, WasRemoved, "heartbeat")
		return
	}
	m.send(from, HeartbeatRsp(msg))
}

func (m *Machine) heartbeatRsp(from member.ID, msg HeartbeatRsp) {
	if m.phase != joined || msg.Seq == 0 || msg.Seq > m.beats.seq {
		m.ignore(from, Late, "answer to a heartbeat that was not sent")
		return
	}
	m.beats.watch.Response(from, m.now)
}

// review compares what the detectors say with what this node has said so far
// and publishes the difference as one new version.
func (m *Machine) review() {
	m.timers.set(reaperTimer, m.now.Add(m.cfg.Times.Reaper))
	table := m.state.Table
	if !m.now.Before(m.beats.quiet) {
		for _, id := range m.beats.watch.Unavailable(m.now) {
			if m.state.Has(id) && table.Status(m.cfg.Self, id) == Reachable {
				table = table.Set(m.cfg.Self, id, Unreachable)
			}
		}
	}
	for _, id := range table.From(m.cfg.Self) {
		if m.beats.watch.Available(id, m.now) {
			table = table.Set(m.cfg.Self, id, Reachable)
		}
	}
	if next := m.state.withTable(table); next != m.state {
		m.change(next)
	}
}

// Silent lists, in order, the neighbours that this node holds for reachable and that
// owe it an answer to a heartbeat, the one before the last: whether it comes or
// not may change the picture.
func (m *Machine) Silent(now time.Time) []member.ID {
	if m.phase != joined {
		return nil
	}
	return slices.DeleteFunc(m.beats.watch.Silent(now, 2*m.cfg.Times.Heartbeat), func(id member.ID) bool {
		return !m.state.Has(id) || m.state.Table.Status(m.cfg.Self, id) != Reachable
	})
}

// terminated notes that an incarnation is gone for good.
func (m *Machine) terminated(id member.ID) {
	if m.phase != joined || id == m.cfg.Self || !m.state.Has(id) {
		return
	}
	if next := m.state.withTable(m.state.Table.Set(m.cfg.Self, id, Terminated)); next != m.state {
		m.change(next)
	}
}

// Phi is the suspicion level of a neighbour now; zero for one that this node
// does not watch.
func (m *Machine) Phi(now time.Time, id member.ID) float64 {
	if m.beats.watch == nil {
		return 0
	}
	return m.beats.watch.Phi(id, now)
}
