package singleton_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/sbr"
	"github.com/troupe-go/troupe/singleton"
	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/store/storetest"
)

func TestSNG01FastRepeatedRestartsOnOneAddress(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  troupe.Config
	}{
		{"crashes are confirmed", troupe.Config{}},
		{"by silence", troupe.Config{NoCrashDetection: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Downing = sbr.Settings{StableAfter: 20 * time.Second}
			inWorld(t, tt.cfg, func(w *world) {
				all := w.cluster(3, singleton.Type[msg]{})
				w.at(all[2], w.nodes[0], time.Second)
				oldest := w.nodes[0]
				for range 10 {
					oldest.Kill()
					time.Sleep(3 * time.Second)
					oldest = w.start(9000)
					w.join(oldest, singleton.Type[msg]{})
				}
				time.Sleep(20*time.Second + 5*time.Second)
				if got := w.lives(); got == "nowhere" {
					t.Errorf("no instance: %+v", all[2].Why())
				}
				w.at(all[2], w.nodes[1], time.Second)
			})
		})
	}
}

func TestSNG02LastNodeLeavesWithoutStoppingItsSingleton(t *testing.T) {
	inWorld(t, troupe.Config{}, func(w *world) {
		s := w.join(w.up(9000), singleton.Type[msg]{Stop: stop{}})
		w.at(s, w.nodes[0], time.Second)
		w.tell(s, "0", 3, 0)
		if err := w.nodes[0].Leave(context.Background()); err != nil {
			t.Errorf("leave: %v", err)
		}
		w.inOrder("0", 3)
		if got := w.hears("stop"); len(got) != 1 {
			t.Errorf("it has saved %d times, want once", len(got))
		}
		if got := w.lives(); got != "nowhere" {
			t.Errorf("it still lives on %s", got)
		}
	})
}

func TestSNG03DownedSideKeepsItsSingletonRunning(t *testing.T) {
	inWorld(t, troupe.Config{}, func(w *world) {
		all := w.cluster(5, singleton.Type[msg]{})
		w.at(all[4], w.nodes[0], time.Second)
		w.split(w.nodes[:2], w.nodes[2:])
		for _, n := range w.nodes[:2] {
			<-n.Done()
			if err := n.Err(); !errors.Is(err, troupe.ErrDowned) {
				t.Errorf("%v ends with %v", n.ID(), err)
			}
			if got := w.lives(); got == n.ID().String() {
				t.Errorf("the instance runs on %s, which has ended", got)
			}
		}
		w.at(all[4], w.nodes[2], 30*time.Second) // that there are never two is seen when one starts
	})
}

func TestSNG04StartRequestDuringMembershipChurnIsFatal(t *testing.T) {
	inWorld(t, troupe.Config{}, func(w *world) {
		first := w.cluster(1, singleton.Type[msg]{})[0]
		for i := range 12 {
			n := w.start(9001 + i)
			for range 2 { // a request each 50 ms while the node joins and leaders change
				s, err := singleton.Join(n, w.typ(n, singleton.Type[msg]{Name: fmt.Sprintf("s%d", i)}))
				if err != nil && !errors.Is(err, singleton.ErrJoined) {
					t.Errorf("join on a joining node: %v", err)
				}
				if err == nil {
					go func() {
						if _, err := w.ask(s, time.Minute); err != nil && n.Err() == nil && !errors.Is(err, singleton.ErrEnded) {
							t.Errorf("ask on a joining node: %v", err)
						}
					}()
				}
				time.Sleep(50 * time.Millisecond)
			}
			clerk := w.join(n, singleton.Type[msg]{})
			if _, err := w.ask(clerk, 30*time.Second); err != nil {
				t.Errorf("the instance was not reached within 30 s: %v; %+v", err, clerk.Why())
			}
			if i%4 == 3 { // the leader and owner goes
				old := w.nodes[0]
				w.nodes = w.nodes[1:]
				if err := old.Leave(context.Background()); err != nil {
					t.Errorf("leave: %v", err)
				}
			}
		}
		// What will never work is told apart from what will later, also over a link.
		if err := first.Ref().Tell(w.t.Context(), note{}); !errors.Is(err, singleton.ErrEnded) {
			t.Errorf("tell on a node that has left: %v", err)
		}
		time.Sleep(time.Minute)
	})
}

// Without the store nothing starts, and what runs is stopped before the lease runs out.
func TestLeaseIsHeldBeforeTheStartAndLostBeforeAnotherStarts(t *testing.T) {
	inWorld(t, troupe.Config{}, func(w *world) {
		memory := store.NewMemory()
		ways := []*storetest.Faulty{storetest.NewFaulty(memory), storetest.NewFaulty(memory)}
		ways[0].Set(storetest.Hang)
		var all []*singleton.Singleton[msg]
		for i, way := range ways {
			all = append(all, w.join(w.up(9000+i), singleton.Type[msg]{Lease: way}))
		}
		time.Sleep(20 * time.Second)
		if got := w.lives(); got != "nowhere" {
			t.Errorf("it lives on %s without a lease", got)
		}
		if why := all[0].Why(); len(why) != 1 || why[0].Why != `singleton "clerk" starts here when its lease is held` {
			t.Errorf("waits for %+v", why)
		}
		ways[0].Set(storetest.None)
		w.at(all[1], w.nodes[0], 10*time.Second)

		ways[0].Set(storetest.Hang) // the owner cannot renew
		time.Sleep(10 * time.Second)
		if got := w.lives(); got != "nowhere" {
			t.Errorf("it lives on %s after its lease was lost", got)
		}
		w.tell(all[1], "1", 5, 0)
		ways[0].Set(storetest.None)
		w.at(all[1], w.nodes[0], 20*time.Second)
		w.inOrder("1", 5)

		if err := w.nodes[0].Leave(context.Background()); err != nil { // the lease is given back
			t.Error(err)
		}
		w.at(all[1], w.nodes[1], 3*time.Second)
	})
}

// While somebody else holds the lease, whoever that is, there is no instance here.
func TestLeaseOfAStranger(t *testing.T) {
	inWorld(t, troupe.Config{}, func(w *world) {
		memory := store.NewMemory()
		stranger, err := store.NewLease(memory, store.LeaseConfig{Name: "singleton/troupe/clerk", Owner: "stranger"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stranger.Acquire(w.t.Context()); err != nil {
			t.Fatal(err)
		}
		token := make(chan store.Token, 1)
		typ := singleton.Type[msg]{Lease: memory}
		n := w.up(9000)
		typ = w.typ(n, typ)
		start := typ.Start
		typ.Start = nil
		typ.StartLeased = func(c *actor.Ctx[msg], held func() (store.Token, bool)) (actor.Behavior[msg], error) {
			if got, ok := held(); ok {
				token <- got
			}
			return start(c)
		}
		s, err := singleton.Join(n, typ)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if got := w.lives(); got != "nowhere" {
			t.Errorf("it lives on %s without a lease", got)
		}
		if err := stranger.Close(w.t.Context()); err != nil {
			t.Fatal(err)
		}
		w.at(s, n, 5*time.Second)
		if got := <-token; got != 2 {
			t.Errorf("the instance has token %d, want 2", got)
		}
	})
}
