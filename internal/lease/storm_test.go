package lease

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// A world has several machines, and a store with one lease. Requests and answers
// take their time or are lost, clocks run at different rates, and processes
// pause. Moments are durations of true time since the start.
type world struct {
	r        *rand.Rand
	cfg      Config
	now      time.Duration
	queue    agenda
	seq      int
	rate     float64 // of the store's clock
	owner    int     // -1: nobody
	token    uint64
	ends     time.Duration // on the store's clock
	nodes    []*node
	calm     bool
	grants   int
	losses   int
	held     uint64 // highest token that a machine held
	breached string
}

type node struct {
	*Machine
	at     int
	rate   float64
	paused time.Duration // until then
	asked  int           // numbers the requests; answers to an older one are ignored
	wake   time.Duration
}

func newWorld(seed uint64, cfg Config) *world {
	w := &world{r: rand.New(rand.NewPCG(seed, 7)), cfg: cfg, owner: -1}
	w.rate = 0.95 + w.r.Float64()/10
	for i := range 3 {
		w.nodes = append(w.nodes, &node{Machine: New(cfg), at: i, rate: 0.95 + w.r.Float64()/10})
	}
	return w
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func scale(d time.Duration, rate float64) time.Duration { return time.Duration(float64(d) * rate) }

func (n *node) clock(now time.Duration) time.Time { return start.Add(scale(now, n.rate)) }

// valid is what store.Lease.Held answers, which steps nothing.
func (n *node) valid(now time.Duration) bool {
	_, until, held := n.Holding()
	return held && n.clock(now).Before(until)
}

// after has f run when d of true time has passed.
func (w *world) after(d time.Duration, f func()) {
	w.seq++
	heap.Push(&w.queue, item{at: w.now + d, seq: w.seq, do: f})
}

// step feeds a machine, later if its process is paused.
func (w *world) step(n *node, in Input) {
	if w.now < n.paused {
		w.after(n.paused-w.now, func() { w.step(n, in) })
		return
	}
	out := n.Step(n.clock(w.now), in)
	for _, e := range out.Events {
		switch e := e.(type) {
		case Held:
			w.grants++
			if e.Token < w.held {
				w.breach("node %d holds token %d after %d was held", n.at, e.Token, w.held)
			}
			w.held = e.Token
		case Lost:
			w.losses++
		case Denied:
		}
	}
	if out.Do != nil {
		w.request(n, *out.Do)
	}
	if !out.Wake.IsZero() {
		wake := scale(out.Wake.Sub(start), 1/n.rate) + time.Microsecond
		n.wake = wake
		w.after(max(wake-w.now, 0), func() {
			if n.wake == wake { // else it was set anew
				w.step(n, Tick{})
			}
		})
	}
}

// request sends one request to the store and ends it by its deadline.
func (w *world) request(n *node, r Request) {
	n.asked++
	asked := n.asked
	answer := func(a Answer) {
		if n.asked == asked {
			n.asked++
			w.step(n, a)
		}
	}
	deadline := scale(r.Deadline.Sub(start), 1/n.rate) - w.now
	w.after(deadline, func() { answer(Answer{Cause: fmt.Errorf("no answer to %v", r.Op)}) })
	if w.lost() {
		return
	}
	w.after(w.delay(), func() {
		a := w.serve(n, r)
		if !w.lost() {
			w.after(w.delay(), func() { answer(a) })
		}
	})
}

func (w *world) lost() bool { return !w.calm && w.r.IntN(5) == 0 }

func (w *world) delay() time.Duration {
	switch {
	case w.calm || w.r.IntN(3) > 0:
		return time.Duration(w.r.Int64N(int64(10 * time.Millisecond)))
	case w.r.IntN(2) == 0: // just in time, or just not
		return time.Duration(w.r.Int64N(int64(w.cfg.Try)))
	default: // well beyond every deadline
		return time.Duration(w.r.Int64N(int64(2 * w.cfg.TTL)))
	}
}

// serve is the store, as store.Leases describes it.
func (w *world) serve(n *node, r Request) Answer {
	clock := scale(w.now, w.rate)
	if clock >= w.ends {
		w.owner = -1
	}
	mine := w.owner == n.at
	granted := func() Answer { return Answer{Outcome: Granted, Token: w.token, Left: w.ends - clock} }
	switch {
	case r.Op == Acquire && w.owner == -1:
		w.owner, w.ends = n.at, clock+w.cfg.TTL
		w.token++
		return granted()
	case r.Op == Acquire && mine, r.Op == Read && mine:
		return granted()
	case r.Op == Renew && mine && r.Token == w.token:
		w.ends = clock + w.cfg.TTL
		return granted()
	case r.Op == Release:
		if mine && r.Token == w.token {
			w.owner = -1
		}
		return Answer{Outcome: Granted}
	default:
		return Answer{Outcome: Refused, Cause: fmt.Errorf("%v refused", r.Op)}
	}
}

func (w *world) breach(format string, args ...any) {
	if w.breached == "" {
		w.breached = fmt.Sprintf("at %v: ", w.now) + fmt.Sprintf(format, args...)
	}
}

// run lets the world go on for d.
func (w *world) run(d time.Duration) {
	end := w.now + d
	for len(w.queue) > 0 && w.queue[0].at <= end && w.breached == "" {
		it := heap.Pop(&w.queue).(item)
		w.check(it.at) // just before: nothing has changed until then
		w.now = it.at
		it.do()
		w.check(w.now)
	}
	w.now = end
}

func (w *world) check(now time.Duration) {
	holders := 0
	for _, n := range w.nodes {
		if n.valid(now) {
			holders++
		}
	}
	if holders > 1 {
		w.breach("%d machines hold the lease", holders)
	}
}

// whims has each user want and drop the lease, and each process pause, at random.
func (w *world) whims() {
	if w.calm {
		return
	}
	n := w.nodes[w.r.IntN(len(w.nodes))]
	switch w.r.IntN(8) {
	case 0, 1, 2, 3:
		w.step(n, Want{})
	case 4, 5:
		w.step(n, Drop{})
	case 6:
		n.paused = max(n.paused, w.now+time.Duration(w.r.Int64N(int64(3*w.cfg.TTL))))
	}
	w.after(time.Duration(w.r.Int64N(int64(w.cfg.TTL/4))), w.whims)
}

type item struct {
	at  time.Duration
	seq int
	do  func()
}

type agenda []item

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].seq < a[j].seq
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(item)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

var usual = Config{TTL: 10 * time.Second, Renew: 2 * time.Second, Try: 2 * time.Second, Margin: 1250 * time.Millisecond}

// TestDWN02StormsOfLostAndLateAnswers: whatever is lost, late or paused, there
// are never two holders, tokens only grow, and when the storm is over the lease
// is to be had again.
func TestDWN02StormsOfLostAndLateAnswers(t *testing.T) {
	grants, losses := 0, 0
	for seed := range uint64(1000) {
		w := newWorld(seed, usual)
		w.whims()
		w.run(2 * time.Minute)
		grants, losses = grants+w.grants, losses+w.losses
		w.calm = true
		w.run(4 * usual.TTL) // pauses are over
		for _, n := range w.nodes {
			w.step(n, Drop{})
		}
		w.run(10 * usual.TTL) // orphans and late requests too
		for _, n := range w.nodes {
			if !n.Settled() {
				w.breach("node %d is not settled in calm: %+v", n.at, *n.Machine)
			}
		}
		w.step(w.nodes[0], Want{})
		w.run(time.Second)
		if w.breached == "" && !w.nodes[0].valid(w.now) {
			w.breach("the lease is not to be had in calm: %+v", *w.nodes[0].Machine)
		}
		if w.breached != "" {
			t.Fatalf("seed %d: %s", seed, w.breached)
		}
	}
	t.Logf("%d times held, %d times lost", grants, losses)
	if grants < 1000 || losses < 100 {
		t.Errorf("held %d times, lost %d times: too few to show anything", grants, losses)
	}
}

// TestStormsFindAMarginTooSmall shows that the storms above would see two holders.
func TestStormsFindAMarginTooSmall(t *testing.T) {
	careless := usual
	careless.Margin = 0
	for seed := range uint64(1000) {
		w := newWorld(seed, careless)
		w.whims()
		w.run(2 * time.Minute)
		if w.breached != "" {
			return
		}
	}
	t.Error("1,000 storms without a margin found no two holders at once")
}
