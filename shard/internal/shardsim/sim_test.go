package shardsim

import (
	"flag"
	"fmt"
	"runtime/debug"
	"testing"
	"time"
)

var (
	seeds = flag.Uint64("seeds", 1000, "how many seeds to run by each authority")
	first = flag.Uint64("first", 1, "the first seed")
	seed  = flag.Uint64("seed", 0, "the one seed of TestSeed")
	lines = flag.Int("lines", 60, "how much of the trace of a failing seed to print")
)

// TestMain has the garbage collected less often: worlds are small and short.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	m.Run()
}

// TestSeeds runs storms and checks that no shard ever has two hosts that may act,
// that epochs only grow, that nothing is handled twice, or by an owner who has a
// successor, that without crashes nothing is lost and, where the network keeps its
// order, each sender's order holds; and that afterwards every shard answers every
// node.
func TestSeeds(t *testing.T) {
	t.Parallel()
	for who, wanted := range map[authority][]string{
		byCoordinator: {"superseded", "unraised"},
		byRing:        {"away", "refused", "unseated", "outages"},
	} {
		t.Run(string(who), func(t *testing.T) {
			t.Parallel()
			playAll(t, who, append(wanted, "astray", "kept", "ahead", "slow", "markers missing", "carry missing",
				"absent", "joins", "leaves", "crashes", "mistakes", "pauses"))
		})
	}
}

func playAll(t *testing.T, who authority, wanted []string) {
	count := max(1, *seeds/slowdown)
	if testing.Short() {
		count = min(count, 200)
	}
	var virtual time.Duration
	seen := map[string]int{}
	began := time.Now()
	for s := *first; s < *first+count; s++ {
		w := play(who, s, none, false)
		virtual += w.now.Sub(w.start)
		for what, n := range w.ledger.seen {
			seen[what] += n
		}
		if w.failure != "" {
			t.Fatal(play(who, s, none, true).report(*lines))
		}
	}
	took := max(time.Since(began), time.Millisecond)
	t.Logf("%d seeds, %.0f virtual seconds, %.0f:1, %.0f seeds/s",
		count, virtual.Seconds(), virtual.Seconds()/took.Seconds(), float64(count)/took.Seconds())
	t.Logf("in all %v", seen)
	for _, what := range wanted {
		if seen[what] == 0 && count >= 200 {
			t.Errorf("no run has seen: %s", what)
		}
	}
}

// TestSeed replays one seed: twice, for a run must repeat itself exactly.
func TestSeed(t *testing.T) {
	for _, who := range []authority{byCoordinator, byRing} {
		t.Run(string(who), func(t *testing.T) {
			one, two := play(who, *seed, none, true), play(who, *seed, none, false)
			if one.hash != two.hash {
				t.Errorf("seed %d: two runs differ: %x and %x", *seed, one.hash, two.hash)
			}
			if one.failure != "" {
				t.Fatal(one.report(*lines))
			}
			t.Logf("seed %d: %+v\n%+v", *seed, one.drawn, one.ledger.seen)
		})
	}
}

// TestMutants proves that the checks see what they are for.
func TestMutants(t *testing.T) {
	t.Parallel()
	for who, mutants := range map[authority][]mutant{
		byCoordinator: {hostSkipsMarkers, hostSkipsCarry, obeysAnyTerm, asksNobody, skipsMargin, trustsHandOff},
		byRing: {
			hostSkipsMarkers, hostSkipsCarry, trustsHandOff, gateLeftOpen, outlivesSeat, countsFromAnswer,
			epochNotRaised, givesByName, forgetsAudience, believesReleased,
		},
	} {
		for _, m := range mutants {
			t.Run(string(who)+"/"+string(m), func(t *testing.T) {
				t.Parallel()
				for s := *first; s < *first+1000; s++ {
					if w := play(who, s, m, false); w.failure != "" {
						t.Logf("caught by seed %d: %s", s, w.failure)
						return
					}
				}
				t.Error("not caught by 1000 seeds")
			})
		}
	}
}

// play is one seed: a cluster forms, lives through a storm, and must be whole
// again when it is over.
func play(who authority, seed uint64, m mutant, tracing bool) *world {
	w := newWorld(who, seed, 6)
	w.mutant, w.tracing = m, tracing
	w.cfg.coordinator.Role, w.cfg.region.Role, w.cfg.ring.Role = "host", "host", "host"
	w.cfg.coordinator.RebalanceEvery = 2 * time.Second
	if m == skipsMargin {
		w.cfg.coordinator.Margin = nil
	}
	if who == byCoordinator && w.chance(0.5) {
		w.db, w.cfg.coordinator.Stored = newDatabase(w), true
	}
	w.drawFaults()
	if !w.ledger.strict && w.chance(0.5) {
		w.cfg.region.MarkTimeout, w.cfg.region.CarryTimeout = 100*time.Millisecond, 100*time.Millisecond
	}
	for range 2 + w.rng.IntN(3) {
		w.join("host")
	}
	if w.chance(0.5) {
		w.join("edge")
	}
	w.traffic()
	w.run(3 * time.Second)
	w.storm(25 * time.Second)
	w.heal()
	return w
}

func (w *world) drawFaults() {
	between := func(low, high time.Duration) time.Duration { return low + w.upTo(high-low) }
	some := func(p, most float64) float64 {
		if w.chance(p) {
			return most * w.rng.Float64()
		}
		return 0
	}
	f := &w.faults
	f.delay = between(200*time.Microsecond, 20*time.Millisecond)
	if f.bulk = f.delay; w.chance(0.5) {
		f.bulk = between(time.Millisecond, 200*time.Millisecond)
	}
	if f.work = 4 * time.Millisecond; w.chance(0.4) {
		f.work = between(10*time.Millisecond, 200*time.Millisecond)
	}
	f.gossip = between(5*time.Millisecond, 2*time.Second)
	f.tail, f.drop, f.repeat = some(0.5, 0.05), some(0.4, 0.2), some(0.4, 0.2)
	f.slow, f.keep, f.full = some(0.3, 0.3), some(0.6, 1), some(0.4, 0.8)
	f.late = some(0.4, 1)
	if w.chance(0.4) {
		f.pause = between(10*time.Millisecond, 1500*time.Millisecond)
	}
	f.crash = w.chance(0.4)
	w.ledger.strict = !f.crash && !f.reorders()
	if w.db != nil {
		f.store = between(200*time.Microsecond, 10*time.Millisecond)
		if w.chance(0.2) {
			f.store = between(10*time.Millisecond, 200*time.Millisecond)
		}
		f.storeLost, f.storeLate = some(0.4, 0.2), some(0.3, 0.1)
		if w.chance(0.4) {
			f.outage = between(500*time.Millisecond, 8*time.Second)
			w.cfg.coordinator.RaiseWithin = between(100*time.Millisecond, 5*time.Second)
		}
	}
	if w.who == byRing {
		w.drawSeats(between, some)
	}
	w.drawn = *f
	w.note("faults %+v strict %v", *f, w.ledger.strict)
}

// drawSeats draws what makes nodes lose their seats. What the shards of those had
// comes to their next homes as it can.
func (w *world) drawSeats(between func(low, high time.Duration) time.Duration, some func(p, most float64) float64) {
	f := &w.faults
	f.hang = some(0.3, 0.01)
	sleeps := f.pause > 0 && w.chance(0.5) // for longer than a seat lasts
	if sleeps {
		f.pause = between(time.Second, 8*time.Second)
	}
	w.ledger.strict = w.ledger.strict && f.storeLost == 0 && f.storeLate == 0 && f.outage == 0 && !sleeps
	w.cfg.ring.Lazy = w.chance(0.3)
}

// traffic lets everybody tell everybody, until the faults are over.
func (w *world) traffic() {
	var next func()
	next = func() {
		if w.quiet {
			return
		}
		if n := w.nodes[w.rng.IntN(len(w.nodes))]; n.joined && !n.dead && !n.doomed && !n.left && !w.now.Before(n.pausedUntil) {
			n.tell(w.shards[w.rng.IntN(len(w.shards))])
		}
		w.after(w.upTo(40*time.Millisecond), next)
	}
	w.after(time.Millisecond, next)
}

func (w *world) storm(d time.Duration) {
	for end := w.now.Add(d); w.failure == "" && w.now.Before(end); w.run(w.upTo(4 * time.Second)) {
		alive := w.alive()
		n := alive[w.rng.IntN(len(alive))]
		switch what := w.rng.IntN(8); {
		case what < 3 && len(w.nodes) < 12:
			w.join("host")
			w.ledger.seen["joins"]++
		case what < 5 && len(alive) > 3:
			w.leave(n)
			w.ledger.seen["leaves"]++
		case what == 5 && w.faults.crash && len(alive) > 3:
			w.crash(n)
			w.ledger.seen["crashes"]++
		case what == 6 && w.faults.crash && len(alive) > 3:
			w.mistake(n)
			w.ledger.seen["mistakes"]++
		case what == 7 && w.faults.outage > 0 && w.chance(0.5):
			w.db.away = w.now.Add(w.upTo(w.faults.outage))
			w.note("the store is away")
			w.ledger.seen["outages"]++
		case what >= 5 && w.faults.outage > 0:
			n.cutOff = w.now.Add(w.upTo(w.faults.outage))
			w.note("%s is cut off from the store", n.name)
			w.ledger.seen["outages"]++
		case w.faults.pause > 0 && !w.now.Before(n.pausedUntil):
			n.pausedUntil = w.now.Add(w.upTo(w.faults.pause))
			w.note("%s stands still", n.name)
			w.ledger.seen["pauses"]++
		}
	}
}

// heal ends the faults. What had begun may take its time: margins, time-outs of
// entities. Then every node must get an answer from every shard.
func (w *world) heal() {
	w.note("faults end")
	w.faults = faults{
		delay: time.Millisecond, bulk: time.Millisecond, work: 4 * time.Millisecond,
		gossip: 5 * time.Millisecond, store: time.Millisecond,
	}
	w.run(5 * time.Second)
	w.quiet = true
	w.run(40 * time.Second)
	if waiting := w.ledger.waiting(); len(waiting) > 0 && !w.lossy() {
		w.fail("%d of %d messages were never handled, first %v: %s", len(waiting), w.ledger.seen["accepted"], waiting[0], w.why(waiting[0].shard))
	}
	w.probe()
}

// lossy: nodes died, and what they or their links held died with them; or a host
// that left had stopped waiting for what was still on its way to it, or could not
// wait, because it had lost its seat.
func (w *world) lossy() bool {
	if w.ledger.seen["markers missing"]+w.ledger.seen["ahead"] > 0 {
		return true
	}
	for _, n := range w.nodes {
		if n.dead && (!n.leaving || n.unseated) {
			return true
		}
	}
	return false
}

func (w *world) probe() {
	const within = time.Second
	var probes []message
	for _, n := range w.alive() {
		for _, shard := range w.shards {
			probes = append(probes, n.tell(shard))
		}
	}
	var open *message
	if !w.within(within, func() bool {
		open = nil
		for _, p := range probes {
			if _, ok := w.ledger.open[p]; ok {
				open = &p
				return false
			}
		}
		return true
	}) && open != nil {
		w.fail("%v has no answer after %v: %s", *open, within, w.why(open.shard))
	}
}

// why asks all that run what a shard waits for.
func (w *world) why(shard string) string {
	text := ""
	for _, n := range w.nodes {
		if !n.dead {
			text += fmt.Sprintf("\n%s registered %v with %s: %v; authority: %v", n.name, n.region.Registered(), n.region.Coordinator(), n.region.Why(shard), n.why(shard))
		}
	}
	return text
}
