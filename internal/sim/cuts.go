package sim

import (
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

func (w *World) isolateOne() (string, bool) {
	n, ok := w.some()
	if !ok {
		return "", false
	}
	return w.isolate(n), true
}

// isolate cuts a node off for a while.
func (w *World) isolate(n *node) string {
	d := w.between(time.Second, 40*time.Second)
	for _, other := range w.nodes {
		if other != n {
			w.cutFor(d, n.id.Address, other.id.Address)
			w.cutFor(d, other.id.Address, n.id.Address)
		}
	}
	return fmt.Sprintf("%s for %v", n.id, d)
}

// loseOne is what a gateway does that is started anew: it resets all links of a
// node, and then lets nothing through.
func (w *World) loseOne() (string, bool) {
	n, ok := w.some()
	if !ok {
		return "", false
	}
	for _, other := range w.nodes {
		if other != n {
			w.reset(n, other)
		}
	}
	return w.isolate(n), true
}

// pair draws two different places.
func (w *World) pair() (a, b member.Address, ok bool) {
	if len(w.nodes) < 2 {
		return a, b, false
	}
	i := w.dice.IntN(len(w.nodes))
	j := (i + 1 + w.dice.IntN(len(w.nodes)-1)) % len(w.nodes)
	return placeAddress(i), placeAddress(j), true
}

func (w *World) cutOneWay() (string, bool) {
	a, b, ok := w.pair()
	if !ok {
		return "", false
	}
	d := w.between(time.Second, 40*time.Second)
	w.cutFor(d, a, b)
	return fmt.Sprintf("from %s to %s for %v", a, b, d), true
}

func (w *World) cutPair() (string, bool) {
	a, b, ok := w.pair()
	if !ok {
		return "", false
	}
	d := w.between(time.Second, 40*time.Second)
	w.cutFor(d, a, b)
	w.cutFor(d, b, a)
	return fmt.Sprintf("%s and %s for %v", a, b, d), true
}

func (w *World) flapPair() (string, bool) {
	a, b, ok := w.pair()
	if !ok {
		return "", false
	}
	period := w.between(time.Second, 10*time.Second)
	for i := range 5 {
		w.after(time.Duration(2*i)*period, func() {
			if w.healed.After(birth) {
				return
			}
			w.cutFor(period, a, b)
			w.cutFor(period, b, a)
		})
	}
	return fmt.Sprintf("%s and %s every %v", a, b, 2*period), true
}

// partition cuts the places into two to four groups.
func (w *World) partition() (string, bool) {
	groups := make([][]int, 2+w.dice.IntN(3))
	for place := range w.nodes {
		g := w.dice.IntN(len(groups))
		groups[g] = append(groups[g], place)
	}
	d := w.between(time.Second, 60*time.Second)
	w.Partition(d, groups...)
	return fmt.Sprintf("%v for %v", groups, d), true
}

// Partition cuts all links between groups of places for so long.
func (w *World) Partition(d time.Duration, groups ...[]int) {
	for i, group := range groups {
		for j, other := range groups {
			if i == j {
				continue
			}
			for _, a := range group {
				for _, b := range other {
					w.cutFor(d, placeAddress(a), placeAddress(b))
				}
			}
		}
	}
}

// cutFor cuts one direction between two places for so long, or until the world
// heals. Cuts by several faults end with the last.
func (w *World) cutFor(d time.Duration, from, to member.Address) {
	cuts := w.net.cuts
	cuts[link{from, to}]++
	w.after(d, func() { cuts[link{from, to}]-- }) // after a healing it is the old map
}

// clogOne holds up all that one node sends, or a single link, and lets it
// through in one burst.
func (w *World) clogOne() (string, bool) {
	n, ok := w.some()
	if !ok {
		return "", false
	}
	d := w.between(time.Second, 15*time.Second)
	towards := w.others(n)
	for _, other := range towards {
		w.net.clogs[link{n.id.Address, other.id.Address}] = w.now.Add(d)
	}
	return fmt.Sprintf("%s towards %d for %v", n.id, len(towards), d), true
}

func (w *World) resetPair() (string, bool) {
	a, b, ok := w.pair()
	if !ok {
		return "", false
	}
	w.reset(w.nodes[w.places[a]], w.nodes[w.places[b]])
	return fmt.Sprintf("%s and %s", a, b), true
}

// rejectOne has something refuse in the name of a node that lives.
func (w *World) rejectOne() (string, bool) {
	n, ok := w.some()
	if !ok {
		return "", false
	}
	d := w.between(100*time.Millisecond, 30*time.Second)
	towards := w.others(n)
	w.reject(n, towards, d)
	return fmt.Sprintf("%s towards %d for %v", n.id, len(towards), d), true
}
