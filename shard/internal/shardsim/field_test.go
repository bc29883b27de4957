package shardsim

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/coordinator"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// calm is a world without faults in which nodes n00, n01, … host, all homes are
// known to all, and traffic flows if it should.
func calm(t *testing.T, who authority, nodes, shards int, with func(*world)) *world {
	t.Helper()
	w := newWorld(who, 1, shards)
	w.tracing = shards <= 100
	w.ledger.strict = true
	w.cfg.coordinator.RebalanceEvery = -1
	if with != nil {
		with(w)
	}
	for range nodes {
		w.join()
	}
	w.run(3 * time.Second)
	w.mustAnswer(t)
	return w
}

// mustAnswer: every shard answers every node within a second.
func (w *world) mustAnswer(t *testing.T) {
	t.Helper()
	w.probe()
	w.mustHold(t)
}

func (w *world) mustHold(t *testing.T) {
	t.Helper()
	if w.failure != "" {
		t.Fatal(w.report(*lines))
	}
}

// watch calls f with each event of a coordinator.
func (w *world) watch(f func(n *node, e coordinator.Event)) { w.watcher = f }

func TestSHD01BufferedMessageWaitsForNoTick(t *testing.T) {
	t.Parallel()
	w := calm(t, byCoordinator, 3, 10, nil)
	leaver := w.ledger.hosts["s0"]
	placed := map[string]time.Time{}
	w.watch(func(_ *node, e coordinator.Event) {
		if p, ok := e.(coordinator.Placed); ok {
			placed[p.Home.Shard] = w.now
		}
	})
	w.leave(leaver)
	waiting := map[string]message{}
	for w.ledger.hosts["s0"] == leaver { // a message each moment until the move is over
		if sender := w.alive()[0]; sender != leaver {
			waiting["s0"] = sender.tell("s0")
		}
		w.run(time.Millisecond)
	}
	w.run(100 * time.Millisecond)
	w.mustHold(t)
	if placed["s0"].IsZero() {
		t.Fatal("the shard was not placed anew")
	}
	if open := w.ledger.waiting(); len(open) > 0 {
		t.Errorf("100 ms after the hand-over %d messages still wait, such as %v", len(open), open[0])
	}
}

func TestSHD02LateStopStillFreesTheShard(t *testing.T) {
	t.Parallel()
	w := calm(t, byCoordinator, 3, 12, func(w *world) {
		w.cfg.coordinator.HandOffTimeout = time.Second
		w.cfg.region.HandOffTimeout = time.Minute // the entity may take its time
	})
	w.stopTakes = 2 * time.Second
	var slow, moving int
	w.watch(func(_ *node, e coordinator.Event) {
		if _, ok := e.(coordinator.Slow); ok {
			slow++
		}
		if _, ok := e.(coordinator.Moving); ok {
			moving++
		}
	})
	leaver := w.ledger.hosts["s0"]
	hosted := len(leaver.region.Hosted())
	w.leave(leaver)
	w.run(1500 * time.Millisecond)
	if got := w.ledger.hosts["s0"]; got != leaver {
		t.Errorf("before its end was confirmed the shard went to %s", got.name)
	}
	w.run(5 * time.Second)
	w.mustAnswer(t)
	if slow != hosted || moving != hosted {
		t.Errorf("%d shards: %d were reported as slow and %d hand-overs begun, want each once", hosted, slow, moving)
	}
	if got := w.ledger.hosts["s0"]; got == nil || got == leaver {
		t.Error("the late stop did not free the shard")
	}
}

func TestSHD03RebalanceStepsToCrashedRegions(t *testing.T) {
	t.Parallel()
	w := calm(t, byCoordinator, 6, 30, func(w *world) { w.cfg.coordinator.RebalanceEvery = 10 * time.Second })
	w.ledger.strict = false
	moves, kept := 0, 0
	var begun, ended time.Time
	w.watch(func(_ *node, e coordinator.Event) {
		_, moving := e.(coordinator.Moving)
		_, isKept := e.(coordinator.Kept)
		_, isPlaced := e.(coordinator.Placed)
		if moving {
			moves++
		}
		if moving && begun.IsZero() {
			begun = w.now
			w.crash(w.nodes[5]) // before its ack
			w.after(500*time.Millisecond, func() { w.crash(w.nodes[4]) })
		}
		if isKept || isPlaced {
			ended = w.now
		}
		if isKept {
			kept++
		}
	})
	w.join() // gives the strategy something to do
	w.run(40 * time.Second)
	first := moves
	if begun.IsZero() || ended.Sub(begun) > 30*time.Second {
		t.Errorf("rebalance from %v to %v, %d moves, %d kept", begun, ended, moves, kept)
	}
	w.join()
	w.run(25 * time.Second)
	if moves == first {
		t.Error("no rebalance began after the one that crashes had met")
	}
	w.mustAnswer(t)
}

func TestSHD04CoordinatorsLeaveInTheMiddleOfARebalance(t *testing.T) {
	t.Parallel()
	w := calm(t, byCoordinator, 6, 40, func(w *world) { w.cfg.coordinator.RebalanceEvery = 10 * time.Second })
	begun := false
	w.watch(func(_ *node, e coordinator.Event) {
		if _, ok := e.(coordinator.Moving); ok && !begun {
			begun = true
			for _, n := range w.nodes[:3] { // the coordinator and the next two
				w.leave(n)
			}
		}
	})
	w.join()
	w.traffic()
	if !w.within(30*time.Second, func() bool { return begun }) {
		t.Fatal("no rebalance began")
	}
	if !w.within(time.Minute, func() bool { return w.nodes[0].dead && w.nodes[1].dead && w.nodes[2].dead }) {
		t.Fatal("three nodes did not get away", w.failure)
	}
	w.run(10 * time.Second)
	w.quiet = true
	w.run(time.Second)
	w.mustAnswer(t)
	if open := w.ledger.waiting(); len(open) > 0 {
		t.Errorf("%d messages were not handled, such as %v", len(open), open[0])
	}
	if w.ledger.longest > 15*time.Second {
		t.Errorf("a message waited for %v", w.ledger.longest)
	}
}

func TestSHD05NeverStartedBeforeTheOldOneHasStopped(t *testing.T) {
	t.Parallel()
	w := calm(t, byCoordinator, 3, 12, func(w *world) {
		w.cfg.coordinator.HandOffTimeout = time.Second
		w.cfg.coordinator.RebalanceEvery = time.Second
		w.cfg.region.HandOffTimeout = time.Minute
	})
	w.stopTakes = 5 * time.Second
	w.traffic()
	for range 4 {
		w.join()
		w.run(8 * time.Second) // the ledger fails the world at the first overlap
		w.leave(w.alive()[1])
		w.run(12 * time.Second)
	}
	w.quiet = true
	w.run(10 * time.Second)
	w.mustAnswer(t)
	if w.ledger.seen["moves"] < 20 {
		t.Errorf("only %d moves were tried", w.ledger.seen["moves"])
	}
}

func TestSHD10ShardsGoOnlyToThoseWhoStay(t *testing.T) {
	t.Parallel()
	w := calm(t, byCoordinator, 6, 1000, func(w *world) {
		w.cfg.coordinator.RebalanceEvery = 2 * time.Second
		w.cfg.coordinator.Margin = nil
		w.detect = 500 * time.Millisecond
	})
	w.ledger.strict = false
	given := map[protocol.Epoch]bool{}
	w.given = func(n *node, to member.ID, a protocol.Assignment) {
		m, ok := n.view.Member(to)
		if again := given[a.Epoch]; !again && (!ok || m.Status != member.Up || !n.view.Reachable(to)) {
			w.fail("%s gives %s to %s, %s, reachable %v", n.name, a.Shard, to, m.Status, n.view.Reachable(to))
		}
		given[a.Epoch] = true
	}
	w.traffic()
	for i := range 24 {
		alive := w.alive()
		switch victim := alive[w.rng.IntN(len(alive))]; {
		case i%3 == 0 || len(alive) < 4:
			w.join()
		case i%3 == 1:
			w.leave(victim)
		default:
			w.crash(victim)
		}
		w.run(time.Second)
	}
	w.quiet = true
	w.run(20 * time.Second)
	w.mustAnswer(t)
	if w.ledger.longest > 5*time.Second {
		t.Errorf("a message waited for %v", w.ledger.longest)
	}
}

func TestSHD13RebalanceSettles(t *testing.T) {
	t.Parallel()
	const nodes, shards = 10, 1000
	w := calm(t, byCoordinator, nodes, shards, func(w *world) { w.cfg.coordinator.RebalanceEvery = 10 * time.Second })
	w.run(time.Minute)
	moves := map[string]int{}
	w.watch(func(_ *node, e coordinator.Event) {
		if m, ok := e.(coordinator.Moving); ok {
			moves[m.Home.Shard]++
		}
	})
	w.join()
	w.run(5 * time.Minute)
	w.mustHold(t)
	if least := shards / (nodes + 1); len(moves) < least || len(moves) > least*12/10 {
		t.Errorf("%d shards moved, at least %d had to", len(moves), least)
	}
	for shard, n := range moves {
		if n > 1 {
			t.Errorf("%s moved %d times", shard, n)
		}
	}
	settled := len(moves)
	w.run(5 * time.Minute)
	if len(moves) != settled {
		t.Errorf("%d shards moved on after all was even", len(moves)-settled)
	}
}

// A leave moves a thousand shards in about a second, in few messages.
func TestLeaveMovesAThousandShardsQuickly(t *testing.T) {
	t.Parallel()
	w := calm(t, byCoordinator, 3, 3000, nil)
	leaver := w.nodes[0]
	hosted, before := len(leaver.region.Hosted()), w.ledger.seen["packets"]
	w.leave(leaver)
	if !w.within(10*time.Second, func() bool { return leaver.dead }) {
		t.Fatal("it did not get away", w.failure)
	}
	w.mustHold(t)
	if took := w.ledger.leaves[0]; hosted < 900 || took > 1500*time.Millisecond {
		t.Errorf("%d shards took %v, want a thousand in about a second", hosted, took)
	}
	t.Logf("%d shards in %v and %d packets", hosted, w.ledger.leaves[0], w.ledger.seen["packets"]-before)
}
