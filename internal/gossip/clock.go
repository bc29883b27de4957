package gossip

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// Clock is the vector clock of a state (Fidge 1988, Mattern 1989): how many
// changes each member has made to it. It is sorted by node, holds positive
// counts only and is never changed in place; an absent node counts as 0.
type Clock []Count

// Order is how two clocks relate.
type Order uint8

// The orders of a clock relative to another one.
const (
	Same       Order = iota
	Before           // the other has seen all that this one has, and more
	After            // the other way round
	Concurrent       // each has seen something that the other has not
)

func (c Clock) find(node member.ID) (int, bool) {
	return search(c, node, nodeOfCount)
}

// count is how many changes the node has made.
func (c Clock) count(node member.ID) uint64 {
	if i, ok := c.find(node); ok {
		return c[i].N
	}
	return 0
}

// Compare tells how c relates to o.
func (c Clock) Compare(o Clock) Order {
	less, more := false, false
	for l, r := range pairs(c, o, nodeOfCount) {
		less = less || l == nil || r != nil && l.N < r.N
		more = more || r == nil || l != nil && l.N > r.N
		if less && more {
			return Concurrent
		}
	}
	switch {
	case less:
		return Before
	case more:
		return After
	default:
		return Same
	}
}

// Merge takes the larger count of each node.
func (c Clock) Merge(o Clock) Clock {
	merged := make(Clock, 0, max(len(c), len(o)))
	for l, r := range pairs(c, o, nodeOfCount) {
		if l == nil || r != nil && r.N > l.N {
			l = r
		}
		merged = append(merged, *l)
	}
	return merged
}

// Increment counts one more change by the node.
func (c Clock) Increment(node member.ID) Clock {
	i, ok := c.find(node)
	if !ok {
		return slices.Insert(slices.Clone(c), i, Count{node, 1})
	}
	c = slices.Clone(c)
	c[i].N++
	return c
}

// Prune drops the count of a removed node. The result compares like a clock
// that never had it, so it may be concurrent with what it was: nothing marks
// the removal here, the tombstone does.
func (c Clock) Prune(node member.ID) Clock {
	i, ok := c.find(node)
	if !ok {
		return c
	}
	return slices.Concat(c[:i], c[i+1:])
}
