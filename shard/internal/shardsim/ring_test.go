package shardsim

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/shard/internal/ring"
)

// SHD-15, of the ring: from two nodes to three and back, with a shard for each of
// many ids and traffic all the time. The ledger fails the world as soon as two may
// act for one shard, a message is lost, comes twice or out of order.
func TestSHD15OneOwnerWhileNodesComeAndGo(t *testing.T) {
	t.Parallel()
	const shards = 1000
	w := calm(t, byRing, 2, shards, nil)
	w.traffic()
	for range 2 {
		w.join()
		w.run(5 * time.Second)
		if got := len(w.nodes[len(w.nodes)-1].region.Hosted()); got < shards/3 || got > shards/3+1 {
			t.Errorf("five seconds after it has joined a third node hosts %d shards, want a third", got)
		}
		w.leave(w.alive()[0])
		w.run(5 * time.Second)
	}
	w.quiet = true
	w.run(time.Second)
	w.mustAnswer(t)
	if waiting := w.ledger.waiting(); len(waiting) > 0 {
		t.Errorf("%d messages were not handled, such as %v", len(waiting), waiting[0])
	}
	if least := 4 * shards / 3; w.ledger.seen["moves"] > least*11/10 {
		t.Errorf("%d shards moved, at least %d had to", w.ledger.seen["moves"], least)
	}
	if w.ledger.longest > time.Second {
		t.Errorf("a message waited for %v", w.ledger.longest)
	}
}

// DWN-04, of the ring: a shard that has moved waits for no lease to run out.
func TestDWN04MoveWaitsForNoLease(t *testing.T) {
	t.Parallel()
	w := calm(t, byRing, 2, 10, func(w *world) { w.db.ttl = time.Minute })
	leaver := w.nodes[0]
	w.leave(leaver)
	told := leaver.w.now
	m := w.nodes[1].tell("3")
	if !w.within(2*time.Second, func() bool { _, open := w.ledger.open[m]; return !open }) {
		t.Errorf("%v was not handled within %v: %s", m, w.now.Sub(told), w.why("3"))
	}
	if !w.within(2*time.Second, func() bool { return leaver.dead }) {
		t.Errorf("it did not get away: %s", leaver.clutter())
	}
	w.mustAnswer(t)
}

// After a crash the shards are served again within the time of a lease and a second.
func TestRingRecoversWithinTheLeaseAndASecond(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		w := newWorld(byRing, seed+1, 30)
		for range 4 {
			w.join()
		}
		w.run(3*time.Second + time.Duration(seed)*50*time.Millisecond)
		victim := w.nodes[seed%4]
		hosted := victim.region.Hosted()
		w.detect = time.Hour // the membership finds out much later
		w.crash(victim)
		if !w.within(w.db.ttl+time.Second, func() bool {
			for _, h := range hosted {
				if w.ledger.hosts[h.Shard] == nil {
					return false
				}
			}
			return true
		}) {
			t.Errorf("seed %d: not all of %d shards have a home: %s", seed+1, len(hosted), w.why(hosted[0].Shard))
		}
		w.run(500 * time.Millisecond)
		w.mustAnswer(t)
	}
}

// An outage of the store that leaves time for another try within the lease disturbs
// nobody, a third of it at the least; a longer one ends all entities in time, and all
// go on when it is over.
func TestRingOutlivesTheStore(t *testing.T) {
	t.Parallel()
	w := calm(t, byRing, 3, 30, nil)
	hosted := w.ledger.seen["hosted"]
	w.traffic()
	w.db.away = w.now.Add(time.Second)
	w.run(5 * time.Second)
	if again := w.ledger.seen["hosted"] - hosted; again > 0 || w.ledger.seen["unseated"] > 0 {
		t.Errorf("a short outage made %d shards start anew, and took %d seats", again, w.ledger.seen["unseated"])
	}

	w.db.away = w.now.Add(10 * time.Second)
	w.run(8 * time.Second)
	for _, n := range w.nodes {
		if n.owns() || len(n.region.Hosted()) > 0 {
			t.Errorf("without the store %s owns until %v and hosts %v", n.name, n.owned, n.region.Hosted())
		}
	}
	w.ledger.strict = false // what was stopped at once goes on as it can
	w.run(5 * time.Second)
	w.quiet = true
	w.run(time.Second)
	w.mustAnswer(t)
	if waiting := w.ledger.waiting(); len(waiting) > 0 {
		t.Errorf("%d messages were not handled, such as %v", len(waiting), waiting[0])
	}
}

// A leave moves a thousand shards in about a second, in few messages and few
// requests to the store.
func TestRingLeaveMovesAThousandShardsQuickly(t *testing.T) {
	t.Parallel()
	w := calm(t, byRing, 3, 3000, nil)
	leaver := w.nodes[0]
	hosted, packets, calls := len(leaver.region.Hosted()), w.ledger.seen["packets"], w.db.calls
	w.leave(leaver)
	if !w.within(10*time.Second, func() bool { return leaver.dead }) {
		t.Fatal("it did not get away", w.failure)
	}
	w.mustHold(t)
	if took := w.ledger.leaves[0]; hosted < 900 || took > 1500*time.Millisecond {
		t.Errorf("%d shards took %v, want a thousand in about a second", hosted, took)
	}
	t.Logf("%d shards in %v, %d packets and %d calls of the store",
		hosted, w.ledger.leaves[0], w.ledger.seen["packets"]-packets, w.db.calls-calls)
}

// A node that joins only takes, and one that leaves only gives.
func TestRingMovesNoShardBetweenThoseThatStay(t *testing.T) {
	t.Parallel()
	w := calm(t, byRing, 5, 300, nil)
	var joiner *node
	w.ringWatcher = func(n *node, e ring.Event) {
		if m, ok := e.(ring.Moving); ok && m.To != joiner.id {
			w.fail("%s gives %s to %s", n.name, m.Home.Shard, m.To)
		}
	}
	w.join()
	joiner = w.nodes[5]
	w.run(5 * time.Second)
	w.mustAnswer(t)
	if got := len(joiner.region.Hosted()); got != 50 {
		t.Errorf("it has %d shards, want 50", got)
	}
}
