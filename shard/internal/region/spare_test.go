package region

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A drained node asks to be relieved until it has nothing, refuses what it is given,
// never ends its shards by itself, and asks for shards again afterwards.
func TestDrain(t *testing.T) {
	r := registered(t)
	r.host(at(3, 1), nobody)
	r.step(Spare{On: true})
	r.says(a, protocol.GracefulShutdown{})
	r.does()
	r.wait(2 * time.Second)
	r.says(a, protocol.GracefulShutdown{})
	if r.out.Left {
		t.Error("a drained node has not left")
	}
	other := protocol.Tenure{Shard: "2", Epoch: epoch(3, 2)}
	r.from(a, protocol.HostShards{Header: r.head(3), Shards: []protocol.Assignment{{Tenure: other}}})
	r.says(a, protocol.GracefulShutdown{}, protocol.ShardsStopped{Shards: []protocol.Tenure{other}})

	r.view("a Down", "b Up", "c Down") // nobody else could take anything
	r.wait(time.Minute)
	r.does()

	r = registered(t)
	r.step(Spare{On: true})
	r.says(a)
	r.step(Spare{})
	r.says(a, protocol.Staying{})
	r.wait(2 * time.Second)
	r.says(a, protocol.Staying{})
	r.from(a, protocol.Registered{Header: r.head(3)})
	r.wait(2 * time.Second)
	r.says(a)
}

// A region keeps the newest wish for a shard, and names it to the next coordinator.
func TestWishesAreKeptForTheNextCoordinator(t *testing.T) {
	r := registered(t)
	old, wish := protocol.Wish{Shard: "1", To: c.Address, At: epoch(3, 1)}, protocol.Wish{Shard: "1", To: a.Address, At: epoch(3, 2)}
	for _, w := range []protocol.Wish{wish, old} {
		r.from(a, protocol.Wishes{Header: r.head(3), Wishes: []protocol.Wish{w}})
		r.says(a, protocol.WishesKept{Kept: []protocol.Tenure{{Shard: "1", Epoch: wish.At}}})
	}
	r.claim(c, 4)
	r.says(c, protocol.Report{Term: 4, Coordinator: c, Agree: "x", Wishes: []protocol.Wish{wish}})
}

func TestLoadsGoToTheCoordinator(t *testing.T) {
	r := registered(t)
	loads := []protocol.Load{{Shard: "1", Messages: 7}}
	r.step(Measured{Loads: loads})
	r.says(a, protocol.Loads{Loads: loads})
	r.step(Measured{})
	r.says(a)
}

// Who should coordinate has not joined the type: a roll-out removes it, and this is
// the last node that has it. It ends its shards itself, but not before that node has
// had time to join.
func TestLeaverEndsWhatNobodyWillPlace(t *testing.T) {
	r := registered(t)
	r.host(at(3, 1), nobody)
	r.view("c Up", "b Leaving")
	r.step(NoPort{From: c})
	r.wait(3 * time.Second)
	r.step(NoPort{From: c})
	r.does()
	r.wait(time.Second)
	r.does(Buffer{Shard: "1"}, Drain{Shard: "1", Epoch: epoch(3, 1), Deadline: r.now.Add(time.Minute)})

	r = registered(t)
	r.host(at(3, 1), nobody)
	r.view("c Up", "b Leaving")
	r.step(NoPort{From: c})
	r.wait(3 * time.Second)
	r.claim(c, 4) // it has joined after all
	r.wait(time.Minute)
	r.does()
}
