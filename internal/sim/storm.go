package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// SetWeather changes how the network treats messages, everywhere alike.
func (w *World) SetWeather(weather Weather) {
	w.net.weather = weather
	w.dirty = w.dirty || !weather.tolerated()
	w.faultf("weather %+v", weather)
}

// Storm lets time pass with faults drawn from the seed. Each storm has kinds of
// its own (swarm testing: Groce et al., ISSTA 2012), as some faults hide others.
// The weather and cuts that have not ended last until [World.Heal].
//
// Each fault has dice of its own, so that one can be left out and the others
// stay what they are; see [Trim].
func (w *World) Storm(d time.Duration) {
	if weather := w.drawWeather(); !w.without("weather") {
		w.SetWeather(weather)
	}
	if w.chance(0.1) && !w.without("clocks") {
		w.badClocks = 0.5
		w.faultf("bad clocks")
	}
	var kinds []fault
	for _, f := range faults {
		if w.rand.IntN(2) == 0 {
			kinds = append(kinds, f)
		}
	}
	for range 3 + w.rand.IntN(13) {
		if len(kinds) == 0 {
			break
		}
		f := kinds[w.rand.IntN(len(kinds))]
		at, seed := time.Duration(w.rand.Int64N(int64(d))), w.rand.Uint64()
		w.planFault(f, at, seed)
	}
	w.Run(d)
}

func (w *World) planFault(f fault, at time.Duration, seed uint64) {
	number := w.planned
	w.planned++
	if w.without(strconv.Itoa(number)) {
		return
	}
	w.after(at, func() {
		before := w.dice
		w.dice = rand.New(rand.NewPCG(w.seed, seed))
		if what, begun := f.begin(w); begun {
			w.faultf("(%d) %s %s", number, f.name, what)
		}
		w.dice = before
	})
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
	w.net.heal()
	w.leases.hangsUntil, w.leases.loses, w.leases.stale = w.now, 0, 0
	w.healed = w.now
	w.faultf("heal")
	for _, n := range w.nodes {
		n.powerless = false
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
		w.boot(0, founding)
	}
	w.after(5*time.Second, w.refound)
}

// faultf notes a fault.
func (w *World) faultf(format string, args ...any) {
	w.stats.Faults++
	w.log.faults = append(w.log.faults, w.stamp(fmt.Sprintf(format, args...)))
	w.notef(format, args...)
}
