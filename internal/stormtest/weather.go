package stormtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/transport"
)

// Weather does bad things to the ways between nodes that have places, numbered
// from 0. One goroutine at a time may use it.
type Weather struct {
	ctx    context.Context
	dice   *rand.Rand
	net    *transport.Memory
	places int
}

// NewWeather makes good weather, which strikes by the dice. What it has planned
// for later does not happen once the context has ended.
func NewWeather(ctx context.Context, dice *rand.Rand, net *transport.Memory, places int) *Weather {
	return &Weather{ctx: ctx, dice: dice, net: net, places: places}
}

// Address is where the node at a place listens.
func Address(place int) member.Address { return member.Address{Host: "127.0.0.1", Port: 9000 + place} }

// Strike does something bad, for some time or until Heal, and tells what.
func (w *Weather) Strike() string {
	a := w.dice.IntN(w.places)
	b := (a + 1 + w.dice.IntN(w.places-1)) % w.places
	switch w.dice.IntN(5) {
	case 0:
		w.net.Reset(Address(a), Address(b))
		return fmt.Sprintf("reset between %d and %d", a, b)
	case 1:
		w.during(a, []int{b}, w.net.Cut)
		return fmt.Sprintf("cut from %d to %d", a, b)
	case 2:
		w.during(a, w.others(a), w.net.Cut)
		return fmt.Sprintf("%d cut off", a)
	case 3:
		w.during(a, w.others(a), w.net.Refuse)
		for _, other := range w.others(a) {
			w.net.Reset(Address(a), Address(other))
		}
		return fmt.Sprintf("%d refused by all", a)
	default:
		d := w.Between(time.Millisecond, 300*time.Millisecond)
		for _, other := range w.others(a) {
			w.net.Delay(Address(a), Address(other), d)
		}
		return fmt.Sprintf("%d slow by %v", a, d)
	}
}

// Between gives a time by the dice.
func (w *Weather) Between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.dice.Int64N(int64(most-least)))
}

// After does something later, unless the context has ended by then.
func (w *Weather) After(d time.Duration, do func()) {
	time.AfterFunc(d, func() {
		if w.ctx.Err() == nil {
			do()
		}
	})
}

// Heal ends all that is bad now.
func (w *Weather) Heal() {
	for place := range w.places {
		for _, other := range w.others(place) {
			w.net.Heal(Address(place), Address(other))
			w.net.Delay(Address(place), Address(other), 0)
		}
	}
}

func (w *Weather) others(place int) []int {
	var others []int
	for other := range w.places {
		if other != place {
			others = append(others, other)
		}
	}
	return others
}

// during puts ways into a bad condition, both directions where it is for all,
// and ends that after a while.
func (w *Weather) during(place int, others []int, do func(from, to member.Address)) {
	ways := [][2]member.Address{}
	for _, other := range others {
		ways = append(ways, [2]member.Address{Address(place), Address(other)})
		if len(others) > 1 {
			ways = append(ways, [2]member.Address{Address(other), Address(place)})
		}
	}
	for _, way := range ways {
		do(way[0], way[1])
	}
	w.After(w.Between(100*time.Millisecond, 40*time.Second), func() {
		for _, way := range ways {
			w.net.Heal(way[0], way[1])
		}
	})
}
