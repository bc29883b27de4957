package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
)

// faults are the kinds of trouble that a storm chooses from.
var faults = [...]struct {
	name  string
	begin func(w *World) (what string, begun bool)
}{
	{"crash", (*World).crashOne},
	{"restart", (*World).restartOne},
	{"pause", (*World).pauseOne},
	{"isolate", (*World).isolateOne},
	{"one-way", (*World).cutOneWay},
	{"pair", (*World).cutPair},
	{"partition", (*World).partition},
	{"flap", (*World).flapPair},
	{"leave", (*World).leaveOne},
	{"join", (*World).joinOne},
}

// SetWeather changes how the network treats messages, everywhere alike.
func (w *World) SetWeather(weather Weather) {
	w.net.weather = weather
	w.faultf("weather %+v", weather)
}

// Storm lets time pass with faults drawn from the seed. Each storm has kinds of
// its own (swarm testing: Groce et al., ISSTA 2012), as some faults hide others.
// The weather and cuts that have not ended last until [World.Heal].
func (w *World) Storm(d time.Duration) {
	w.SetWeather(w.drawWeather())
	if w.chance(0.1) {
		w.badClocks = 0.5
		w.faultf("bad clocks")
	}
	var kinds []int
	for i := range faults {
		if w.rand.IntN(2) == 0 {
			kinds = append(kinds, i)
		}
	}
	for range 3 + w.rand.IntN(13) {
		if len(kinds) == 0 {
			break
		}
		fault := faults[kinds[w.rand.IntN(len(kinds))]]
		w.after(time.Duration(w.rand.Int64N(int64(d))), func() {
			if what, begun := fault.begin(w); begun {
				w.faultf("%s %s", fault.name, what)
			}
		})
	}
	w.Run(d)
}

func (w *World) drawWeather() Weather {
	weather := Weather{Delay: time.Duration(w.rand.Int64N(int64(30 * time.Millisecond)))}
	if w.chance(0.5) {
		weather.Drop = w.rand.Float64() * 0.3
	}
	if w.chance(0.5) {
		weather.Duplicate = w.rand.Float64() * 0.5
	}
	if w.chance(0.2) {
		weather.Delay = 30*time.Millisecond + time.Duration(w.rand.Int64N(int64(70*time.Millisecond)))
	}
	if w.chance(0.3) {
		weather.Tail = w.rand.Float64() * 0.03
	}
	if w.chance(0.3) {
		weather.Misdirect = 1
	}
	return weather
}

// Heal ends the weather, all cuts and all pauses. What has crashed for ever
// stays so; whenever no member is left, the first place founds anew.
func (w *World) Heal() {
	w.net.clear()
	w.faultf("heal")
	for _, n := range w.nodes {
		if n.pausedUntil.After(w.now) {
			n.pausedUntil = w.now
			w.plan(n, w.now.Add(time.Microsecond))
		}
	}
	w.refound()
}

func (w *World) refound() {
	if !slices.ContainsFunc(w.nodes, (*node).isMember) {
		w.end(w.nodes[0], "replaced")
		w.boot(0, true)
	}
	w.after(5*time.Second, w.refound)
}

// end stops a process without a word.
func (w *World) end(n *node, how string) {
	if n.running() {
		n.end = how
	}
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
	return ready[w.rand.IntN(len(ready))], true
}

func (w *World) between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.rand.Int64N(int64(most-least)))
}

func (w *World) crashOne() (string, bool) {
	n, ok := w.some()
	if !ok {
		return "", false
	}
	w.end(n, "crashed")
	return fmt.Sprintf("%s for ever", n.id), true
}

func (w *World) restartOne() (string, bool) {
	n, ok := w.some()
	if !ok {
		return "", false
	}
	w.end(n, "crashed")
	pause := w.between(10*time.Millisecond, 20*time.Second)
	w.after(pause, func() {
		if !w.nodes[n.place].running() {
			w.boot(n.place, false)
		}
	})
	return fmt.Sprintf("%s after %v", n.id, pause), true
}

func (w *World) pauseOne() (string, bool) {
	n, ok := w.some()
	if !ok {
		return "", false
	}
	d := w.between(100*time.Millisecond, 30*time.Second)
	n.pausedUntil = w.now.Add(d)
	return fmt.Sprintf("%s for %v", n.id, d), true
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

func (w *World) isolateOne() (string, bool) {
	n, ok := w.some()
	if !ok {
		return "", false
	}
	d := w.between(time.Second, 40*time.Second)
	for _, other := range w.nodes {
		if other != n {
			w.cutFor(d, n.id.Address, other.id.Address)
			w.cutFor(d, other.id.Address, n.id.Address)
		}
	}
	return fmt.Sprintf("%s for %v", n.id, d), true
}

// pair draws two different places.
func (w *World) pair() (a, b member.Address, ok bool) {
	if len(w.nodes) < 2 {
		return a, b, false
	}
	i := w.rand.IntN(len(w.nodes))
	j := (i + 1 + w.rand.IntN(len(w.nodes)-1)) % len(w.nodes)
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
			w.cutFor(period, a, b)
			w.cutFor(period, b, a)
		})
	}
	return fmt.Sprintf("%s and %s every %v", a, b, 2*period), true
}

// partition cuts the places into two to four groups.
func (w *World) partition() (string, bool) {
	groups := make([][]int, 2+w.rand.IntN(3))
	for place := range w.nodes {
		g := w.rand.IntN(len(groups))
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

// faultf notes a fault.
func (w *World) faultf(format string, args ...any) {
	w.stats.Faults++
	w.log.faults = append(w.log.faults, w.stamp(fmt.Sprintf(format, args...)))
	w.notef(format, args...)
}
