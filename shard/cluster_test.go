package shard_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard"
	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/store/storetest"
	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/wire"
)

// The entity of this file notes what it is told and where.
type (
	roomMsg interface{ isRoomMsg() }
	note    struct {
		From string
		N    int
	}
	where struct {
		Reply actor.Reply[string] `cbor:"-"`
	}
)

func (note) isRoomMsg()                                 {}
func (where) isRoomMsg()                                {}
func (m where) WithReply(r actor.Reply[string]) roomMsg { m.Reply = r; return m }

// notes is what all rooms heard: sender → numbers, per room.
type notes struct {
	mu sync.Mutex
	by map[string][]int
}

func (b *notes) add(key string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.by[key] = append(b.by[key], n)
}

func (b *notes) of(key string) []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.by[key])
}

func joinRooms(t *testing.T, n *troupe.Node, b *notes) *shard.Entities[roomMsg] {
	t.Helper()
	rooms, err := shard.Join(n, roomType(n, b))
	if err != nil {
		t.Fatal(err)
	}
	return rooms
}

// roomType has a ring on nodes with a store.
func roomType(n *troupe.Node, b *notes) shard.Type[roomMsg] {
	typ := shard.Type[roomMsg]{
		Name:     "room",
		Shards:   100,
		Protocol: wire.MustProtocol[roomMsg](wire.Message("note", note{}), wire.Request("where", where{})),
		Start: func(*actor.Ctx[roomMsg]) (actor.Behavior[roomMsg], error) {
			return func(c *actor.Ctx[roomMsg], m roomMsg) error {
				switch m := m.(type) {
				case note:
					b.add(c.Name()+" "+m.From, m.N)
				case where:
					return m.Reply.Send(c, n.ID().String())
				}
				return nil
			}, nil
		},
	}
	if n.Store() != nil {
		typ.Ring = &shard.Ring{}
	}
	return typ
}

// bothClusters runs a test on four nodes where a coordinator decides, and where a ring does.
func bothClusters(t *testing.T, f func(t *testing.T, nodes []*troupe.Node)) {
	t.Helper()
	t.Run("coordinator", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, startNodes(t, 4)) })
	})
	t.Run("ring", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			shared := store.NewMemory()
			f(t, startStored(t, 4, func() store.Store { return shared }))
		})
	})
}

func startNodes(t *testing.T, n int) []*troupe.Node {
	t.Helper()
	return startStored(t, n, func() store.Store { return nil })
}

// startStored starts nodes that each have a way to a store, unless it is nil.
func startStored(t *testing.T, n int, way func() store.Store) []*troupe.Node {
	t.Helper()
	memory := transport.NewMemory()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var nodes []*troupe.Node
	for i := range n {
		node, err := troupe.Start(ctx, troupe.Config{
			Listen: fmt.Sprintf("127.0.0.1:%d", 9000+i), Seeds: []string{"127.0.0.1:9000"},
			Transport: memory, Log: slog.New(slog.DiscardHandler), Store: way(),
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := node.WhenUp(ctx); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// Whole nodes over the in-memory transport: a leave under traffic loses, repeats
// and reorders nothing, and a crash is recovered from.
func TestClusterLeaveAndCrash(t *testing.T) {
	bothClusters(t, func(t *testing.T, nodes []*troupe.Node) {
		b := &notes{by: map[string][]int{}}
		var rooms []*shard.Entities[roomMsg]
		for _, n := range nodes {
			rooms = append(rooms, joinRooms(t, n, b))
		}
		ctx := context.Background()
		const chats, messages = 30, 300
		var wg sync.WaitGroup
		for s := 1; s <= 2; s++ { // through nodes that stay
			wg.Go(func() {
				for i := range messages {
					for c := range chats {
						if err := rooms[s].Ref(fmt.Sprint("#", c)).Tell(ctx, note{fmt.Sprint("via-", s), i}); err != nil {
							t.Errorf("tell: %v", err)
						}
					}
					time.Sleep(20 * time.Millisecond)
				}
			})
		}
		time.Sleep(2 * time.Second)
		began := time.Now()
		if err := nodes[0].Leave(ctx); err != nil { // the coordinator's
			t.Errorf("leave: %v", err)
		}
		t.Logf("left after %v", time.Since(began))
		wg.Wait()
		time.Sleep(5 * time.Second)
		for c := range chats {
			for s := 1; s <= 2; s++ {
				key := fmt.Sprintf("#%d via-%d", c, s)
				got := b.of(key)
				if len(got) != messages || !slices.IsSorted(got) {
					t.Errorf("%s heard %d of %d messages, in order: %v", key, len(got), messages, slices.IsSorted(got))
				}
			}
		}

		nodes[3].Kill()
		began = time.Now()
		for c := range chats {
			for {
				within, cancel := context.WithTimeout(ctx, time.Second)
				_, err := actor.Ask(within, rooms[1].Ref(fmt.Sprint("#", c)), where{})
				cancel()
				if err == nil {
					break
				}
				if time.Since(began) > 2*time.Minute {
					t.Fatalf("#%d does not answer two minutes after the crash of a host: %v\n%v", c, err, rooms[1].Region().Why(ctx, fmt.Sprint("#", c)))
				}
			}
		}
		t.Logf("all answer again after %v", time.Since(began))
		nodes[2].Kill()
		nodes[1].Kill()
	})
}

// When the whole cluster shuts down nothing moves: entities end where they are,
// gracefully, and all nodes are gone in little more than the time that one takes.
func TestWholeClusterShutdownMovesNothing(t *testing.T) {
	bothClusters(t, func(t *testing.T, nodes []*troupe.Node) {
		b := &notes{by: map[string][]int{}}
		var rooms []*shard.Entities[roomMsg]
		for _, n := range nodes {
			rooms = append(rooms, joinRooms(t, n, b))
		}
		ctx := context.Background()
		const chats = 30
		homes := func() (at []string) {
			for c := range chats {
				within, cancel := context.WithTimeout(ctx, 10*time.Second)
				home, err := actor.Ask(within, rooms[c%4].Ref(fmt.Sprint("#", c)), where{})
				cancel()
				if err != nil {
					t.Fatalf("#%d: %v", c, err)
				}
				at = append(at, home)
			}
			return at
		}
		time.Sleep(30 * time.Second) // a ring moves shards until all have come
		before := homes()
		if err := nodes[2].PrepareClusterShutdown(ctx); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second) // several rounds of rebalancing
		if after := homes(); !slices.Equal(after, before) {
			t.Errorf("homes before and after the announcement:\n%v\n%v", before, after)
		}
		began := time.Now()
		var all sync.WaitGroup
		for _, n := range nodes {
			all.Go(func() {
				if err := n.Leave(ctx); err != nil {
					t.Errorf("%v: %v", n.ID(), err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("all nodes were gone after %v, want within 15 s", took)
		}
		for i, r := range rooms {
			if moved := r.Region().Hosted(); len(moved) > 0 {
				t.Errorf("node %d still hosts %v", i, moved)
			}
		}
	})
}

// A node that is on its way out takes part in nothing new, and says so.
func TestJoinOnANodeThatEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(*troupe.Node) error
	}{
		{"left", func(n *troupe.Node) error { return n.Leave(context.Background()) }},
		{"killed", func(n *troupe.Node) error { n.Kill(); return nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := startNodes(t, 1)[0]
				if err := tt.end(n); err != nil {
					t.Fatal(err)
				}
				if rooms, err := shard.Join(n, roomType(n, new(notes))); !errors.Is(err, troupe.ErrEnding) || rooms != nil {
					t.Errorf("joined: %v, error %v; want ErrEnding", rooms != nil, err)
				}
				if got := shard.Regions(n); len(got) != 0 {
					t.Errorf("regions %v, want none", got)
				}
			})
		})
	}
}

func TestJoinOnANodeThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startNodes(t, 1)[0]
		joined := make(chan error, 1)
		err := n.OnLeave("late", func(context.Context) error {
			_, err := shard.Join(n, roomType(n, new(notes)))
			joined <- err
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-joined; !errors.Is(err, troupe.ErrEnding) {
			t.Errorf("join while leaving: %v, want ErrEnding", err)
		}
	})
}

// Whole nodes under a ring, whose store is away for longer than the lease: entities
// stop and go on, no message is lost, and no node leaves the cluster for it.
func TestClusterOutlastsTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := store.NewMemory()
		var ways []*storetest.Faulty
		nodes := startStored(t, 3, func() store.Store {
			ways = append(ways, storetest.NewFaulty(shared))
			return ways[len(ways)-1]
		})
		b := &notes{by: map[string][]int{}}
		var rooms []*shard.Entities[roomMsg]
		for _, n := range nodes {
			rooms = append(rooms, joinRooms(t, n, b))
		}
		time.Sleep(3 * time.Second)
		const chats, messages = 30, 200
		ctx := context.Background()
		var wg sync.WaitGroup
		for s, r := range rooms {
			wg.Go(func() {
				for i := range messages {
					for c := range chats {
						if err := r.Ref(fmt.Sprint("#", c)).Tell(ctx, note{fmt.Sprint("via-", s), i}); err != nil {
							t.Errorf("tell: %v", err)
						}
					}
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		time.Sleep(2 * time.Second)
		for _, w := range ways {
			w.Set(storetest.Hang)
		}
		time.Sleep(10 * time.Second)
		for i, r := range rooms {
			if got := r.Region().Hosted(); len(got) > 0 {
				t.Errorf("without the store for 10 s node %d hosts %d shards", i, len(got))
			}
		}
		for _, w := range ways {
			w.Set(storetest.None)
		}
		wg.Wait()
		time.Sleep(5 * time.Second)
		for c := range chats {
			for s := range rooms {
				key := fmt.Sprintf("#%d via-%d", c, s)
				if got := b.of(key); len(got) != messages || !slices.IsSorted(got) {
					t.Errorf("%s heard %d of %d messages, in order: %v", key, len(got), messages, slices.IsSorted(got))
				}
			}
		}
		for _, n := range nodes {
			if got := len(n.View().Members); got != 3 {
				t.Errorf("%v sees %d members, want 3", n.ID(), got)
			}
			n.Kill()
		}
	})
}
