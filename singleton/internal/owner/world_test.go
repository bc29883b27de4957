package owner

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// The world of these tests is a cluster of cores in virtual time. The
// membership is one history of views, which each node follows at its own pace; it keeps
// the rules of the real one that safety hangs on: nobody comes up before all others
// have seen it join, and who is downed stops within the margin of its removal.
const (
	rest        = 5 * time.Second // the margin
	stableAfter = 5 * time.Second
	tickEvery   = 40 * time.Millisecond
)

var (
	seeds = flag.Uint64("seeds", 300, "how many seeds are played")
	first = flag.Uint64("first", 0, "the first of them")
)

type simNode struct {
	id     member.ID
	core   *Core
	at     int // how far it is in the history
	wake   time.Time
	side   int // of the partition
	dead   bool
	paused time.Time // until then it does not run
	stale  bool      // it has been removed meanwhile, and will find out when it asks
	leaves bool

	runs     Term // its instance; zero for none
	endsAt   time.Time
	leaseFor Term
}

type packet struct {
	from, to member.ID
	msg      Input
	at       time.Time
}

type simWorld struct {
	t       *testing.T
	rnd     *rand.Rand
	now     time.Time
	spread  bool
	lease   bool
	nodes   []*simNode
	views   []*member.View // the history; Self is filled in
	flying  []packet
	holder  member.ID // of the lease
	split   time.Time // since when; zero for no partition
	nextUp  int
	lossPct int
	calm    bool // instances do not fail any more
	log     []string
	starts  int
}

func newSimWorld(t *testing.T, seed uint64) *simWorld {
	w := &simWorld{t: t, rnd: rand.New(rand.NewPCG(seed, 18)), now: time.Unix(0, 0), nextUp: 1}
	w.spread, w.lease = w.rnd.IntN(2) == 0, w.rnd.IntN(3) == 0
	w.lossPct = w.rnd.IntN(3) * 10
	w.views = []*member.View{{DataCenter: "x"}}
	for range 2 + w.rnd.IntN(3) {
		w.join()
	}
	return w
}

func (w *simWorld) note(format string, args ...any) {
	w.log = append(w.log, w.now.Format("05.00 ")+fmt.Sprintf(format, args...))
}

func (w *simWorld) last() *member.View { return w.views[len(w.views)-1] }

// write adds a version to the history.
func (w *simWorld) write(change func(v *member.View)) {
	v := *w.last()
	v.Members, v.Departed = slices.Clone(v.Members), slices.Clone(v.Departed)
	change(&v)
	slices.SortFunc(v.Members, func(a, b member.Member) int { return a.ID.Compare(b.ID) })
	w.views = append(w.views, &v)
}

func (w *simWorld) setStatus(id member.ID, s member.Status) {
	w.write(func(v *member.View) {
		i := slices.IndexFunc(v.Members, func(m member.Member) bool { return m.ID == id })
		if v.Members[i].Status = s; s == member.Up {
			v.Members[i].UpNumber = w.nextUp
			w.nextUp++
		}
	})
}

func (w *simWorld) remove(id member.ID, end member.End) {
	w.write(func(v *member.View) {
		v.Members = slices.DeleteFunc(v.Members, func(m member.Member) bool { return m.ID == id })
		v.Departed = append(v.Departed, member.Departure{ID: id, End: end})
		slices.SortFunc(v.Departed, func(a, b member.Departure) int { return a.Compare(b.ID) })
	})
}

func (w *simWorld) join() {
	id := member.ID{Address: member.Address{Host: "n", Port: 1 + w.rnd.IntN(20)}, UID: int64(len(w.nodes) + 1)}
	if _, taken := w.last().At(id.Address); taken || !w.split.IsZero() {
		return
	}
	set := Settings{
		Name: "s", Spread: w.spread, Lease: w.lease, Retry: time.Second, CloseWithin: time.Second,
		Margin: func(int) time.Duration { return rest },
	}
	w.nodes = append(w.nodes, &simNode{id: id, core: New(id, set), at: -1})
	w.write(func(v *member.View) {
		v.Members = append(v.Members, member.Member{ID: id, Status: member.Joining, UpNumber: member.NeverUp, DataCenter: "x"})
	})
	w.note("%s joins", id)
}

// runs tells whether the node's process executes now.
func (w *simWorld) runs(n *simNode) bool { return !n.dead && !w.now.Before(n.paused) }

// converged tells whether all who take part have seen the last version.
func (w *simWorld) converged() bool {
	return !slices.ContainsFunc(w.nodes, func(n *simNode) bool {
		_, in := w.last().Member(n.id)
		return in && !n.dead && n.at < len(w.views)-1
	})
}

// lead does a leader's duties: one version at a time, at convergence.
func (w *simWorld) lead() {
	if !w.split.IsZero() || !w.converged() {
		return
	}
	for _, m := range w.last().Members {
		n := w.node(m.ID)
		switch {
		case m.Status == member.Joining:
			w.setStatus(m.ID, member.Up)
		case m.Status == member.Leaving && !n.dead:
			w.setStatus(m.ID, member.Exiting)
		case m.Status == member.Exiting && n.leaves && n.core.Done() && n.runs.IsZero():
			w.note("%s has left", m.ID)
			n.dead = true
			w.remove(m.ID, member.Exited)
		default:
			continue
		}
		return
	}
}

func (w *simWorld) node(id member.ID) *simNode {
	return w.nodes[slices.IndexFunc(w.nodes, func(n *simNode) bool { return n.id == id })]
}

func (w *simWorld) alive() (some []*simNode) {
	for _, n := range w.nodes {
		if _, in := w.last().Member(n.id); in && !n.dead {
			some = append(some, n)
		}
	}
	return some
}

func (w *simWorld) step(n *simNode, in Input) {
	if !w.runs(n) {
		return
	}
	out := n.core.Step(w.now, in)
	n.wake = out.Wake
	for _, p := range out.Send {
		w.fly(n, p.To, Received{From: n.id, Msg: recoded(w.t, p.Msg)})
	}
	for _, a := range out.Do {
		w.act(n, a)
	}
}

func recoded(t *testing.T, m Message) Message {
	back, err := Decode(Append(nil, m))
	if err != nil || back != m {
		t.Fatalf("%+v reads as %+v, %v", m, back, err)
	}
	return back
}

func (w *simWorld) fly(from *simNode, to member.ID, in Input) {
	if w.rnd.IntN(100) < w.lossPct {
		return
	}
	delay := time.Duration(w.rnd.IntN(40)) * time.Millisecond
	if w.rnd.IntN(50) == 0 {
		delay = time.Duration(w.rnd.IntN(8000)) * time.Millisecond // news may be very old
	}
	for range 1 + w.rnd.IntN(20)/19 { // some come twice
		w.flying = append(w.flying, packet{from.id, to, in, w.now.Add(delay)})
	}
}

func (w *simWorld) act(n *simNode, a Action) {
	switch a := a.(type) {
	case Acquire:
		n.leaseFor = a.Claim
	case Release:
		n.leaseFor = Term{}
		w.letLeaseRunOut(n.id)
	case Start:
		n.runs, n.endsAt = a.Term, time.Time{}
		w.starts++
		w.note("%s starts in term %d", n.id, a.Term.N)
		w.check()
	case Drain:
		n.endsAt = w.now.Add(time.Duration(w.rnd.IntN(2000)) * time.Millisecond)
	case Kill:
		n.endsAt = w.now
	case Mark:
		w.fly(n, a.Term.Node, Marked{From: n.id, Term: a.Term})
	case Route, Hold:
	}
}

// check is what all of this is for.
func (w *simWorld) check() {
	var running []string
	for _, n := range w.nodes {
		if !n.runs.IsZero() && w.runs(n) && (!n.stale || n.side == 2) { // who wakes asks before it acts
			running = append(running, fmt.Sprintf("%s in term %d", n.id, n.runs.N))
		}
	}
	if len(running) > 1 {
		w.fail("two instances: " + strings.Join(running, ", "))
	}
}

func (w *simWorld) fail(why string) {
	w.t.Fatalf("%s\nspread %t, lease %t, loss %d %%\n%s", why, w.spread, w.lease, w.lossPct,
		strings.Join(w.log[max(0, len(w.log)-40):], "\n"))
}

// turn lets a moment pass.
func (w *simWorld) turn() {
	w.now = w.now.Add(tickEvery)
	w.lead()
	w.resolve()
	w.downLongPaused()
	for _, n := range w.nodes {
		if w.runs(n) {
			w.runNode(n)
		}
	}
	w.deliver()
	w.check()
}

func (w *simWorld) runNode(n *simNode) {
	if n.stale && (n.side != 2 || !w.now.Before(n.endsAt)) {
		w.note("%s ends, for it is no member", n.id)
		n.dead, n.runs = true, Term{}
		w.letLeaseRunOut(n.id)
		return
	}
	if !n.runs.IsZero() && !n.endsAt.IsZero() && !n.stale && !w.now.Before(n.endsAt) {
		term := n.runs
		n.runs = Term{}
		w.step(n, Ended{term})
	}
	if n.side == 0 && n.at < len(w.views)-1 && w.rnd.IntN(4) == 0 {
		n.at = max(n.at+1, len(w.views)-1-w.rnd.IntN(2)) // views may be skipped
		v := *w.views[n.at]
		v.Self = n.id
		w.step(n, ViewChanged{&v})
		if m, ok := v.SelfMember(); ok && (m.Status == member.Leaving || m.Status == member.Exiting) && !n.leaves {
			n.leaves = true
			w.step(n, Leave{})
		}
	}
	if !n.leaseFor.IsZero() && (w.holder.IsZero() || w.holder == n.id) && !n.stale {
		w.holder = n.id
		w.step(n, LeaseHeld{n.leaseFor})
	}
	if !w.calm && w.rnd.IntN(3000) == 0 && !n.runs.IsZero() && n.endsAt.IsZero() {
		n.endsAt = w.now // it fails
	}
	if !n.wake.IsZero() && !w.now.Before(n.wake) {
		w.step(n, Tick{})
	}
}

func (w *simWorld) deliver() {
	due := []packet{}
	w.flying = slices.DeleteFunc(w.flying, func(p packet) bool {
		if w.now.Before(p.at) {
			return false
		}
		due = append(due, p)
		return true
	})
	slices.SortStableFunc(due, func(a, b packet) int { return cmp.Compare(a.at.UnixNano(), b.at.UnixNano()) })
	for _, p := range due {
		from, to := w.node(p.from), w.node(p.to)
		if from.side == to.side && w.runs(to) && !to.stale {
			w.step(to, p.msg)
		}
	}
}

// heal ends all faults; a while later there must be an instance, at the right
// node, and everybody must know where it is.
func (w *simWorld) heal() {
	w.lossPct, w.calm = 0, true
	for _, n := range w.nodes {
		n.paused = time.Time{}
	}
	w.note("all is well from here on")
	for range int(45 * time.Second / tickEvery) {
		w.turn()
	}
	some := w.alive()
	if len(some) == 0 {
		return
	}
	for _, n := range some {
		right, ok := n.core.right()
		if !ok || n.core.Owner().Node != right || w.node(right).runs.IsZero() {
			w.fail(fmt.Sprintf("%s sends to %v; right is %v, which runs %v; it waits for %+v", n.id, n.core.Owner(), right,
				w.node(right).runs, n.core.Why(w.now)))
		}
	}
}

// TestNeverTwo plays seeds: joins, leaves, crashes, cuts, pauses, losses of the
// lease, with messages that are lost, repeated and late.
func TestNeverTwo(t *testing.T) {
	starts := 0
	for seed := *first; seed < *first+*seeds; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			w := newSimWorld(t, seed)
			for range int(40 * time.Second / tickEvery) {
				if w.rnd.IntN(40) == 0 {
					w.fault()
				}
				w.turn()
			}
			w.heal()
			starts += w.starts
		})
		if t.Failed() {
			break
		}
	}
	if uint64(starts) < 2**seeds {
		t.Errorf("%d starts in %d seeds: the storms are too weak", starts, *seeds)
	}
}
