package sim

import (
	"slices"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/sbr"
)

// What nodes say of others is held against what is.

// checkSeen: who is said to have seen a version holds it, or a later one. Counts
// of members that one of the two has removed do not count. Large worlds check what else there is.
func (w *World) checkSeen(n *node) {
	s := n.core.Machine().State()
	if len(w.nodes) > small || s == n.claimed {
		return
	}
	before := n.claimed
	n.claimed = s
	for _, id := range s.Seen {
		if c, knows, ok := w.lacks(n, id, s); ok {
			w.failf("%s holds that %s has seen a version with %d changes by %s, of which that one knows %d", n.id, id, c.N, c.Node, knows)
		}
	}
	if before != nil {
		w.checkAgreed(n, before, s)
	}
}

// checkAgreed: a leader that lets somebody come up does so when all who are Up and whom
// nobody holds for unreachable have seen the version before.
func (w *World) checkAgreed(n *node, before, now *gossip.State) {
	led := gossip.Perspective{State: before, Self: n.id, DataCenter: n.view.DataCenter}.Leader()
	if led != n.id || counted(now.Version, n.id) == counted(before.Version, n.id) {
		return // it has taken over what somebody else has done
	}
	for _, m := range now.Members {
		if was, ok := before.Member(m.ID); !ok || was.Status == m.Status || m.Status != member.Up || w.letUp(n, m) {
			continue
		}
		for _, other := range before.Members {
			if other.Status != member.Up || before.Table.Worst(other.ID) != gossip.Reachable {
				continue
			}
			if c, knows, ok := w.lacks(n, other.ID, before); ok {
				w.failf("%s lets %s come up, and %s has not seen the version before: it knows %d of %d changes by %s",
					n.id, m.ID, other.ID, knows, c.N, c.Node)
			}
		}
	}
}

// letUp tells whether another node that runs has the member Up by the same number: then
// it was let come up before, and n may have made a new version only of that news and
// its own.
func (w *World) letUp(n *node, m member.Member) bool {
	return slices.ContainsFunc(w.nodes, func(peer *node) bool {
		if peer == nil || peer == n || !peer.running() {
			return false
		}
		theirs, ok := peer.core.Machine().State().Member(m.ID)
		return ok && theirs.Status == m.Status && theirs.UpNumber == m.UpNumber
	})
}

// lacks tells of which changes another node that runs does not know, of those that
// a state counts; and of how many by the same node it does.
func (w *World) lacks(n *node, id member.ID, s *gossip.State) (c gossip.Count, knows uint64, ok bool) {
	peer := w.at(id.Address)
	if peer == nil || peer.id != id || peer == n {
		return c, 0, false
	}
	theirs := peer.core.Machine().State()
	for _, c := range s.Version {
		if knows := counted(theirs.Version, c.Node); s.Has(c.Node) && theirs.Has(c.Node) && knows < c.N {
			return c, knows, true
		}
	}
	return c, 0, false
}

func counted(c gossip.Clock, by member.ID) uint64 {
	i, ok := slices.BinarySearchFunc(c, by, func(c gossip.Count, id member.ID) int { return c.Node.Compare(id) })
	if !ok {
		return 0
	}
	return c[i].N
}

// checkCrash: a majority was refused at the address of a member whose crash is
// confirmed. Silence, however long, is no refusal. Votes may have been on their way
// for long, so it does not matter when that was, and whether those who gave them still run.
func (w *World) checkCrash(n *node, e gossip.CrashConfirmed) {
	if refused := len(w.refused[e.Suspect]); refused <= e.Members/2 {
		w.failf("%s confirms that %s has crashed, by %v, but only %d of %d were refused there", n.id, e.Suspect, e.By, refused, e.Members)
	}
}

// checkDecision: whom a decision leaves, on the side that made it, reach each other.
func (w *World) checkDecision(n *node, d *sbr.Decision) {
	left := func(id member.ID) bool {
		i := slices.IndexFunc(d.Situation.Members, func(m member.Member) bool { return m.ID == id })
		return i >= 0 && !slices.Contains(d.Down, id) && rank[d.Situation.Members[i].Status] < rank[member.Exiting]
	}
	if !left(n.id) {
		return
	}
	for _, o := range d.Situation.Observations {
		if left(o.Observer) && left(o.Subject) {
			w.failf("%s leaves %s and %s, which does not reach it: %s", n.id, o.Subject, o.Observer, d.Describe())
		}
	}
}
