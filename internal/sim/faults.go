package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
)

// A fault is a kind of trouble. It begins with the dice of its own, and says
// what it did; false when there was nobody to do it to.
type fault struct {
	name  string
	begin func(w *World) (what string, begun bool)
}

// faults are those that a storm chooses from.
var faults = []fault{
	{"crash", (*World).crashOne},
	{"power", (*World).powerOff},
	{"restart", (*World).restartOne},
	{"move", (*World).moveOne},
	{"pause", (*World).pauseOne},
	{"starve", (*World).starveOne},
	{"deaf", (*World).deafenOne},
	{"leave", (*World).leaveOne},
	{"join", (*World).joinOne},
	{"isolate", (*World).isolateOne},
	{"one-way", (*World).cutOneWay},
	{"pair", (*World).cutPair},
	{"partition", (*World).partition},
	{"flap", (*World).flapPair},
	{"clog", (*World).clogOne},
	{"reset", (*World).resetPair},
	{"reject", (*World).rejectOne},
	{"store", (*World).troubleStore},
	{"lose", (*World).loseOne},
	{"stillborn", (*World).restartTwice},
}

// some draws a running node that is not paused.
func (w *World) some() (*node, bool) {
	var ready []*node
	for _, n := range w.nodes {
		if n.running() && !n.pausedUntil.After(w.now) {
			ready = append(ready, n)
		}
	}
	if len(ready) == 0 {
		return nil, false
	}
	return ready[w.dice.IntN(len(ready))], true
}

func (w *World) between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.dice.Int64N(int64(most-least)))
}

// end stops a process; nobody is told.
func (w *World) end(n *node, how string) {
	if n.running() {
		n.end = how
	}
}

func (w *World) crashOne() (string, bool) {
	n, ok := w.some()
	if !ok {
		return "", false
	}
	w.dies(n)
	return fmt.Sprintf("%s for ever", n.id), true
}

// powerOff ends a machine: nothing refuses in its place.
func (w *World) powerOff() (string, bool) {
	n, ok := w.some()
	if !ok {
		return "", false
	}
	w.end(n, "without power")
	n.powerless = true
	return n.id.String(), true
}

func (w *World) restartOne() (string, bool) {
	n, ok := w.some()
	if !ok {
		return "", false
	}
	w.dies(n)
	pause := w.between(10*time.Millisecond, 20*time.Second)
	w.after(pause, func() {
		if !w.nodes[n.place].running() {
			w.boot(n.place, w.joining(n.place))
		}
	})
	return fmt.Sprintf("%s after %v", n.id, pause), true
}

// moveOne has a crashed node come back at another address.
func (w *World) moveOne() (string, bool) {
	n, ok := w.some()
	if !ok {
		return "", false
	}
	w.dies(n)
	pause := w.between(10*time.Millisecond, 10*time.Second)
	w.after(pause, w.add)
	return fmt.Sprintf("%s elsewhere after %v", n.id, pause), true
}

// pauseOne stops a process; each second pause is a short one.
func (w *World) pauseOne() (string, bool) {
	n, ok := w.some()
	if !ok {
		return "", false
	}
	d := w.between(100*time.Millisecond, 60*time.Second)
	if w.dice.IntN(2) == 0 {
		d = w.between(100*time.Millisecond, 4*time.Second)
	}
	n.pausedUntil = w.now.Add(d)
	return fmt.Sprintf("%s for %v", n.id, d), true
}

// starveOne leaves a process a tenth of the time.
func (w *World) starveOne() (string, bool) {
	n, ok := w.some()
	if !ok {
		return "", false
	}
	slice, d := w.between(100*time.Millisecond, time.Second), w.between(5*time.Second, 40*time.Second)
	w.starve(n, slice, w.now.Add(d))
	return fmt.Sprintf("%s by slices of %v for %v", n.id, slice, d), true
}

func (w *World) starve(n *node, slice time.Duration, until time.Time) {
	if !n.running() || !w.now.Before(until) || w.healed.After(birth) {
		return
	}
	if next := w.now.Add(slice * 9 / 10); next.After(n.pausedUntil) {
		n.pausedUntil = next
	}
	w.after(slice, func() { w.starve(n, slice, until) })
}

// deafenOne takes a node's listener away, and leaves it the links that it has.
func (w *World) deafenOne() (string, bool) {
	n, ok := w.some()
	if !ok {
		return "", false
	}
	n.deaf = true
	w.after(w.between(0, 5*time.Second), func() { w.listens(n) })
	return n.id.String(), true
}

func (w *World) leaveOne() (string, bool) {
	n, ok := w.some()
	if !ok {
		return "", false
	}
	w.order(n, gossip.Leave{Address: n.id.Address})
	return n.id.String(), true
}

func (w *World) joinOne() (string, bool) {
	w.add()
	return w.nodes[len(w.nodes)-1].id.String(), true
}

// restartTwice has a node end, and a first successor with it as soon as it has
// asked to be let in; what it asked takes longer than the second one.
func (w *World) restartTwice() (string, bool) {
	n, ok := w.some()
	if !ok {
		return "", false
	}
	w.dies(n)
	first := member.ID{Address: n.id.Address, UID: member.NewUID(w.now, w.dice.Uint64())}
	join := gossip.Join{Cluster: cluster, Node: first, DataCenter: n.view.DataCenter}
	late, again := w.between(0, 20*time.Second), w.between(1100*time.Millisecond, 5*time.Second)
	w.after(again, func() {
		if !w.nodes[n.place].running() {
			w.boot(n.place, w.joining(n.place))
		}
	})
	w.after(late, func() {
		if at, ok := w.some(); ok && at.place != n.place {
			w.send(&packet{from: first, to: at.id, msg: join})
		}
	})
	return fmt.Sprintf("%s, the first successor's join takes %v, the second one starts after %v", n.id, late, again), true
}

// troubleStore has the store hang, and makes it lose answers and show old ones
// from then on.
func (w *World) troubleStore() (string, bool) {
	d := w.between(100*time.Millisecond, 20*time.Second)
	w.leases.hangsUntil = w.now.Add(d)
	w.leases.loses = w.dice.Float64() * 0.5
	w.leases.stale = w.dice.Float64() * 0.2
	return fmt.Sprintf("hangs for %v, loses %.0f %% of its answers", d, 100*w.leases.loses), true
}

// others draws some of the nodes but one.
func (w *World) others(n *node) []*node {
	others := slices.DeleteFunc(slices.Clone(w.nodes), func(o *node) bool { return o == n })
	if w.dice.IntN(2) == 0 {
		return others
	}
	return slices.DeleteFunc(others, func(*node) bool { return w.dice.IntN(2) == 0 })
}
