package shardsim

import (
	"flag"
	"fmt"
	"testing"
	"time"
)

var (
	seeds = flag.Uint64("seeds", 200, "how many seeds to run")
	first = flag.Uint64("first", 1, "the first seed")
	seed  = flag.Uint64("seed", 0, "the one seed of TestSeed")
	lines = flag.Int("lines", 60, "how much of the trace of a failing seed to print")
)

// TestSeeds runs storms and checks that no shard ever has two hosts, that epochs
// only grow, that nothing is handled twice, that without crashes nothing is lost
// and, where the network keeps its order, each sender's order holds; and that
// afterwards every shard answers every node.
func TestSeeds(t *testing.T) {
	t.Parallel()
	var virtual time.Duration
	seen := map[string]int{}
	began := time.Now()
	for s := *first; s < *first+*seeds; s++ {
		w := play(s, none, false)
		virtual += w.now.Sub(w.start)
		for what, n := range w.ledger.seen {
			seen[what] += n
		}
		if w.failure != "" {
			t.Fatal(play(s, none, true).report(*lines))
		}
	}
	took := max(time.Since(began), time.Millisecond)
	t.Logf("%d seeds, %.0f virtual seconds, %.0f:1, %.0f seeds/s",
		*seeds, virtual.Seconds(), virtual.Seconds()/took.Seconds(), float64(*seeds)/took.Seconds())
	t.Logf("in all %v", seen)
	for _, what := range []string{
		"astray", "kept", "ahead", "slow", "superseded", "markers missing", "carry missing",
		"absent", "joins", "leaves", "crashes", "mistakes", "pauses",
	} {
		if seen[what] == 0 && *seeds >= 200 {
			t.Errorf("no run has seen: %s", what)
		}
	}
}

// TestSeed replays one seed: twice, for a run must repeat itself exactly.
func TestSeed(t *testing.T) {
	one, two := play(*seed, none, true), play(*seed, none, false)
	if one.hash != two.hash {
		t.Errorf("seed %d: two runs differ: %x and %x", *seed, one.hash, two.hash)
	}
	if one.failure != "" {
		t.Fatal(one.report(*lines))
	}
	t.Logf("seed %d: %+v\n%+v", *seed, one.drawn, one.ledger.seen)
}

// TestMutants proves that the checks see what they are for.
func TestMutants(t *testing.T) {
	t.Parallel()
	for _, m := range []mutant{hostSkipsMarkers, hostSkipsCarry, obeysAnyTerm, asksNobody, skipsMargin, trustsHandOff} {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			for s := *first; s < *first+1000; s++ {
				if w := play(s, m, false); w.failure != "" {
					t.Logf("caught by seed %d: %s", s, w.failure)
					return
				}
			}
			t.Error("not caught by 1000 seeds")
		})
	}
}

// play is one seed: a cluster forms, lives through a storm, and must be whole
// again when it is over.
func play(seed uint64, m mutant, tracing bool) *world {
	w := newWorld(seed, 6)
	w.mutant, w.tracing = m, tracing
	w.cfg.coordinator.Role, w.cfg.region.Role = "host", "host"
	w.cfg.coordinator.RebalanceEvery = 2 * time.Second
	if m == skipsMargin {
		w.cfg.coordinator.Margin = nil
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
	w.drawn = *f
	w.note("faults %+v strict %v", *f, w.ledger.strict)
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
	w.faults = faults{delay: time.Millisecond, bulk: time.Millisecond, work: 4 * time.Millisecond, gossip: 5 * time.Millisecond}
	w.run(5 * time.Second)
	w.quiet = true
	w.run(40 * time.Second)
	if waiting := w.ledger.waiting(); len(waiting) > 0 && !w.lossy() {
		w.fail("%d of %d messages were never handled, first %v: %s", len(waiting), w.ledger.seen["accepted"], waiting[0], w.why(waiting[0].shard))
	}
	w.probe()
}

// lossy: nodes died, and what they or their links held died with them; or a host
// that left had stopped waiting for what was still on its way to it.
func (w *world) lossy() bool {
	if w.ledger.seen["markers missing"]+w.ledger.seen["ahead"] > 0 {
		return true
	}
	for _, n := range w.nodes {
		if n.dead && !n.leaving {
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
			text += fmt.Sprintf("\n%s registered %v with %s: %v; coordinator: %v", n.name, n.region.Registered(), n.region.Coordinator(), n.region.Why(shard), n.coordinator.Why(shard))
		}
	}
	return text
}
