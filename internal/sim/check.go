package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// rank orders the statuses as a member goes through them. A later one never
// goes back to an earlier one in the eyes of a node.
var rank = [...]int{
	member.Joining:              1,
	member.WeaklyUp:             2,
	member.Up:                   3,
	member.PreparingForShutdown: 4,
	member.Leaving:              5,
	member.Exiting:              6,
	member.Down:                 7,
	member.ReadyForShutdown:     8,
	member.Removed:              9,
}

// checkView compares what a node sees now with what it saw before and with
// what is.
func (w *World) checkView(n *node, old *member.View) {
	before, now := old.Members, n.view.Members
	if len(before) != len(now) || len(now) > 0 && &before[0] != &now[0] {
		w.checkMembers(n, old)
	}
	w.checkLeader(n)
}

func (w *World) checkMembers(n *node, old *member.View) {
	n.gone.See(n.local(w.now), old, n.view)
	var last member.Member
	for _, m := range n.view.Members {
		was, _ := old.Member(m.ID)
		w.checkMember(n, was, m)
		if m.Address == last.Address {
			w.failf("%s sees two members at %s", n.id, m.Address)
		}
		if m.Status == member.Down && was.Status != member.Down {
			w.fallen[m.ID] = true
			w.checkExclusion(n, m.ID)
		}
		last = m
	}
	for _, m := range old.Members {
		if _, ok := n.view.Member(m.ID); ok {
			continue
		}
		n.removed[m.ID] = true
		w.checkExclusion(n, m.ID)
		next, replaced := n.view.At(m.Address)
		if replaced {
			w.sometimes("a successor takes the address of a member")
		}
		if !replaced || w.badClocks == 0 { // else it may be the late join of a predecessor, which seems to be the later one
			w.plansTakeover(n, m)
		}
		if w.badClocks == 0 && !w.badRates && m.Replaces(next.ID) && !w.fallen[m.ID] { // once it is Down or removed, the clock may have been set back: see letIn
			w.failf("%s sees %s give way to %s, which was started before it", n.id, m.ID, next.ID)
		}
		w.fallen[m.ID] = true
	}
}

// checkMember: nobody goes back in life or comes back from removal. A zero was
// is for one that the node did not know. The up-number of a member that leaves
// while it comes up may get lost, but it never becomes another one; unless it is
// Down, when two sides that were about to fall had let it come up.
func (w *World) checkMember(n *node, was, is member.Member) {
	switch {
	case n.removed[is.ID]:
		w.failf("%s sees %s again, which was removed", n.id, is.ID)
	case was.IsZero():
	case rank[is.Status] < rank[was.Status]:
		w.failf("%s sees %s go back from %s to %s", n.id, is.ID, was.Status, is.Status)
	case is.UpNumber != was.UpNumber && is.UpNumber != member.NeverUp && was.UpNumber != member.NeverUp && is.Status != member.Down:
		w.failf("%s sees the up-number of %s change from %d to %d", n.id, is.ID, was.UpNumber, is.UpNumber)
	}
}

// checkLeader: a leader is a member that nobody holds for unreachable, and that
// is not on its way out unless all are.
func (w *World) checkLeader(n *node) {
	leader := n.view.Leader
	if leader.IsZero() {
		return
	}
	m, ok := n.view.Member(leader)
	switch {
	case !ok:
		w.failf("%s is led by %s, which is no member", n.id, leader)
	case m.Status == member.Down:
		w.failf("%s is led by %s, which is Down", n.id, leader)
	case !n.canBeLedBy(leader):
		w.failf("%s is led by %s, which is unreachable", n.id, leader)
	case m.Status == member.Exiting:
		for _, other := range n.view.Members {
			if rank[other.Status] < rank[member.Exiting] && n.canBeLedBy(other.ID) {
				w.failf("%s is led by %s, which is Exiting, although there is %s", n.id, leader, other.ID)
			}
		}
	}
}

// canBeLedBy tells whether nobody, not even a member that is Down, says that
// id is unreachable; what is said of the node itself it does not believe.
func (n *node) canBeLedBy(id member.ID) bool {
	return id == n.id || !slices.ContainsFunc(n.view.Observations, func(o member.Observation) bool { return o.Subject == id })
}

// excludes tells whether a member has given another one up.
func (n *node) excludes(id member.ID) bool {
	m, ok := n.view.Member(id)
	return n.removed[id] || ok && m.Status == member.Down
}

// exclusionLimit is how long two members may both have given each other up: by
// decisions that crossed, or while one has yet to find that it is alone. A
// cluster that has split stays so.
const exclusionLimit = 20 * time.Second

// checkExclusion: of two running members never both have given the other up
// for long: that would be two clusters, each of which thinks that it alone is
// left.
func (w *World) checkExclusion(n *node, id member.ID) {
	other := w.nodes[w.places[id.Address]]
	if other == n || other.id != id {
		return
	}
	excluded := func() bool { return n.isUp() && other.isUp() && n.excludes(id) && other.excludes(n.id) }
	w.mustEnd(exclusionLimit, excluded, []*node{n, other}, fmt.Sprintf("%s and %s both run, and each has given the other up", n.id, id))
}

// mustEnd complains when something still is after the limit, during which none
// of the nodes was paused.
func (w *World) mustEnd(limit time.Duration, still func() bool, nodes []*node, complaint string) {
	if !still() {
		return
	}
	w.after(limit, func() {
		for _, n := range nodes {
			if w.now.Sub(n.pausedUntil) < limit {
				w.mustEnd(limit, still, nodes, complaint)
				return
			}
		}
		if still() {
			w.failf("%s, for longer than %v", complaint, limit)
		}
	})
}

// isUp tells whether the node runs and does not know itself to be out.
func (n *node) isUp() bool {
	m, ok := n.view.SelfMember()
	return n.running() && ok && m.Status != member.Down
}
