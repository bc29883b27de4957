package sim

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/sbr"
)

var (
	seedFlag    = flag.Uint64("seed", 0, "run this seed only, and tell the story")
	fromFlag    = flag.Uint64("from", 1, "the first seed of those to run")
	wholeFlag   = flag.Bool("whole", false, "do not shrink a world that fails")
	seedsFlag   = flag.Int("seeds", usual, "seeds of the main storm; the other tests run their share of them")
	withoutFlag = flag.String("without", "", "leave `these` out, as a report says: numbers of faults, weather, clocks, node; separated by commas")
)

// usual is how many seeds the main storm runs when nobody asks for more.
const usual = 1600

// seeds are the first n, or what the flags want instead.
func seeds(n int) []uint64 {
	if *seedFlag > 0 {
		return []uint64{*seedFlag}
	}
	all := Seeds(max(1, n**seedsFlag/usual/slowdown))
	return all[min(len(all), max(1, int(*fromFlag)))-1:]
}

// storms is Run with a line about how much that was.
func storms(t *testing.T, seeds []uint64, script func(*World)) Stats {
	t.Helper()
	var trim Trim
	if *withoutFlag != "" {
		trim = strings.Split(*withoutFlag, ",")
	}
	start := time.Now()
	sum := run(t, seeds, options{trim: trim, whole: *wholeFlag}, func(w *World) {
		if *seedFlag > 0 {
			w.log.tell = func(line string) { t.Log(line) }
		}
		script(w)
	})
	took := time.Since(start)
	t.Logf("%d seeds (%.0f a second): %d faults, %d steps (%.0f a second), %d messages, %v of virtual time (%.0f:1)",
		len(seeds), float64(len(seeds))/took.Seconds(), sum.Faults, sum.Steps, float64(sum.Steps)/took.Seconds(),
		sum.Messages, sum.Virtual.Round(time.Second), sum.Virtual.Seconds()/took.Seconds())
	return sum
}

func settings(s sbr.Settings) func(int) sbr.Settings {
	return func(int) sbr.Settings { return s }
}

// strategies are what storms draw from; the default more often than the others.
var strategies = []sbr.Strategy{
	sbr.KeepMajority{},
	sbr.KeepMajority{},
	sbr.KeepMajority{},
	sbr.StaticQuorum{Size: 4},
	sbr.KeepOldest{DownIfAlone: true},
	sbr.DownAll{},
	sbr.LeaseMajority{AcquireDelay: 2 * time.Second},
}

// choose draws how the resolvers decide and how the clocks run.
func choose(w *World) {
	strategy := strategies[w.rand.IntN(len(strategies))]
	w.Downing = settings(sbr.Settings{Strategy: strategy})
	w.faultf("resolvers use %s", strategy.Name())
	w.badRates = w.chance(0.2) && !w.without("clocks")
}

// storm is the usual script.
func storm(w *World) {
	choose(w)
	rage(w)
}

// rage has a cluster of 3 to 7 nodes form, by its first one or by all at once,
// anything fail for a minute, and the world heal. At the end one link goes bad for
// good, now and then.
func rage(w *World) {
	start := w.Start
	if w.chance(0.2) {
		start = w.startAtOnce
	}
	start(w.fewer(3 + w.rand.IntN(5)))
	w.Eventually(time.Minute, Converged)
	w.Storm(time.Minute)
	w.Heal()
	w.Eventually(2*time.Minute, Converged)
	if w.chance(0.1) {
		w.badLink()
	}
}

// badLink cuts a link for good, in one direction or both, while all else is well:
// who are left reach each other.
func (w *World) badLink() {
	a, b, ok := w.pair()
	if !ok {
		return
	}
	w.faultf("nothing gets from %s to %s any more", a, b)
	w.cutFor(time.Hour, a, b)
	if w.chance(0.5) {
		w.cutFor(time.Hour, b, a)
	}
	w.Run(time.Minute)
	if err := w.oneSide(); err != nil {
		w.failf("%v", err)
	}
}

func TestStorm(t *testing.T) {
	sum := storms(t, seeds(usual), storm)
	if *seedFlag != 0 {
		return
	}
	for _, what := range rare {
		if sum.rare[what] == 0 && slowdown == 1 {
			t.Errorf("no storm has seen this, which is what it is for: %s", what)
		}
	}
	t.Logf("rare paths: %v", sum.rare)
}

// A storm over a cluster that is still forming.
func TestStormWhileForming(t *testing.T) {
	storms(t, seeds(usual/4), func(w *World) {
		choose(w)
		w.Start(w.fewer(3 + w.rand.IntN(5)))
		w.Storm(30 * time.Second)
		w.Heal()
		w.Eventually(2*time.Minute, Converged)
	})
}

func TestHundredNodes(t *testing.T) {
	const (
		size = 100 / min(2, slowdown)
		lost = size * 2 / 5
	)
	storms(t, Seeds(1), func(w *World) {
		w.Start(size)
		w.Eventually(2*time.Minute, Converged)
		w.SetWeather(Weather{Drop: 0.1, Duplicate: 0.2, Delay: 30 * time.Millisecond, Tail: 0.01})
		w.Run(20 * time.Second)
		w.Partition(time.Minute, span(0, lost), span(lost, size))
		w.Run(time.Minute)
		w.Heal()
		w.Eventually(2*time.Minute, Converged)
		if n := len(w.members()); n != size-lost {
			w.failf("%d nodes are left, want the %d of the larger side", n, size-lost)
		}
	})
}

// members are the places of the nodes that run as members.
func (w *World) members() []int {
	var places []int
	for _, n := range w.nodes {
		if n.isMember() {
			places = append(places, n.place)
		}
	}
	return places
}

func TestPartitionLeavesOneSide(t *testing.T) {
	tests := []struct {
		strategy sbr.Strategy
		sides    [][]int
		want     []int // who is left
	}{
		{sbr.KeepMajority{}, [][]int{{0, 1}, {2, 3, 4}}, []int{2, 3, 4}},
		{sbr.KeepMajority{}, [][]int{{1, 2}, {0, 3}}, []int{0, 3}},
		{sbr.KeepMajority{}, [][]int{{0, 1}, {2, 3}, {4}}, nil},
		{sbr.StaticQuorum{Size: 3}, [][]int{{0, 1}, {2, 3, 4}}, []int{2, 3, 4}},
		{sbr.StaticQuorum{Size: 3}, [][]int{{0, 1}, {2, 3}}, nil},
		{sbr.KeepOldest{}, [][]int{{0, 1}, {2, 3, 4}}, []int{0, 1}},
		{sbr.KeepOldest{DownIfAlone: true}, [][]int{{0}, {1, 2}}, []int{1, 2}},
		{sbr.DownAll{}, [][]int{{0}, {1, 2}}, nil},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %v", tt.strategy.Name(), tt.sides), func(t *testing.T) {
			storms(t, Seeds(5), func(w *World) {
				w.Downing = settings(sbr.Settings{Strategy: tt.strategy})
				w.Start(len(slices.Concat(tt.sides...)))
				w.Eventually(time.Minute, Converged)
				w.Partition(time.Hour, tt.sides...)
				w.Run(time.Minute)
				if got := w.members(); !slices.Equal(got, tt.want) {
					w.failf("%v are left, want %v", got, tt.want)
				}
			})
		})
	}
}

// Weather and pauses that the settings claim to tolerate cost nobody its place.
func TestToleratedFaultsDownNobody(t *testing.T) {
	storms(t, seeds(20), func(w *World) {
		const size = 5
		w.Start(size)
		w.Eventually(time.Minute, Converged)
		w.SetWeather(Weather{Drop: 0.05, Duplicate: 0.1, Delay: 20 * time.Millisecond})
		for range 10 {
			w.Run(w.between(5*time.Second, 30*time.Second))
			n, _ := w.some()
			n.pausedUntil = w.now.Add(w.between(100*time.Millisecond, 2500*time.Millisecond))
		}
		if got := len(w.members()); got != size {
			w.failf("only %d of %d are left", got, size)
		}
	})
}

func TestSeedsAreReproducible(t *testing.T) {
	trace := func(seed uint64) uint64 { return Run(t, []uint64{seed}, storm).Trace }
	for _, seed := range Seeds(5) {
		if first, second := trace(seed), trace(seed); first != second {
			t.Errorf("seed %d: trace %x, then %x", seed, first, second)
		}
	}
	if trace(1) == trace(2) {
		t.Error("seeds 1 and 2 play the same")
	}
}

func TestFailureTellsTheStory(t *testing.T) {
	codec, err := CBOR()
	if err != nil {
		t.Fatal(err)
	}
	report := play(newWorld(7, codec), func(w *World) {
		w.Start(3)
		w.Run(10 * time.Second)
		w.Partition(time.Minute, []int{0}, []int{1, 2})
		w.faultf("partition of one")
		w.Run(30 * time.Second)
		w.failf("planted")
	})
	for _, want := range []string{"seed 7", "planted", "partition of one", "unreachable", "decides", "downs: n000"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
}
