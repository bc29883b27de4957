package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/actor/actortest"
	"github.com/troupe-go/troupe/discover"
	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/sbr"
	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/store/storetest"
)

const budget = 28 * time.Second // Config.LeaveWithin

// Nothing that hangs keeps a node from ending: each hanging task is named, with
// its phase, and the whole takes no longer than its budget.
func TestACT08LeaveHasALimitAndNamesWhatHangs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		n := w.startAll(3)[2]
		release := make(chan struct{})
		hang := func() { <-release }
		if err := errors.Join(
			n.OnLeave("deaf hand-over", func(context.Context) error { hang(); return nil }),
			n.OnLeave("patient hand-over", func(ctx context.Context) error { <-ctx.Done(); return errors.New("database hangs") }),
			n.OnLeave("quick hand-over", func(context.Context) error { return nil }),
			n.OnEnd("quick component", func() {}),
			n.OnEnd("deaf component", hang),
		); err != nil {
			t.Fatal(err)
		}
		stuck := actortest.Spawn(t, n, "stuck", func(*actor.Ctx[int]) (actor.Behavior[int], error) {
			return func(*actor.Ctx[int], int) error { hang(); return nil }, nil
		})
		actortest.Tell(t, stuck, 1)
		began := time.Now()
		err := n.Leave(context.Background())
		if took := time.Since(began); took > budget {
			t.Errorf("leaving took %v, want at most %v", took, budget)
		}
		if !errors.Is(err, troupe.ErrDowned) {
			t.Errorf("leave: %v, want ErrDowned: not all was handed over", err)
		}
		for _, want := range []string{
			"hand over: not done within 17s: deaf hand-over", "hand over: patient hand-over: database hangs",
			"stop components: not done within 1s: deaf component", "stop actors: not done within 3s", "/stuck (in its behavior)",
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("leave does not name %q: %v", want, err)
			}
		}
		if err != nil && strings.Contains(err.Error(), "quick") {
			t.Errorf("leave names what did not hang: %v", err)
		}
		close(release)
		synctest.Wait()
	})
}

// deafContacts finds the node itself, and once it is deaf minds nobody's patience.
type deafContacts struct {
	deaf atomic.Bool
	hang chan struct{}
}

func (d *deafContacts) Find(context.Context) ([]discover.Address, error) {
	if d.deaf.Load() {
		<-d.hang
	}
	return []discover.Address{{Host: "n1", Port: 2552}}, nil
}

// Neither contacts that mind no context nor a store that does not answer keep a
// node from ending.
func TestACT08LeaveWaitsForNeitherContactsNorTheStoreForLong(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		contacts := &deafContacts{hang: make(chan struct{})}
		n := w.startWith("n1", func(c *troupe.Config) { c.Contacts, c.RequiredContacts = contacts, 1 })
		if err := n.WhenUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		contacts.deaf.Store(true)
		time.Sleep(20 * time.Second) // they are asked again
		began := time.Now()
		err := n.Leave(context.Background())
		if took := time.Since(began); took > budget {
			t.Errorf("with deaf contacts leaving took %v, want at most %v", took, budget)
		}
		if want := "leave the store: not done within 1s"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("leave does not name %q: %v", want, err)
		}
		close(contacts.hang)
		synctest.Wait()
	})
	inWorld(t, func(t *testing.T, w *world) {
		faulty := storetest.NewFaulty(store.NewMemory())
		n := w.startWith("n1", func(c *troupe.Config) { c.Store, c.LeaveWithin = faulty, 3*time.Second })
		if err := n.WhenUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		faulty.Set(storetest.Hang)
		began := time.Now()
		if err := n.Leave(context.Background()); err != nil {
			t.Errorf("leave while the store hangs: %v", err)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("with a store that hangs leaving took %v, want at most 3s", took)
		}
	})
}

// A node that is killed while it hands over waits for nobody, and does not name
// as hanging what was only called off.
func TestACT08KillDuringALeave(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		n := w.startAll(2)[1]
		release, begun := make(chan struct{}), make(chan struct{})
		if err := errors.Join(
			n.OnLeave("deaf", func(context.Context) error { close(begun); <-release; return nil }),
			n.OnLeave("attentive", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }),
			n.OnEnd("deaf", func() {}),
		); err != nil {
			t.Fatal(err)
		}
		go func() { _ = n.Leave(context.Background()) }()
		<-begun
		began := time.Now()
		n.Kill()
		if took := time.Since(began); took > time.Second || !errors.Is(n.Err(), troupe.ErrKilled) {
			t.Errorf("kill while leaving: %v after %v, want ErrKilled within a second", n.Err(), took)
		}
		if why := n.Why().String(); strings.Contains(why, "be removed") {
			t.Errorf("a killed node says\n%s", why)
		}
		close(release)
		synctest.Wait()
	})
}

func TestLeaveTellsWhichPhaseItIsIn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		n := w.startAll(2)[1]
		if err := n.OnLeave("slow", func(context.Context) error { time.Sleep(5 * time.Second); return nil }); err != nil {
			t.Fatal(err)
		}
		left := make(chan error)
		go func() { left <- n.Leave(context.Background()) }()
		time.Sleep(2 * time.Second)
		if why := n.Why().String(); !strings.Contains(why, "leave: this node ends; phase: hand over, waiting for slow\n") {
			t.Errorf("while it hands over the node says\n%s", why)
		}
		if err := <-left; err != nil {
			t.Errorf("leave: %v", err)
		}
		if why := n.Why(); len(why.Waits) > 0 {
			t.Errorf("once it has left the node says\n%s", why)
		}
	})
}

func TestLeaveFromABehavior(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		n := w.startAll(2)[1]
		answered := make(chan error, 1)
		ref := actortest.Spawn(t, n, "suicidal", func(*actor.Ctx[int]) (actor.Behavior[int], error) {
			return func(c *actor.Ctx[int], _ int) error {
				ctx, cancel := context.WithTimeout(c, time.Minute)
				defer cancel()
				err := n.Leave(ctx)
				answered <- err
				return err
			}, nil
		})
		actortest.Tell(t, ref, 1)
		began := time.Now()
		if err := <-answered; err != nil || time.Since(began) > 0 {
			t.Errorf("Leave in a behavior: %v after %v, want nil at once", err, time.Since(began))
		}
		<-n.Done()
		if err := n.Err(); err != nil || time.Since(began) > 10*time.Second {
			t.Errorf("the node ended after %v with %v, want nil within 10s", time.Since(began), err)
		}
	})
}

// A behavior that waits for the end of its own node waits for itself; even that
// ends, and says who hangs.
func TestLeaveFromABehaviorThatWaits(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		n := w.startAll(2)[1]
		ref := actortest.Spawn(t, n, "waiting", func(*actor.Ctx[int]) (actor.Behavior[int], error) {
			return func(*actor.Ctx[int], int) error { return n.Leave(context.Background()) }, nil
		})
		actortest.Tell(t, ref, 1)
		began := time.Now()
		<-n.Done()
		if err := n.Err(); time.Since(began) > budget || err == nil || !strings.Contains(err.Error(), "/waiting (in its behavior)") {
			t.Errorf("the node ended after %v with %v, want the actor named within %v", time.Since(began), err, budget)
		}
		synctest.Wait()
	})
}

// A member that nobody can reach, and nobody downs, holds up the others' leave:
// they go all the same, and name it.
func TestLeaveThatTheOthersCannotConfirm(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.change = func(c *troupe.Config) { c.Downing.StableAfter, c.Downing.DownAllWhenUnstable = time.Hour, -1 }
		nodes := w.startAll(3)
		for _, n := range nodes[:2] {
			w.net.Cut(n.ID().Address, nodes[2].ID().Address)
			w.net.Cut(nodes[2].ID().Address, n.ID().Address)
		}
		w.eventually(time.Minute, nodes[0], "an unreachable member", func(v *troupe.View) bool { return len(v.Unreachable) > 0 })
		began := time.Now()
		err := nodes[0].Leave(context.Background())
		if took := time.Since(began); took > budget || !errors.Is(err, troupe.ErrDowned) || !strings.Contains(err.Error(), "waits for n3:2552") {
			t.Errorf("leave: %v after %v, want that it waited for n3:2552, within %v", err, took, budget)
		}
		w.eventually(time.Minute, nodes[1], "n1 down", func(v *troupe.View) bool {
			m, in := v.Member(nodes[0].ID())
			return !in || m.Status == troupe.Down
		})
	})
}

// All nodes of a cluster that was prepared for it leave at the same time, though
// one of them has died: nobody else is downed, nobody waits for what cannot come.
func TestTheWholeClusterShutsDown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var downs []troupe.ID
		nodes := w.startAll(5)
		for _, n := range nodes {
			n.Events(func(e troupe.Event) {
				if c, ok := e.(gossip.MemberChanged); ok && c.Member.Status == troupe.Down {
					mu.Lock()
					defer mu.Unlock()
					downs = append(downs, c.Member.ID)
				}
			})
		}
		if err := nodes[0].PrepareClusterShutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			w.eventually(time.Minute, n, "all ready for shutdown", func(v *troupe.View) bool {
				for _, m := range v.Members {
					if m.Status != troupe.ReadyForShutdown {
						return false
					}
				}
				return true
			})
		}
		late := w.start("late")
		nodes[4].Kill()
		time.Sleep(time.Minute + time.Second) // longer than any decision, and between two questions
		if got := late.Why().Waits; len(got) != 1 || !strings.Contains(got[0].Why, "the cluster is shutting down") {
			t.Errorf("a joiner waits for %+v, want to be told of the shutdown", got)
		}
		if _, in := late.View().SelfMember(); in {
			t.Errorf("a node has joined a cluster that shuts down: %+v", late.View())
		}
		const soon = 10 * time.Second // a few rounds of gossip
		var all sync.WaitGroup
		for _, n := range nodes[:4] {
			all.Go(func() {
				began := time.Now()
				if err := n.Leave(context.Background()); err != nil || time.Since(began) > soon {
					t.Errorf("%v leaves with %v after %v, want nil within %v", n.ID().Address, err, time.Since(began), soon)
				}
			})
		}
		all.Wait()
		mu.Lock()
		defer mu.Unlock()
		for _, id := range downs {
			if id != nodes[4].ID() {
				t.Errorf("downed while shutting down: %v, want only who has died, %v", id, nodes[4].ID())
			}
		}
	})
}

func TestThePlanIsToldAtTheStartAndWhenItRuns(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var log safeBuffer
		w.change = func(c *troupe.Config) {
			c.Log, c.LeaveWithin = slog.New(slog.NewTextHandler(&log, nil)), 14*time.Second
			c.Downing = sbr.Settings{}
		}
		n := w.startAll(1)[0]
		if err := n.Leave(context.Background()); err != nil {
			t.Fatal(err)
		}
		for _, phase := range []string{"hand over", "be removed", "stop components", "stop actors", "leave the store", "close links"} {
			if got := log.String(); strings.Count(got, `phase="`+phase) != 1 {
				t.Errorf("the log does not name the phase %q once:\n%s", phase, got)
			}
		}
		want := "hand over within 8.5s, be removed until 10.5s, stop components within 500ms, stop actors within 1.5s, leave the store within 500ms, close links within 1s: 14s in all"
		if got := log.String(); strings.Count(got, want) != 2 {
			t.Errorf("the log does not have the plan %q at the start and at the leave:\n%s", want, got)
		}
	})
}

// safeBuffer is a log that is written by many.
type safeBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// A leave and a restart without a fault are no reason to wake anybody.
func TestNobodyIsWarnedOfALeave(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var log safeBuffer
		w.change = func(c *troupe.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) }
		nodes := w.startAll(5)
		for i := range nodes {
			if err := nodes[i].Leave(t.Context()); err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				time.Sleep(time.Duration(i) * 7 * time.Second)
			}
			nodes[i] = w.start(fmt.Sprintf("n%d", i+1))
			w.sees(time.Minute, nodes, nodes)
		}
		for line := range strings.Lines(log.String()) {
			if !strings.Contains(line, "level=INFO") {
				t.Errorf("after each of five nodes was restarted in turn: %s", line)
			}
		}
	})
}
