package shardsim

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/coordinator"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
	"github.com/troupe-go/troupe/shard/internal/ring"
)

// faults are drawn by a seed; many of them are zero.
type faults struct {
	delay     time.Duration // mean of a control message's way
	tail      float64       // share of messages that take ten times as long
	bulk      time.Duration // mean of a user message's way
	work      time.Duration // the longest that an entity takes for a message
	hang      float64       // share of messages for which it takes seconds
	drop      float64       // share of control messages that are lost
	repeat    float64       // share of control messages that come twice
	gossip    time.Duration // how late a node may hear of a new view
	pause     time.Duration // the longest that a node may stand still
	crash     bool          // nodes die, and live ones are downed
	slow      float64       // share of shards that take longer to stop than they may
	late      float64       // share of nodes that join the type late
	store     time.Duration // mean of the way to the store and of that back
	storeLost float64       // share of answers of the store that are lost
	storeLate float64       // share of requests that the store carries out late
	outage    time.Duration // the longest that the store is away, or a node cut off from it

	full float64 // share of routes whose link has no room for a while
	keep float64 // share of what is queued that a stopping entity leaves to its successor
}

// A world is one run. Everything in it happens in one goroutine, in the order of
// virtual time, ties in the order of scheduling.
type world struct {
	seed  uint64
	rng   *rand.Rand
	start time.Time
	now   time.Time
	queue events
	count uint64

	faults faults // at present
	drawn  faults // by the seed
	mutant mutant
	cfg    settings
	nodes  []*node
	who    authority
	db     *database // nil where there is a coordinator without a store
	shards []string
	views  membership
	ledger ledger

	detect    time.Duration // about how long a death goes unnoticed
	stopTakes time.Duration // every entity; zero for a random short time
	watcher   func(*node, coordinator.Event)

	ringWatcher func(*node, ring.Event)
	given       func(coordinator *node, to member.ID, a protocol.Assignment)

	quiet   bool // nobody tells anybody anything any more
	tracing bool
	trace   []string
	hash    uint64
	failure string
}

type settings struct {
	region      region.Settings
	coordinator coordinator.Settings
	ring        ring.Settings
}

type event struct {
	at   time.Time
	n    uint64
	do   func()
	node *node // zero for the world's own
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at.Before(e[j].at) || e[i].at.Equal(e[j].at) && e[i].n < e[j].n
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// An authority is who decides where shards live.
type authority string

const (
	byCoordinator authority = "coordinator"
	byRing        authority = "ring"
)

func newWorld(who authority, seed uint64, shards int) *world {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w := &world{
		who: who, seed: seed, rng: rand.New(rand.NewPCG(seed, seed)), start: start, now: start,
		faults: faults{delay: time.Millisecond, bulk: time.Millisecond, work: 4 * time.Millisecond, gossip: 5 * time.Millisecond},
		hash:   14695981039346656037,
		detect: 2 * time.Second,
	}
	for i := range shards {
		w.shards = append(w.shards, fmt.Sprint("s", i))
	}
	w.ledger = newLedger(w)
	w.cfg.coordinator = coordinator.Settings{Margin: func(int) time.Duration { return 10 * time.Second }, HandOffTimeout: 4 * time.Second}
	w.cfg.region = region.Settings{HandOffTimeout: 5 * time.Second}
	if who == byRing {
		w.enthrone(shards)
	}
	return w
}

// enthrone makes the world one with a ring. Its shards are known by numbers, and
// one of them by a negative one.
func (w *world) enthrone(shards int) {
	w.db = newDatabase(w)
	for i := range w.shards {
		w.shards[i] = fmt.Sprint(i)
	}
	w.shards[shards-1] = fmt.Sprint(-1)
	w.cfg.ring = ring.Settings{
		Shards: shards, Exists: func(name string) bool { return name == "-1" }, HandOffTimeout: 4 * time.Second,
	}
	w.cfg.region.Own = true
	w.faults.store = time.Millisecond
}

// after schedules the world's own doing, at schedules what happens at a node: not
// if it is dead by then, and not while it stands still.
func (w *world) after(d time.Duration, do func()) { w.push(event{at: w.now.Add(d), do: do}) }

func (w *world) at(n *node, t time.Time, do func()) { w.push(event{at: t, do: do, node: n}) }

func (w *world) push(e event) {
	w.count++
	e.n = w.count
	heap.Push(&w.queue, e)
}

// run lets time pass, until something is wrong.
func (w *world) run(d time.Duration) {
	end := w.now.Add(d)
	for w.failure == "" && len(w.queue) > 0 && !w.queue[0].at.After(end) {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		w.identify(e)
		switch n := e.node; {
		case n == nil:
			e.do()
		case n.dead:
		case w.now.Before(n.pausedUntil):
			w.at(n, n.pausedUntil, e.do)
		default:
			e.do()
		}
	}
	w.now = end
}

// within runs until the condition holds; false if it does not in time.
func (w *world) within(d time.Duration, holds func() bool) bool {
	for end := w.now.Add(d); w.failure == "" && w.now.Before(end); w.run(10 * time.Millisecond) {
		if holds() {
			return true
		}
	}
	return w.failure == "" && holds()
}

func (w *world) fail(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
		w.note("FAILED: %s", w.failure)
	}
}

// note writes a line of the trace, if there is to be one.
func (w *world) note(format string, args ...any) {
	if w.tracing {
		w.trace = append(w.trace, fmt.Sprintf("%10.6f ", w.now.Sub(w.start).Seconds())+fmt.Sprintf(format, args...))
	}
}

// identify makes a number of all that has happened so far.
func (w *world) identify(e event) {
	at := uint64(e.at.Sub(w.start))
	if e.node != nil {
		at ^= uint64(e.node.id.UID) << 48
	}
	w.hash = (w.hash ^ at) * 1099511628211 // FNV-1a by words
}

// report is what a failing seed prints.
func (w *world) report(lines int) string {
	tail := w.trace[max(0, len(w.trace)-lines):]
	return fmt.Sprintf("seed %d by %s: %s\nfaults %+v\n%s\nreplay: go test ./shard/internal/shardsim -run 'TestSeed$/%s' -seed %d",
		w.seed, w.who, w.failure, w.drawn, strings.Join(tail, "\n"), w.who, w.seed)
}

func (w *world) chance(p float64) bool { return p > 0 && w.rng.Float64() < p }

// upTo draws a duration, at least a microsecond so that no two events tie by design.
func (w *world) upTo(d time.Duration) time.Duration {
	return time.Microsecond + time.Duration(w.rng.Int64N(int64(max(d, 1))))
}

func (w *world) node(id member.ID) *node {
	for _, n := range w.nodes {
		if n.id == id {
			return n
		}
	}
	return nil
}

// alive are the nodes that run and are not on their way out.
func (w *world) alive() []*node {
	var alive []*node
	for _, n := range w.nodes {
		if !n.dead && !n.leaving && !n.doomed {
			alive = append(alive, n)
		}
	}
	return alive
}

func (w *world) way(mean time.Duration) time.Duration {
	d := w.upTo(2 * mean)
	if w.chance(w.faults.tail) {
		d *= 10
	}
	return d
}
