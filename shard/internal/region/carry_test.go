package region

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// owing gives a region whose tenure of shard 1 has ended, with something left over.
func owing(t *testing.T) *rig {
	r := registered(t)
	r.host(at(3, 1), nobody)
	r.handOff(at(3, 1), epoch(3, 2))
	r.step(Drained{Shard: "1", Epoch: epoch(3, 1)})
	return r
}

// However often a route is said, the marker behind what is carried over is due
// until all of that has gone, by that route.
func TestRouteKeepsItsMarkUntilTheCarryIsGone(t *testing.T) {
	r := owing(t)
	route := Route{Shard: "1", Home: c, Epoch: epoch(3, 3), Mark: true}
	r.home(at(3, 3), c)
	r.does(route)
	r.step(Wanted{Shard: "1"}) // was on its way
	r.does(route)
	r.step(Emptied{Shard: "1", Epoch: epoch(3, 1)}) // of an older route
	r.step(Wanted{Shard: "1"})
	r.does(route)
	r.step(Emptied{Shard: "1", Epoch: epoch(3, 3)})
	r.step(Wanted{Shard: "1"})
	route.Mark = false
	r.does(route)
}

// A host that waits for what is carried over gets it before the region helps to
// relieve it.
func TestRegionSendsWhatItOwesBeforeItAcknowledges(t *testing.T) {
	ack := protocol.BeginHandOffAck{Acks: []protocol.Ack{{Shard: "1", Next: epoch(3, 4), Marked: true}}}
	route := Route{Shard: "1", Home: c, Epoch: epoch(3, 3), Mark: true}
	for _, tt := range []struct {
		name string
		told bool // where the home is, before it is to be relieved
	}{{"home known", true}, {"home not known yet", false}} {
		t.Run(tt.name, func(t *testing.T) {
			r := owing(t)
			if tt.told {
				r.home(at(3, 3), c)
				r.does(route)
			}
			r.begin(at(3, 3), c, epoch(3, 4))
			if !tt.told {
				r.does(route)
			}
			r.says(a)
			r.begin(at(3, 3), c, epoch(3, 4)) // repeated
			r.does()
			r.says(a)
			r.step(Emptied{Shard: "1", Epoch: epoch(3, 3)})
			r.does(Buffer{Shard: "1", MarkTo: c, Epoch: epoch(3, 4)})
			r.says(a, ack)
		})
	}
}

// What it owes does not keep a hand-over for ever: the next home gets it, or the
// shard stays after all.
func TestRegionThatOwesFollowsWhatTheCoordinatorDecided(t *testing.T) {
	r := owing(t)
	r.home(at(3, 3), c)
	r.begin(at(3, 3), c, epoch(3, 4))
	r.home(at(3, 5), a) // it did not wait any longer
	r.does(Route{Shard: "1", Home: a, Epoch: epoch(3, 5), Mark: true})
	r.step(Emptied{Shard: "1", Epoch: epoch(3, 5)})
	r.does()
	r.says(a)

	r = owing(t)
	r.home(at(3, 3), c)
	r.begin(at(3, 3), c, epoch(3, 4))
	r.home(at(3, 3), c) // it stays
	r.step(Emptied{Shard: "1", Epoch: epoch(3, 3)})
	r.does()
	r.says(a)
	r.wait(time.Second)
	if !r.out.Wake.IsZero() {
		t.Errorf("nothing waits, and it wants to be woken at %v", r.out.Wake)
	}
}
