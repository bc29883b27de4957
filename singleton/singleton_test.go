package singleton_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/singleton"
	"github.com/troupe-go/troupe/wire"
)

func TestOneInstanceForAllNodes(t *testing.T) {
	inWorld(t, troupe.Config{Roundtrip: true}, func(w *world) {
		all := w.cluster(3, singleton.Type[msg]{})
		for i, s := range all {
			w.at(s, w.nodes[0], time.Second)
			w.tell(s, fmt.Sprint(i), 10, 0)
			if id, ok := s.Owner(); !ok || id != w.nodes[0].ID() {
				t.Errorf("node %d sends to %v, %t", i, id, ok)
			}
			if err := s.Ref().Tell(w.t.Context(), secret{}); !errors.Is(err, wire.ErrNotNamed) {
				t.Errorf("node %d takes a message without a name: %v", i, err)
			}
			if why := s.Why(); len(why) != 0 {
				t.Errorf("node %d waits for %+v", i, why)
			}
		}
		time.Sleep(time.Second)
		for i := range all {
			w.inOrder(fmt.Sprint(i), 10)
		}
	})
}

func TestHandOverLosesAndReordersNothing(t *testing.T) {
	for _, tt := range []struct {
		name string
		typ  singleton.Type[msg]
		work time.Duration
		late bool // some may be heard later than newer ones
	}{
		{name: "drained"},
		{name: "told to stop", typ: singleton.Type[msg]{Stop: stop{}}},
		{name: "with a small mailbox", typ: singleton.Type[msg]{Mailbox: 100}, work: 3 * time.Millisecond},
		{name: "stopped by force", typ: singleton.Type[msg]{StopWithin: 100 * time.Millisecond}, work: 15 * time.Millisecond, late: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, troupe.Config{}, func(w *world) {
				all := w.cluster(4, tt.typ)
				w.work = tt.work
				var wg sync.WaitGroup
				const count = 200
				for i, s := range all[1:] {
					wg.Go(func() { w.tell(s, fmt.Sprint(i+1), count, 20*time.Millisecond) })
				}
				time.Sleep(time.Second)
				if err := w.nodes[0].Leave(context.Background()); err != nil {
					t.Errorf("leave: %v", err)
				}
				wg.Wait()
				time.Sleep(30 * time.Second)
				for i, s := range all[1:] {
					if tt.late {
						w.sort(fmt.Sprint(i + 1))
					}
					w.inOrder(fmt.Sprint(i+1), count)
					w.at(s, w.nodes[1], time.Second)
					if drops := s.Drops(); len(drops) > 0 {
						t.Errorf("node %d dropped %v", i+1, drops)
					}
				}
			})
		})
	}
}

// Messages that wait at a leaving node go to the successor.
func TestLeavingNodeHandsOnWhatItHolds(t *testing.T) {
	inWorld(t, troupe.Config{}, func(w *world) {
		all := w.cluster(3, singleton.Type[msg]{})
		time.Sleep(10 * time.Second)
		var wg sync.WaitGroup
		wg.Go(func() { w.tell(all[0], "0", 100, time.Millisecond) })
		time.Sleep(10 * time.Millisecond)
		ended := make(chan error)
		go func() { ended <- w.nodes[0].Leave(context.Background()) }()
		wg.Wait()
		if err := <-ended; err != nil {
			t.Errorf("leave: %v", err)
		}
		w.at(all[1], w.nodes[1], time.Second)
		w.inOrder("0", 100)
	})
}

func TestInstanceStartsElsewhereAfterACrash(t *testing.T) {
	for _, tt := range []struct {
		name          string
		cfg           troupe.Config
		least, atMost time.Duration
	}{
		{"that is confirmed", troupe.Config{}, 0, 1500 * time.Millisecond},
		{"found by silence", troupe.Config{NoCrashDetection: true}, 14 * time.Second, 30 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, tt.cfg, func(w *world) {
				all := w.cluster(4, singleton.Type[msg]{})
				w.at(all[3], w.nodes[0], time.Second)
				time.Sleep(10 * time.Second) // the next oldest has watched for long enough
				began := time.Now()
				w.nodes[0].Kill()
				time.Sleep(200 * time.Millisecond)
				// What is told to the dead node is lost, or waits; the first answer comes from the successor.
				for {
					if got, err := w.ask(all[3], 100*time.Millisecond); err == nil {
						if got != w.nodes[1].ID().String() {
							t.Errorf("the instance is on %s", got)
						}
						break
					}
					if time.Since(began) > time.Minute {
						t.Fatalf("no instance: %+v", all[3].Why())
					}
				}
				if took := time.Since(began); took < tt.least || took > tt.atMost {
					t.Errorf("the successor answers after %v, want %v to %v", took, tt.least, tt.atMost)
				}
			})
		})
	}
}

func TestInstanceThatFailsStartsAgain(t *testing.T) {
	inWorld(t, troupe.Config{}, func(w *world) {
		all := w.cluster(2, singleton.Type[msg]{})
		if err := all[1].Ref().Tell(w.t.Context(), fail{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
		if got := w.lives(); got != "nowhere" {
			t.Errorf("it lives on %s", got)
		}
		w.tell(all[0], "0", 5, 0)
		w.tell(all[1], "1", 5, 0)
		time.Sleep(time.Second)
		w.inOrder("0", 5)
		w.inOrder("1", 5)
		w.at(all[1], w.nodes[0], time.Second)
	})
}

func TestSpreadSharesTheNodesOut(t *testing.T) {
	inWorld(t, troupe.Config{}, func(w *world) {
		const count = 12
		var last []*singleton.Singleton[msg]
		for i := range 4 { // all are on the first before the others come
			n := w.up(9000 + i)
			last = nil
			for j := range count {
				last = append(last, w.join(n, singleton.Type[msg]{Name: fmt.Sprintf("s%d", j), Spread: true}))
			}
			time.Sleep(15 * time.Second)
		}
		places := map[string]int{}
		for _, s := range last {
			got, err := w.ask(s, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			places[got]++
		}
		if len(places) != 4 {
			t.Errorf("%d singletons share the nodes out as %v", count, places)
		}
	})
}

// A node without the role sends and runs nothing, though it is the oldest.
func TestRole(t *testing.T) {
	inWorld(t, troupe.Config{}, func(w *world) {
		typ := singleton.Type[msg]{Role: "office"}
		edge := w.join(w.up(9000), typ)
		if _, err := w.ask(edge, time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an ask without an instance ends with %v", err)
		}
		if why := edge.Why(); len(why) != 1 || !strings.Contains(why[0].Act, "office") {
			t.Errorf("waits for %+v", why)
		}
		w.cfg.Roles = []string{"office"}
		n := w.up(9001)
		w.join(n, typ)
		w.at(edge, n, 20*time.Second) // the new node may have missed a removal
	})
}

// In a roll-out the older nodes do not have the singleton yet.
func TestOldestNodeWithoutTheSingletonIsPassedOver(t *testing.T) {
	inWorld(t, troupe.Config{}, func(w *world) {
		old := w.up(9000)
		second := w.up(9001)
		s := w.join(second, singleton.Type[msg]{})
		w.at(s, second, 20*time.Second)
		first := w.join(old, singleton.Type[msg]{})
		time.Sleep(5 * time.Second)
		w.at(first, old, time.Second)
		w.at(s, old, time.Second)
	})
}

func TestBufferIsBoundedAndPatient(t *testing.T) {
	inWorld(t, troupe.Config{}, func(w *world) {
		s := w.join(w.up(9000), singleton.Type[msg]{Role: "office", Buffer: 3, Patience: 10 * time.Second})
		answer := make(chan error)
		go func() { _, err := w.ask(s, time.Minute); answer <- err }()
		time.Sleep(time.Second)
		w.tell(s, "0", 2, 0)
		if err := s.Ref().Tell(w.t.Context(), note{"0", 2}); !errors.Is(err, actor.ErrFull) || !strings.Contains(err.Error(), "Type.Buffer") {
			t.Errorf("beyond the bound Tell gives %v", err)
		}
		if got := s.Waiting(); got != 3 {
			t.Errorf("%d messages wait, want 3", got)
		}
		if err := <-answer; !errors.Is(err, singleton.ErrNoOwner) {
			t.Errorf("the ask ends with %v", err)
		}
		time.Sleep(2 * time.Second)
		if got := s.Drops()[singleton.DropPatience]; got != 3 || s.Waiting() != 0 {
			t.Errorf("%v are dropped, %d wait", s.Drops(), s.Waiting())
		}
	})
}

func TestJoinRefuses(t *testing.T) {
	inWorld(t, troupe.Config{}, func(w *world) {
		n := w.up(9000)
		_, err := singleton.Join(n, singleton.Type[msg]{Name: "a b", LeaseTTL: time.Second, Buffer: -1, Retry: -1})
		for _, want := range []string{"Name", "Start", "Protocol", "LeaseTTL is 1s without Lease", "Buffer is -1", "Retry"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in %v", want, err)
			}
		}
		w.join(n, singleton.Type[msg]{})
		if _, err := singleton.Join(n, w.typ(n, singleton.Type[msg]{})); !errors.Is(err, singleton.ErrJoined) {
			t.Errorf("a second join gives %v", err)
		}
		if err := n.Leave(context.Background()); err != nil {
			t.Error(err)
		}
		if _, err := singleton.Join(n, w.typ(n, singleton.Type[msg]{Name: "other"})); !errors.Is(err, troupe.ErrEnding) {
			t.Errorf("a join on a node that has left gives %v", err)
		}
	})
}

func TestTellAfterTheEnd(t *testing.T) {
	inWorld(t, troupe.Config{}, func(w *world) {
		s := w.join(w.up(9000), singleton.Type[msg]{})
		w.nodes[0].Kill()
		if err := s.Ref().Tell(w.t.Context(), note{}); !errors.Is(err, singleton.ErrEnded) {
			t.Errorf("Tell gives %v", err)
		}
		if why := s.Why(); len(why) > 0 {
			t.Errorf("Why gives %v", why)
		}
	})
}
