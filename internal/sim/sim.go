// Package sim runs whole clusters of membership cores in virtual time, from a
// seed: hours in seconds, a hundred nodes on one goroutine, with a network and
// machines that fail in every way that real ones do.
//
// A script first lets anything fail while safety is checked after each step,
// then heals the world and waits for progress:
//
//	sim.Run(t, sim.Seeds(200), func(w *sim.World) {
//		w.Start(5)
//		w.Storm(time.Minute)
//		w.Heal()
//		w.Eventually(time.Minute, sim.Converged)
//	})
//
// Everything in a world is drawn from its seed, and nothing depends on the
// machine, on maps or on scheduling: a seed that fails fails again, step by
// step. Messages travel encoded, as on the wire; in large worlds, each
// tenth does.
//
// Checked after each step, on the node that made it:
//   - a member that a node has seen removed never comes back there, and no
//     status and no up-number goes back;
//   - never two members at one address, and never does an incarnation give way
//     to one that was started before it, unless machines set their clocks back;
//   - the leader is a reachable member that is not Down, and not Exiting while
//     anybody else can lead;
//   - who lets members come up does so when all who are Up and reachable have seen
//     the version before;
//   - the same vector clock stands for the same members on all nodes, but for
//     those that are on their way out;
//   - of two running members never both have given the other up (downed or
//     removed it) for longer than 20 s: there are never two clusters that each
//     think they survived. (For a moment there may seem to be, when decisions
//     cross and the news of being down is still on its way.);
//   - the core itself never panics, asks for nothing in the past without end,
//     and sends nothing that cannot travel.
package sim

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Seeds are the first n seeds.
func Seeds(n int) []uint64 {
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = uint64(i) + 1
	}
	return seeds
}

// Run plays a script in a world of its own for each seed, and stops at the
// first that fails, with a report that says what failed, what had gone wrong in
// that world before, and how to play it again with as little trouble as it needs
// to fail. It returns the sum of what happened in all worlds.
func Run(t testing.TB, seeds []uint64, script func(w *World)) Stats {
	t.Helper()
	return run(t, seeds, options{}, script)
}

// options of a run.
type options struct {
	trim  Trim // what all worlds are played without
	whole bool // a world that fails is not shrunk
}

// run plays worlds on as many goroutines as there are processors; each world
// keeps to one.
func run(t testing.TB, seeds []uint64, o options, script func(w *World)) Stats {
	t.Helper()
	codec, err := CBOR()
	if err != nil {
		t.Fatal(err)
	}
	var (
		next  atomic.Int64
		mu    sync.Mutex
		sum   = Stats{rare: map[string]int{}}
		found failed
	)
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(seeds); i = int(next.Add(1)) - 1 {
			w := newWorld(seeds[i], codec)
			w.trim = o.trim
			report := play(w, script)
			mu.Lock()
			sum = sum.add(w.Stats())
			if report != "" && (found.world == nil || i < found.index) {
				found = failed{i, w, report}
				next.Store(int64(len(seeds)))
			}
			mu.Unlock()
		}
	}
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(seeds)) {
		workers.Go(work)
	}
	workers.Wait()
	if found.world != nil {
		t.Fatal(explain(t.Name(), found, o, codec, script))
	}
	return sum
}

// failed is a world that broke an invariant.
type failed struct {
	index  int // of its seed
	world  *World
	report string
}

// explain is the report of the shortest world that still fails in its place.
func explain(test string, f failed, o options, codec Codec, script func(w *World)) string {
	w, report, trim := f.world, f.report, slices.Clone(o.trim)
	if len(trim) == 0 && !o.whole {
		trim = shrink(func(shorter Trim) bool {
			again := newWorld(w.seed, codec)
			again.trim = shorter
			shorterReport := play(again, script)
			if shorterReport != "" {
				report = shorterReport
			}
			return shorterReport != ""
		}, w.planned)
	}
	command := fmt.Sprintf("go test ./internal/sim -run '^%s$' -seed %d -v", regexp.QuoteMeta(test), w.seed)
	if len(trim) > 0 {
		command += " -without " + strings.Join(trim, ",")
	}
	return report + "replay: " + command
}

// play runs a script; a failed check, or a panic in a core, becomes a report.
func play(w *World, script func(*World)) (report string) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			report = w.report(r.text)
		default:
			report = w.report(fmt.Sprintf("panic: %v\n%s", r, debug.Stack()))
		}
	}()
	script(w)
	return ""
}

func (s Stats) add(o Stats) Stats {
	for what, times := range o.rare { // any order: it adds up
		s.rare[what] += times
	}
	return Stats{
		Steps:    s.Steps + o.Steps,
		Messages: s.Messages + o.Messages,
		Faults:   s.Faults + o.Faults,
		Virtual:  s.Virtual + o.Virtual,
		Trace:    uint64(hash(s.Trace).add(o.Trace)),
		rare:     s.rare,
	}
}
