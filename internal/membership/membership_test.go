package membership

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/sbr"
)

// world is a few cores whose messages arrive at once, in order.
type world struct {
	now   time.Time
	cores []*Core
	ids   []member.ID
	wakes []time.Time
	dead  []bool
	last  []Output // of each core, the last that had a decision
}

func newWorld(size int, downing sbr.Settings) *world {
	w := &world{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for i := range size {
		id := member.ID{Address: member.Address{Host: fmt.Sprintf("n%d", i), Port: 1}, UID: int64(i + 1)}
		w.ids = append(w.ids, id)
		w.cores = append(w.cores, New(Config{
			Gossip:  gossip.Config{Self: id, Cluster: "test", Rand: rand.New(rand.NewPCG(uint64(i), 0))},
			Downing: downing,
		}))
	}
	w.wakes, w.dead, w.last = make([]time.Time, size), make([]bool, size), make([]Output, size)
	for i := range size {
		w.step(i, gossip.JoinAddress{Address: w.ids[0].Address})
	}
	w.run(10 * time.Second)
	return w
}

func (w *world) step(i int, in gossip.Input) {
	if !w.dead[i] {
		w.take(i, w.cores[i].Step(w.now, in))
	}
}

func (w *world) take(i int, out Output) {
	w.wakes[i] = out.Wake
	if out.Decision != nil {
		w.last[i] = out
	}
	if out.Stop != nil {
		w.dead[i] = true
	}
	for _, p := range out.Send {
		if to := slices.IndexFunc(w.ids, func(id member.ID) bool { return id.Address == p.To.Address }); to >= 0 {
			w.step(to, gossip.Received{From: w.ids[i], Msg: p.Msg})
		}
	}
}

// run lets time pass from wake to wake.
func (w *world) run(d time.Duration) {
	end := w.now.Add(d)
	for {
		next := -1
		for i, wake := range w.wakes {
			if !w.dead[i] && !wake.IsZero() && (next < 0 || wake.Before(w.wakes[next])) {
				next = i
			}
		}
		if next < 0 || w.wakes[next].After(end) {
			w.now = end
			return
		}
		w.now = w.wakes[next]
		w.step(next, gossip.Tick{})
	}
}

// ups are the members that node 0 sees Up.
func (w *world) ups() []member.ID {
	var ids []member.ID
	for _, m := range w.cores[0].Machine().View().Members {
		if m.Status == member.Up {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

func TestDecisionIsCarriedOutInTheSameStep(t *testing.T) {
	w := newWorld(3, sbr.Settings{})
	if got := w.ups(); !slices.Equal(got, w.ids) {
		t.Fatalf("up %v, want %v", got, w.ids)
	}
	w.dead[2] = true
	w.run(30 * time.Second)

	out := w.last[0]
	if out.Decision == nil || !slices.Equal(out.Decision.Down, w.ids[2:]) {
		t.Fatalf("decision %+v, want node 2 downed", out.Decision)
	}
	if m, _ := out.View.Member(w.ids[2]); m.Status != member.Down {
		t.Errorf("the view of the deciding step has node 2 %s, want Down", m.Status)
	}
	downed := func(e gossip.Event) bool {
		change, ok := e.(gossip.MemberChanged)
		return ok && change.Member.ID == w.ids[2] && change.Member.Status == member.Down
	}
	if !slices.ContainsFunc(out.Events, downed) {
		t.Errorf("events of the deciding step %v do not tell of the downing", out.Events)
	}
	if got := w.ups(); !slices.Equal(got, w.ids[:2]) {
		t.Errorf("in the end up %v, want %v", got, w.ids[:2])
	}
	if w.last[1].Decision != nil {
		t.Errorf("node 1 does not lead, but decided %v", w.last[1].Decision)
	}
}

func TestLeaseDecides(t *testing.T) {
	for _, acquired := range []bool{true, false} {
		w := newWorld(3, sbr.Settings{Strategy: sbr.LeaseMajority{}})
		w.dead[2] = true
		for range 30 {
			if w.run(time.Second); w.last[0].Acquire != nil {
				break
			}
		}
		if w.last[0].Acquire == nil {
			t.Fatal("no request for the lease")
		}
		w.run(time.Second) // the answer takes its time, and gossip goes on
		out := w.cores[0].LeaseReply(w.now, acquired)
		if !out.Wake.After(w.now) {
			t.Errorf("acquired %v: wake %v is not after %v", acquired, out.Wake, w.now)
		}
		w.take(0, out)
		w.run(30 * time.Second)
		if alive := !w.dead[0] && !w.dead[1]; alive != acquired || acquired && !slices.Equal(w.ups(), w.ids[:2]) {
			t.Errorf("acquired %v: stopped %v, up %v", acquired, w.dead, w.ups())
		}
	}
}

// A paused leader that wakes after the time of stability has run out asks the
// others anew before it downs anybody.
func TestFD01WokenLeaderDownsNobody(t *testing.T) {
	w := newWorld(3, sbr.Settings{})
	w.dead[2] = true
	for range 100 {
		if v := w.cores[0].Machine().View(); !v.Reachable(w.ids[2]) {
			break
		}
		w.run(100 * time.Millisecond)
	}
	if w.cores[0].Machine().View().Reachable(w.ids[2]) {
		t.Fatal("node 2 was not found to be unreachable")
	}
	w.dead[0], w.dead[1] = true, true // only time passes
	w.run(time.Minute)
	w.dead[0] = false
	w.step(0, gossip.Tick{})
	if w.last[0].Decision != nil {
		t.Errorf("just woken, but decided\n%s", w.last[0].Decision.Describe())
	}
}
