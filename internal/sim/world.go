package sim

import (
	"math/rand/v2"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/sbr"
)

// birth is the beginning of time.
var birth = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// World is a cluster in virtual time. All of it runs on the goroutine that
// calls its methods. A check that fails ends the script.
type World struct {
	// Downing gives the resolver's settings to nodes that start from now on.
	Downing func(place int) sbr.Settings
	// Tamper, if set, changes messages on their way, or loses them by
	// returning nil: for planted faults.
	Tamper func(from, to member.ID, m gossip.Message) gossip.Message

	seed    uint64
	trim    Trim
	planned int        // faults
	rand    *rand.Rand // of all that happens by itself
	dice    *rand.Rand // of the current fault
	now     time.Time
	healed  time.Time
	dirty   bool // there was weather beyond what is tolerated
	queue   queue
	net     network
	codec   Codec
	nodes   []*node // by place: the incarnation that was started there last
	places  map[member.Address]int

	badRates  bool    // processes start with clocks that run faster or slower
	badClocks float64 // probability that a process starts with a clock that was set back; never taken back

	second   time.Time                        // the current second
	busy     int                              // steps in it
	versions map[hash]version                 // by the hash of a vector clock
	fallen   map[member.ID]bool               // members that somebody has seen Down or removed
	going    map[member.ID]bool               // members that somebody has seen on their way out
	refused  map[member.ID]map[member.ID]bool // by incarnation: who dialed, and did not find it there
	log      log
	traffic  *traffic // counted if set
	leases   leases
	stats    Stats
}

// Stats tell how much has happened in a world.
type Stats struct {
	Steps    int           // of nodes
	Messages int           // sent
	Faults   int           // of storms
	Virtual  time.Duration // how long the world has existed
	Trace    uint64        // hash over all that happened; equal for equal runs

	rare map[string]int // how often a rare path was taken, by its name; see rare.go
}

func newWorld(seed uint64, codec Codec) *World {
	w := &World{
		Downing:  func(int) sbr.Settings { return sbr.Settings{} },
		seed:     seed,
		rand:     rand.New(rand.NewPCG(seed, 0)),
		now:      birth,
		codec:    codec,
		places:   map[member.Address]int{},
		versions: map[hash]version{},
		fallen:   map[member.ID]bool{},
		going:    map[member.ID]bool{},
		refused:  map[member.ID]map[member.ID]bool{},
		healed:   birth,
		stats:    Stats{rare: map[string]int{}},
	}
	w.dice = w.rand
	w.net.linked = map[pair]bool{}
	w.net.heal()
	return w
}

// Stats are the numbers up to now.
func (w *World) Stats() Stats {
	s := w.stats
	s.Virtual = w.now.Sub(birth)
	return s
}

// Run lets time pass.
func (w *World) Run(d time.Duration) {
	end := w.now.Add(d)
	for {
		at, ok := w.queue.next()
		if !ok || at.After(end) {
			w.now = end
			return
		}
		w.now = at
		switch e := w.queue.pop(); {
		case e.packet != nil:
			w.arrive(e.packet)
		case e.wakes != nil:
			w.woken(e.wakes)
		default:
			e.do()
		}
	}
}

// Eventually lets time pass until the world is as it should be, which goal
// tells by returning nil, and fails when the limit is reached before.
func (w *World) Eventually(limit time.Duration, goal func(*World) error) {
	const step = 100 * time.Millisecond
	for end := w.now.Add(limit); ; w.Run(step) {
		err := goal(w)
		if err == nil {
			return
		}
		if !w.now.Before(end) {
			w.failf("after %v: %v", limit, err)
		}
	}
}

// after plans a change of the world.
func (w *World) after(d time.Duration, do func()) {
	w.queue.push(event{at: w.now.Add(d), do: do})
}

// trace adds to the hash of all that happened.
func (w *World) trace(kind byte, a, b member.ID, data []byte) {
	const prime = 1099511628211 // FNV-1a
	h := w.stats.Trace
	for _, v := range [...]uint64{uint64(kind), uint64(w.now.Sub(birth)), uint64(a.UID), uint64(b.UID)} {
		h = (h ^ v) * prime
	}
	for _, c := range data {
		h = (h ^ uint64(c)) * prime
	}
	w.stats.Trace = h
}
