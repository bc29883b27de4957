package troupe_test

import (
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/internal/gossip"
)

// gone waits until a member is removed in the view of a node and tells how long
// that took.
func (w *world) gone(within time.Duration, n *troupe.Node, id troupe.ID) time.Duration {
	w.t.Helper()
	start := time.Now()
	w.eventually(within, n, id.String()+" removed", func(v *troupe.View) bool {
		_, there := v.Member(id)
		return !there
	})
	return time.Since(start)
}

// refuse makes two nodes lose their connections to each other, and refuse new ones.
func (w *world) refuse(a, b *troupe.Node) {
	x, y := a.ID().Address, b.ID().Address
	w.net.Refuse(x, y)
	w.net.Refuse(y, x)
	w.net.Reset(x, y)
}

func (w *world) restore(a, b *troupe.Node) {
	x, y := a.ID().Address, b.ID().Address
	w.net.Heal(x, y)
	w.net.Heal(y, x)
}

// votes collects the votes that a node hears of.
func (w *world) votes(n *troupe.Node) func() []gossip.CrashVoted {
	var seen []gossip.CrashVoted
	w.t.Cleanup(n.Events(func(e troupe.Event) {
		if v, ok := e.(gossip.CrashVoted); ok {
			seen = append(seen, v)
		}
	}))
	return func() []gossip.CrashVoted { synctest.Wait(); return slices.Clone(seen) }
}

// A killed node is removed within a second, whichever it is.
func TestKilledNodeIsRemovedQuickly(t *testing.T) {
	for _, size := range []int{3, 5} {
		for who := range size {
			inWorld(t, func(t *testing.T, w *world) {
				nodes := w.startAll(size)
				time.Sleep(time.Minute)
				nodes[who].Kill()
				others := slices.Delete(slices.Clone(nodes), who, who+1)
				for _, n := range others {
					if took := w.gone(time.Minute, n, nodes[who].ID()); took > time.Second {
						t.Errorf("%d of %d nodes: %v removed %v after %v", who, size, n.ID(), nodes[who].ID(), took)
					}
				}
				w.sees(10*time.Second, others, others)
			})
		}
	}
}

// Of two nodes nobody is the majority; silence decides.
func TestTwoNodesWaitForSilence(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(2)
		nodes[1].Kill()
		time.Sleep(3 * time.Second)
		if m, _ := nodes[0].View().Member(nodes[1].ID()); m.Status != troupe.Up {
			t.Errorf("the other is %v after 3 s, want Up", m.Status)
		}
		if nodes[0].Paused() {
			t.Error("paused, though nobody can confirm its crash")
		}
	})
}

func TestCrashDetectionCanBeSwitchedOff(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.change = func(c *troupe.Config) { c.NoCrashDetection = true }
		nodes := w.startAll(3)
		nodes[2].Kill()
		time.Sleep(3 * time.Second)
		if m, _ := nodes[0].View().Member(nodes[2].ID()); m.Status != troupe.Up || len(nodes[0].Suspicions()) > 0 {
			t.Errorf("the other is %v after 3 s, suspected: %+v; want Up, and no suspicion", m.Status, nodes[0].Suspicions())
		}
	})
}

// A living node in whose name all its links are reset and refused stops acting
// before the others down it, and ends when it hears of that.
func TestRefusedNodeStopsActingBeforeItIsDowned(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(3)
		time.Sleep(10 * time.Second)
		start := time.Now()
		w.refuse(nodes[2], nodes[0])
		w.refuse(nodes[2], nodes[1])
		var paused, downed time.Duration
		for paused == 0 || downed == 0 {
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
			since := time.Since(start)
			if paused == 0 && nodes[2].Paused() {
				paused = since
			}
			if m, _ := nodes[0].View().Member(nodes[2].ID()); downed == 0 && m.Status != troupe.Up {
				downed = since
			}
			if since > time.Minute {
				t.Fatalf("after a minute: paused %v, downed %v", paused, downed)
			}
		}
		if paused > 300*time.Millisecond || downed < 500*time.Millisecond || downed > time.Second {
			t.Errorf("paused after %v, downed after %v; want about 250 ms, and then a little over 500 ms", paused, downed)
		}
		w.restore(nodes[2], nodes[0])
		w.restore(nodes[2], nodes[1])
		time.Sleep(5 * time.Second)
		if err := nodes[2].Err(); !errors.Is(err, troupe.ErrDowned) {
			t.Errorf("the downed node ended with %v, want ErrDowned", err)
		}
		w.sees(time.Second, nodes[:2], nodes[:2])
	})
}

// Nor does it handle what its own goroutines tell its actors from then on, though
// that takes no link: others may be about to start what it hosts.
func TestRefusedNodeHandlesNothingLocal(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(3)
		var handled atomic.Int64
		ref, err := actor.Spawn(nodes[2], "local", func(*actor.Ctx[greeting]) (actor.Behavior[greeting], error) {
			return func(*actor.Ctx[greeting], greeting) error { handled.Add(1); return nil }, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		w.refuse(nodes[2], nodes[0])
		w.refuse(nodes[2], nodes[1])
		time.Sleep(300 * time.Millisecond)
		for range 100 {
			if err := ref.Tell(t.Context(), greet{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if got := handled.Load(); !nodes[2].Paused() || got > 0 {
			t.Errorf("paused %v, with %d messages handled since; want true, 0", nodes[2].Paused(), got)
		}
	})
}

// What breaks for less than half of the time of isolation stops nobody.
func TestShortResetStopsNobody(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(3)
		time.Sleep(10 * time.Second)
		w.refuse(nodes[2], nodes[0])
		w.refuse(nodes[2], nodes[1])
		time.Sleep(150 * time.Millisecond)
		w.restore(nodes[2], nodes[0])
		w.restore(nodes[2], nodes[1])
		for range 500 {
			time.Sleep(10 * time.Millisecond)
			if nodes[2].Paused() {
				t.Fatal("paused")
			}
		}
		w.sees(time.Second, nodes, nodes)
	})
}

// A node that stopped acting goes on when its links are back in time.
func TestCutOffNodeGoesOnWithAMajority(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(3)
		time.Sleep(10 * time.Second)
		w.refuse(nodes[2], nodes[0])
		w.refuse(nodes[2], nodes[1])
		time.Sleep(400 * time.Millisecond)
		if !nodes[2].Paused() {
			t.Error("not paused after 400 ms without links")
		}
		w.restore(nodes[2], nodes[0])
		w.restore(nodes[2], nodes[1])
		time.Sleep(500 * time.Millisecond)
		if nodes[2].Paused() {
			t.Error("still paused")
		}
		time.Sleep(5 * time.Second)
		w.sees(time.Second, nodes, nodes)
	})
}

// Refusal by a minority confirms nothing, however sure it is.
func TestRefusalByAMinorityConfirmsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(5)
		time.Sleep(10 * time.Second)
		votes := w.votes(nodes[3])
		w.refuse(nodes[4], nodes[0])
		w.refuse(nodes[4], nodes[1])
		time.Sleep(3 * time.Second)
		if got := votes(); len(got) < 2 {
			t.Errorf("votes %v, want those of two nodes", got)
		}
		if m, _ := nodes[3].View().Member(nodes[4].ID()); m.Status != troupe.Up || nodes[4].Paused() {
			t.Errorf("status %v, paused %v; want Up, false", m.Status, nodes[4].Paused())
		}
		w.restore(nodes[4], nodes[0])
		w.restore(nodes[4], nodes[1])
		time.Sleep(20 * time.Second)
		w.sees(time.Second, nodes, nodes)
		if s := nodes[3].Suspicions(); len(s) > 0 {
			t.Errorf("still suspected: %+v", s)
		}
	})
}

// A partition is silence: nobody votes, however long it lasts.
func TestPartitionMakesNoVotes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(5)
		votes := w.votes(nodes[0])
		for _, n := range nodes[:3] {
			for _, o := range nodes[3:] {
				w.net.Cut(n.ID().Address, o.ID().Address)
				w.net.Cut(o.ID().Address, n.ID().Address)
			}
		}
		time.Sleep(time.Minute)
		if got := votes(); len(got) > 0 {
			t.Errorf("votes %v, want none", got)
		}
		w.sees(time.Second, nodes[:3], nodes[:3])
	})
}

// One port that refuses in the name of a node whose own links are fine is no crash.
func TestRefusedPortIsNoCrash(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(3)
		votes := w.votes(nodes[0])
		for _, n := range nodes[:2] {
			w.net.Refuse(n.ID().Address, nodes[2].ID().Address)
		}
		time.Sleep(3 * time.Second)
		if got := votes(); len(got) > 0 {
			t.Errorf("votes %v, want none", got)
		}
	})
}

// Whoever leaves says goodbye.
func TestLeaveIsNoCrash(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(3)
		votes := w.votes(nodes[0])
		if err := nodes[2].Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if got := votes(); len(got) > 0 {
			t.Errorf("votes %v, want none", got)
		}
	})
}

// A restarted process is another member, and its predecessor holds nobody up.
func TestRestartAtOnceIsQuick(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(3)
		time.Sleep(10 * time.Second)
		nodes[2].Kill()
		again := w.start("n3")
		w.sees(10*time.Second, []*troupe.Node{nodes[0], nodes[1], again}, []*troupe.Node{nodes[0], nodes[1], again})
	})
}

func TestIsolationIsChecked(t *testing.T) {
	for _, cfg := range []troupe.Config{
		{Times: troupe.Times{Isolation: 10 * time.Millisecond}},
		{Times: troupe.Times{Isolation: -1}},
		{Times: troupe.Times{Isolation: 10 * time.Second}},
		{Times: troupe.Times{Isolation: time.Second}, NoCrashDetection: true},
	} {
		cfg.Log = slog.New(slog.DiscardHandler)
		if n, err := troupe.Start(t.Context(), cfg); err == nil {
			n.Kill()
			t.Errorf("%+v was accepted", cfg)
		}
	}
}
