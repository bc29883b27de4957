package phi

import (
	"cmp"
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// Ring arranges nodes by a hash of their incarnation and lets each watch the
// next few on it, so that every node is watched by a few others whatever the
// size of the cluster, and all nodes agree on who watches whom.
type Ring struct {
	monitoredBy int
	nodes       []place // in ring order
}

type place struct {
	hash        int32
	node        member.ID
	unreachable bool
}

func placeOf(node member.ID) place {
	u := uint64(node.UID)
	return place{hash: int32(uint32(u ^ u>>32)), node: node}
}

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.hash, o.hash), p.node.Compare(o.node))
}

// NewRing makes a ring in which every node is watched by n others. Nodes listed
// twice are in it once.
func NewRing(n int, nodes, unreachable []member.ID) *Ring {
	r := &Ring{monitoredBy: n}
	for _, id := range nodes {
		r.Add(id)
	}
	for _, id := range unreachable {
		r.Mark(id, true)
	}
	return r
}

func (r *Ring) find(node member.ID) (int, bool) {
	return slices.BinarySearchFunc(r.nodes, placeOf(node), place.compare)
}

// Add puts a node into the ring as reachable; it reports whether it was not
// there.
func (r *Ring) Add(node member.ID) bool {
	i, there := r.find(node)
	if !there {
		r.nodes = slices.Insert(r.nodes, i, placeOf(node))
	}
	return !there
}

// Remove takes a node out; it reports whether it was there.
func (r *Ring) Remove(node member.ID) bool {
	i, there := r.find(node)
	if there {
		r.nodes = slices.Delete(r.nodes, i, i+1)
	}
	return there
}

// Mark says whether a node of the ring is unreachable; it reports whether that
// is news.
func (r *Ring) Mark(node member.ID, unreachable bool) bool {
	i, there := r.find(node)
	if !there || r.nodes[i].unreachable == unreachable {
		return false
	}
	r.nodes[i].unreachable = unreachable
	return true
}

// Receivers lists those that get heartbeats from sender, in ID order: the next
// n reachable nodes on the ring. Unreachable ones on the way to the first n
// places get them too, so that they are noticed when they come back, but do
// not count.
func (r *Ring) Receivers(sender member.ID) []member.ID {
	var to []member.ID
	start, there := r.find(sender)
	if there {
		start++
	}
	everybody := len(r.nodes) <= r.monitoredBy+1
	reachable := 0
	for i := range r.nodes {
		p := r.nodes[(start+i)%len(r.nodes)]
		switch {
		case p.node == sender:
			continue
		case everybody, !p.unreachable:
			to = append(to, p.node)
			reachable++
		case len(to) < r.monitoredBy:
			to = append(to, p.node)
		}
		if !everybody && reachable == r.monitoredBy {
			break
		}
	}
	slices.SortFunc(to, member.ID.Compare)
	return to
}
