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
	return slices.BinarySearchFunc(c, node, func(e Count, id member.ID) int { return e.Node.Compare(id) })
}

// Compare tells how c relates to o.
func (c Clock) Compare(o Clock) Order {
	var less, more bool
	walk(c, o, func(_ member.ID, n, m uint64) bool {
		less = less || n < m
		more = more || n > m
		return !less || !more
	})
	switch {
	case less && more:
		return Concurrent
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
	walk(c, o, func(node member.ID, n, m uint64) bool {
		merged = append(merged, Count{node, max(n, m)})
		return true
	})
	return merged
}

// walk visits the nodes of both clocks in order with their counts in each,
// until visit says no.
func walk(c, o Clock, visit func(node member.ID, n, m uint64) bool) {
	for more := true; more && (len(c) > 0 || len(o) > 0); {
		order := 0
		switch {
		case len(c) == 0:
			order = 1
		case len(o) == 0:
			order = -1
		default:
			order = c[0].Node.Compare(o[0].Node)
		}
		switch {
		case order < 0:
			more = visit(c[0].Node, c[0].N, 0)
			c = c[1:]
		case order > 0:
			more = visit(o[0].Node, 0, o[0].N)
			o = o[1:]
		default:
			more = visit(c[0].Node, c[0].N, o[0].N)
			c, o = c[1:], o[1:]
		}
	}
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
