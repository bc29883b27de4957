package shard_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard"
	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/transport"
)

// A rollOut is a cluster of three hosts and an edge, which asks and hosts nothing,
// and what became of the shards.
type rollOut struct {
	t      *testing.T
	memory *transport.Memory
	store  store.Store // nil for none
	rings  bool
	hosts  [3]*troupe.Node
	edge   *shard.Entities[roomMsg]
	node   *troupe.Node // the edge's

	mu    sync.Mutex
	homes map[string]int // shard → how many hosts it had
	at    map[string]troupe.ID
}

func newRollOut(t *testing.T, ring bool) *rollOut {
	r := &rollOut{t: t, rings: ring}
	if ring {
		r.store = store.NewMemory()
	}
	return r.begin()
}

// newStoredRollOut has a coordinator, and a store.
func newStoredRollOut(t *testing.T, s store.Store) *rollOut {
	r := &rollOut{t: t, store: s}
	return r.begin()
}

func (r *rollOut) begin() *rollOut {
	r.memory, r.homes, r.at = transport.NewMemory(), map[string]int{}, map[string]troupe.ID{}
	for i := range r.hosts {
		r.start(i, "1.0")
	}
	r.node, r.edge = r.join(9009, "edge", "1.0")
	return r
}

func (r *rollOut) ring() *shard.Ring {
	if !r.rings {
		return nil
	}
	return &shard.Ring{}
}

// withBoth runs a test with either authority.
func withBoth(t *testing.T, f func(t *testing.T, r *rollOut)) {
	for name, ring := range map[string]bool{"coordinator": false, "ring": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRollOut(t, ring)
				defer r.end()
				f(t, r)
			})
		})
	}
}

func (r *rollOut) start(i int, version string) {
	r.hosts[i], _ = r.join(9000+i, "dad", version)
}

func (r *rollOut) join(port int, role, version string) (*troupe.Node, *shard.Entities[roomMsg]) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n, err := troupe.Start(ctx, troupe.Config{
		Listen: fmt.Sprintf("127.0.0.1:%d", port), Seeds: []string{"127.0.0.1:9000", "127.0.0.1:9001"}, Roles: []string{role},
		AppVersion: version, Transport: r.memory, Store: r.store, Log: slog.New(slog.DiscardHandler),
	})
	if err == nil {
		err = n.WhenUp(ctx)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	typ := roomType(n, &notes{by: map[string][]int{}})
	typ.Role, typ.Ring = "dad", r.ring()
	typ.Observe = func(e shard.Event) {
		if e.Kind == shard.HomeLearned && e.Node == n.ID() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.homes[e.Shard]++
			r.at[e.Shard] = n.ID()
		}
	}
	rooms, err := shard.Join(n, typ)
	if err != nil {
		r.t.Fatal(err)
	}
	return n, rooms
}

// under has the edge ask all the time while f runs: each ask must succeed.
func (r *rollOut) under(f func()) {
	over := make(chan struct{})
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			for {
				select {
				case <-over:
					return
				case <-time.After(time.Second):
				}
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				if _, err := actor.Ask(ctx, r.edge.Ref(fmt.Sprint("#", i)), where{}); err != nil {
					r.t.Errorf("#%d: %v", i, err)
				}
				cancel()
			}
		})
	}
	f()
	close(over)
	all.Wait()
}

// moves counts what has moved since the first home, and the shards of each node.
func (r *rollOut) moves() (total, most int, on map[troupe.ID]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	on = map[troupe.ID]int{}
	for s, n := range r.homes {
		total += n - 1
		most = max(most, n-1)
		on[r.at[s]]++
	}
	return total, most, on
}

func (r *rollOut) end() {
	for _, n := range r.hosts {
		n.Kill()
	}
	r.node.Kill()
}

// Three hosts are replaced one after the other under load, by nodes of a new version
// or of the same. No ask fails; nothing is spread anew before all are through, and
// what leaves goes to a node that has been replaced already, if there is one. So
// a third moves with the first, a half with each of the others, and a third when all
// are there: the fewest without a fourth node.
func TestRollingRestartMovesTheFewestShards(t *testing.T) {
	for _, version := range []string{"2.0", "1.0"} {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRollOut(t, false)
				defer r.end()
				r.under(func() {
					time.Sleep(time.Minute)
					before, _, _ := r.moves()
					for i := range r.hosts {
						if err := r.hosts[i].Leave(t.Context()); err != nil {
							t.Errorf("leave: %v", err)
						}
						time.Sleep(2 * time.Second)
						r.start(i, version)
						time.Sleep(5 * time.Second)
					}
					time.Sleep(time.Minute)
					total, most, on := r.moves()
					shards := len(r.homes)
					if total -= before; total > shards/3+shards/2+shards/2+shards/3+4 || most > 4 {
						t.Errorf("%d moves of %d shards, one of them moved %d times", total, shards, most)
					}
					for _, n := range r.hosts {
						if got := on[n.ID()]; got < shards/3 || got > shards/3+2 {
							t.Errorf("%d of %d shards on %s in the end", got, shards, n.ID())
						}
					}
					t.Logf("%d moves of %d shards, at most %d of one", total, shards, most)
				})
			})
		})
	}
}

// UPG-02: nodes are replaced one at a time by ones that have a type more and another
// less. All of them get through, nothing waits for a type that nobody coordinates, and
// the types that go on are served all the time.
func TestUPG02RollOutThatAddsATypeAndRemovesAnother(t *testing.T) {
	withBoth(t, func(t *testing.T, r *rollOut) {
		extra := func(n *troupe.Node, name string) *shard.Entities[roomMsg] {
			typ := roomType(n, &notes{by: map[string][]int{}})
			typ.Name, typ.Role, typ.Ring = name, "dad", r.ring()
			e, err := shard.Join(n, typ)
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		for _, n := range r.hosts {
			place(t, extra(n, "old"), "#1")
		}
		r.under(func() {
			var added [3]*shard.Entities[roomMsg]
			for i := range r.hosts {
				began := time.Now()
				if err := r.hosts[i].Leave(t.Context()); err != nil {
					t.Errorf("leave: %v", err)
				}
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("host %d took %v to leave", i, took)
				}
				r.start(i, "2.0")
				added[i] = extra(r.hosts[i], "new")
				time.Sleep(10 * time.Second)
			}
			for i, e := range added {
				if !e.Region().Registered() {
					t.Errorf("the added type is not registered on host %d", i)
				}
				place(t, e, fmt.Sprint("#", i))
			}
		})
	})
}

// A node that is drained before it leaves has nothing to hand over then, and nobody
// who asks notices either.
func TestDrainBeforeALeaveMovesEachShardOnce(t *testing.T) {
	withBoth(t, func(t *testing.T, r *rollOut) {
		r.under(func() {
			time.Sleep(time.Minute)
			before, _, on := r.moves()
			has := on[r.hosts[2].ID()]
			if err := shard.Drain(t.Context(), r.node, r.hosts[2].ID()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			if err := r.hosts[2].Leave(t.Context()); err != nil {
				t.Errorf("leave: %v", err)
			}
			time.Sleep(time.Minute)
			if after, _, _ := r.moves(); after-before != has {
				t.Errorf("%d moves for a node with %d shards", after-before, has)
			}
		})
	})
}
