package shard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/store/storetest"
)

// hosted counts the shards on each of the nodes, all of which must be somewhere.
func hosted(t *testing.T, on ...*Entities[msg]) []int {
	t.Helper()
	seen := map[string]bool{}
	counts := make([]int, len(on))
	for i, e := range on {
		for _, s := range e.Region().Hosted() {
			if seen[s.Shard] {
				t.Errorf("shard %s is hosted twice", s.Shard)
			}
			seen[s.Shard] = true
			counts[i]++
		}
	}
	return counts
}

// Without a message all shards are hosted, an even share on each node; who joins
// takes its share and nothing else moves, and who leaves gives its own away.
func TestRingDividesTheShards(t *testing.T) {
	inRing(t, func(w *world) {
		l := newLedger(t)
		var nodes []*fakeNode
		var on []*Entities[msg]
		begin := func() {
			n := w.start()
			typ := l.declare(n)
			typ.Shards = 300
			nodes, on = append(nodes, n), append(on, joinOn(t, n, typ))
		}
		begin()
		begin()
		begin()
		time.Sleep(3 * time.Second)
		if got := hosted(t, on...); !slices.Equal(got, []int{100, 100, 100}) {
			t.Fatalf("three nodes have %v shards, want 100 each", got)
		}
		before := homes(on...)
		begin()
		time.Sleep(3 * time.Second)
		if got := hosted(t, on...); !slices.Equal(got, []int{75, 75, 75, 75}) {
			t.Errorf("four nodes have %v shards, want 75 each", got)
		}
		after := homes(on...)
		moved := 0
		for shard, home := range before {
			if after[shard] == home {
				continue
			}
			if moved++; after[shard] != nodes[3].id {
				t.Errorf("shard %s has moved from %v to %v, and both stay", shard, home, after[shard])
			}
		}
		if moved != 75 {
			t.Errorf("%d shards have moved to the new node, want 75", moved)
		}
		nodes[0].leave()
		if seats := seatsIn(t, w); len(seats) != 3 {
			t.Errorf("after a leave these sit: %v, want three", seats)
		}
		if got := hosted(t, on[1:]...); !slices.Equal(got, []int{100, 100, 100}) {
			t.Errorf("the three that are left have %v shards, want 100 each", got)
		}
	})
}

// homes gives the node that hosts each shard.
func homes(on ...*Entities[msg]) map[string]member.ID {
	out := map[string]member.ID{}
	for _, e := range on {
		for _, s := range e.Region().Hosted() {
			out[s.Shard] = e.r.self
		}
	}
	return out
}

// seatsIn lists who sits in the ring of the world.
func seatsIn(t *testing.T, w *world) (runners []string) {
	t.Helper()
	seats, _, err := w.store.Table(context.Background(), store.Ring{Cluster: "world", Type: "room"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range seats {
		runners = append(runners, s.Runner)
	}
	return runners
}

// answers asks the entities until they have all answered, and gives how long that took.
func answers(t *testing.T, e *Entities[msg], ids []string, within time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	for _, id := range ids {
		for {
			_, err := ask(e, id, 200*time.Millisecond) // one that is lost with a node is asked again
			if err == nil {
				break
			}
			if time.Since(began) > within {
				t.Errorf("ask %s, %v later: %v; want all answers within %v", id, time.Since(began), err, within)
				return within
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return time.Since(began)
}

// crashed forgets what lived on a node that ended without a word, or that does not
// act for what it hosts any more.
func (l *ledger) crashed(node member.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, home := range l.alive {
		if home == node {
			delete(l.alive, id)
		}
	}
}

// What a killed node hosted answers again within a lease and a second, though
// nobody has found out yet that it is dead.
func TestRingRecoversFromACrash(t *testing.T) {
	inRing(t, func(w *world) {
		l := newLedger(t)
		a, b, c := w.start(), w.start(), w.start()
		joinOn(t, a, l.declare(a))
		onB, onC := joinOn(t, b, l.declare(b)), joinOn(t, c, l.declare(c))
		time.Sleep(3 * time.Second)
		answers(t, onB, ids(40), time.Second)
		a.gone()
		l.crashed(a.id)
		took := answers(t, onB, ids(40), 4*time.Second)
		t.Logf("all answered %v after the kill", took)
		hosted(t, onB, onC)
	})
}

// A store that is away for less than the lease is not noticed; one that is away for
// longer stops all entities, before another could have them, and they go on when it
// is back. No message is lost meanwhile.
func TestRingOutlastsTheStore(t *testing.T) {
	for _, tt := range []struct {
		fault  storetest.Fault
		away   time.Duration
		starts int // of each entity at most: after a long time once more on the node that sits down first, and on the next
	}{
		{storetest.LoseRequest, 1500 * time.Millisecond, 1},
		{storetest.LoseAnswer, 1500 * time.Millisecond, 1},
		{storetest.Hang, 1500 * time.Millisecond, 1},
		{storetest.LoseRequest, 20 * time.Second, 3},
		{storetest.LoseAnswer, 20 * time.Second, 3},
		{storetest.Hang, 20 * time.Second, 3},
		{storetest.Delay, 20 * time.Second, 3},
	} {
		t.Run(fmt.Sprintf("fault %d for %v", tt.fault, tt.away), func(t *testing.T) {
			inRing(t, func(w *world) {
				l := newLedger(t)
				a, b := w.start(), w.start()
				onA, onB := joinOn(t, a, l.declare(a)), joinOn(t, b, l.declare(b))
				time.Sleep(3 * time.Second)
				through := []*Entities[msg]{onA, onB}
				senders, wait := storm(t, through, ids(20), 300, 100*time.Millisecond)
				time.Sleep(time.Second)
				for _, n := range []*fakeNode{a, b} {
					n.way.Set(tt.fault)
				}
				time.Sleep(tt.away)
				lives := hosted(t, onA, onB)
				if stopped := lives[0]+lives[1] == 0; stopped != (tt.starts > 1) {
					t.Errorf("while the store is away the nodes have %v shards", lives)
				}
				if tt.starts > 1 {
					if why := fmt.Sprint(onA.Region().Why(context.Background(), "#1")); !strings.Contains(why, "store") {
						t.Errorf("why does not name the store: %s", why)
					}
				}
				for _, n := range []*fakeNode{a, b} {
					n.way.Set(storetest.None)
					n.way.Deliver(context.Background())
				}
				answers(t, onA, ids(20), 2*time.Second)
				wait()
				time.Sleep(time.Second)
				l.complete(ids(20), senders, 300)
				for _, id := range ids(20) {
					if got := l.starts1(id); got > tt.starts {
						t.Errorf("%s has started %d times, want %d at most", id, got, tt.starts)
					}
				}
			})
		})
	}
}

// A node that alone does not reach the store hosts nothing and goes on routing: its
// shards live elsewhere, and come back when it does.
func TestRingNodeWithoutTheStore(t *testing.T) {
	inRing(t, func(w *world) {
		l := newLedger(t)
		a, b := w.start(), w.start()
		onA, onB := joinOn(t, a, l.declare(a)), joinOn(t, b, l.declare(b))
		time.Sleep(3 * time.Second)
		senders, wait := storm(t, []*Entities[msg]{onA, onB}, ids(20), 300, 100*time.Millisecond)
		time.Sleep(time.Second)
		a.way.Set(storetest.Hang)
		time.Sleep(5 * time.Second)
		if got := hosted(t, onA, onB); got[0] != 0 || got[1] != 8 {
			t.Errorf("without the store for 5 s the nodes have %v shards, want 0 and 8", got)
		}
		answers(t, onA, ids(20), time.Second)
		a.way.Set(storetest.None)
		time.Sleep(5 * time.Second)
		if got := hosted(t, onA, onB); got[0] != 4 || got[1] != 4 {
			t.Errorf("with the store again the nodes have %v shards, want 4 each", got)
		}
		wait()
		time.Sleep(time.Second)
		l.complete(ids(20), senders, 300)
	})
}

// A process that wakes after its seat has run out handles nothing first, whatever
// comes to it and whoever wakes first: its shards are elsewhere.
func TestRingNodeThatWakesHandlesNothing(t *testing.T) {
	inRing(t, func(w *world) {
		o := &owners{t: t, last: map[string]member.ID{}, handled: map[string]int{}}
		a, b := w.start(), w.start()
		l := newLedger(t)
		declare := func(n *fakeNode) Type[msg] {
			typ := l.declare(n)
			typ.Start = o.start(n.id)
			return typ
		}
		onA, onB := joinOn(t, a, declare(a)), joinOn(t, b, declare(b))
		time.Sleep(3 * time.Second)
		for _, id := range ids(20) {
			tell(t, onB, id, say{From: "x", N: 1})
		}
		time.Sleep(time.Second)
		wake := make(chan struct{})
		onA.r.control.queries <- func() { <-wake } // neither its loop nor what it asks the store runs
		a.way.Set(storetest.Hang)
		time.Sleep(10 * time.Second)
		if got := len(onB.Region().Hosted()); got != 8 {
			t.Fatalf("the other node has %d shards after 10 s, want all 8", got)
		}
		for _, id := range ids(20) {
			tell(t, onB, id, say{From: "x", N: 2})
			tell(t, onA, id, say{From: "y", N: 1}) // straight to its entities, as far as it knows
		}
		time.Sleep(time.Second)
		a.way.Set(storetest.None)
		close(wake)
		time.Sleep(time.Second)
		for _, id := range ids(20) {
			if got := o.of(id); got != 3 {
				t.Errorf("%s has handled %d messages, want 3", id, got)
			}
		}
	})
}

// owners knows, from outside, where each entity was started last.
type owners struct {
	t       *testing.T
	mu      sync.Mutex
	last    map[string]member.ID
	handled map[string]int
}

func (o *owners) of(id string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.handled[id]
}

func (o *owners) start(on member.ID) actor.Start[msg] {
	return func(c *actor.Ctx[msg]) (actor.Behavior[msg], error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.last[c.Name()] = on
		return func(c *actor.Ctx[msg], m msg) error {
			o.mu.Lock()
			defer o.mu.Unlock()
			if last := o.last[c.Name()]; last != on {
				o.t.Errorf("%s handles %v on %v after it was started on %v", c.Name(), m, on, last)
			}
			o.handled[c.Name()]++
			return nil
		}, nil
	}
}
