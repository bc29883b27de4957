package placement

import (
	"cmp"
	"slices"
)

// linePoints is how often a runner of weight 1 is on the line.
const linePoints = 128

// A line has the points of all runners of a group, in the order of their
// positions. Unlike a ring it has two ends, and the nearest point counts in
// either direction.
type line []point

func newLine(servers []server) line {
	total := 0
	for _, s := range servers {
		total += s.points()
	}
	l := make(line, 0, total)
	for i, s := range servers {
		for n := s.points(); n > 0; n-- {
			l = append(l, point{at: effectSum(effectAdd(effectNumber(effectStart, n), s.key+":")), node: i})
		}
	}
	slices.SortFunc(l, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.node, b.node))
	})
	return l
}

// points of a runner. The conversion keeps the product from being fused with
// the sum, which some processors would round otherwise.
func (s server) points() int { return int(float64(s.weight*linePoints) + 0.5) }

// search gives the index of the first point at or after a position; len(l) when
// all are before it.
func (l line) search(at int32) int {
	i, _ := slices.BinarySearchFunc(l, at, func(p point, at int32) int { return cmp.Compare(p.at, at) })
	return i
}

// nearest gives the server at the shortest distance from a position; of two
// points as near as each other the upper one. The line must not be empty.
func (l line) nearest(at int32) (server int, distance int64) {
	i := l.search(at)
	upper := l[min(i, len(l)-1)]
	if i > 0 && l[i-1].distance(at) < upper.distance(at) {
		upper = l[i-1]
	}
	return upper.node, upper.distance(at)
}

func (p point) distance(at int32) int64 {
	d := int64(p.at) - int64(at)
	return max(d, -d)
}

// firstOpen gives the server of the first point that is open, looking from a
// position outwards: the point at or after it, then one below, one above and so
// on, by number and not by distance. There must be an open one.
func (l line) firstOpen(at int32, open func(server int) bool) int {
	i := l.search(at)
	if s := l[min(i, len(l)-1)].node; open(s) {
		return s
	}
	for d := 1; ; d++ {
		if i-d >= 0 && open(l[i-d].node) {
			return l[i-d].node
		}
		if i+d < len(l) && open(l[i+d].node) {
			return l[i+d].node
		}
	}
}
