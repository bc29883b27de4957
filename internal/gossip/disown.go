package gossip

import (
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// A node that was let in by a member that died before it could tell the others
// is a stranger to them: they ignore its gossip, and it would wait for them for
// ever. So a member that came up answers gossip of strangers with its state,
// in which they do not occur. Such a state is never answered.
//
// For a moment that is usual, since news takes its time. A node that hears it
// again after as long as a join may take, and meanwhile nothing from anybody
// who knows it and came up, is in nobody's cluster and ends. What other
// joining members say does not count: they may be in the same position.

// disowned takes note that a member does not know this node.
func (m *Machine) disowned(from member.ID, remote *State) {
	m.ignore(from, WithoutSelf, "gossip")
	switch known := m.state.Has(from); {
	case remote.tombstoned(m.cfg.Self) && (known || m.phase != joined):
		m.stop(Removed, "%v says that this node was removed from cluster %q: start it anew to join again", from, m.cfg.Cluster)
	case !known:
	case m.unknown.IsZero():
		m.unknown = m.now
	case m.now.Sub(m.unknown) >= m.cfg.Times.JoinTimeout:
		m.stop(Removed, "%v and others of cluster %q never heard of this node, for the member that let it in is gone: "+
			"start it anew to join again", from, m.cfg.Cluster)
	}
}

// expelled takes note that another node will never again talk to this one,
// because it has seen it removed.
func (m *Machine) expelled(by member.ID) {
	switch {
	case m.state.Has(by):
		m.down(m.cfg.Self)
	case m.phase != joined:
		m.stop(Removed, "%v has seen this node removed from cluster %q before it was welcome: start it anew to join again", by, m.cfg.Cluster)
	}
}

// recognized takes note of gossip from a member that knows this node.
func (m *Machine) recognized(by member.ID) {
	if m.state.cameUp(by) {
		m.unknown = time.Time{}
	}
}

// cameUp tells whether a member was Up at some time: all others of that time
// have agreed on it.
func (s *State) cameUp(id member.ID) bool {
	m, ok := s.Member(id)
	return ok && m.UpNumber != member.NeverUp
}
