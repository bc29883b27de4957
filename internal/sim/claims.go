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
	n.claimed = s
	for _, id := range s.Seen {
		peer := w.at(id.Address)
		if peer == nil || peer.id != id || peer == n {
			continue
		}
		theirs := peer.core.Machine().State()
		for _, c := range s.Version {
			if s.Has(c.Node) && theirs.Has(c.Node) && counted(theirs.Version, c.Node) < c.N {
				w.failf("%s holds that %s has seen a version with %d changes by %s, of which that one knows %d",
					n.id, id, c.N, c.Node, counted(theirs.Version, c.Node))
			}
		}
	}
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
// for long, so it does not matter when that was.
func (w *World) checkCrash(n *node, e gossip.CrashConfirmed) {
	refused := 0
	for _, o := range w.nodes {
		if o.refused[e.Suspect] {
			refused++
		}
	}
	if refused <= e.Members/2 {
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
