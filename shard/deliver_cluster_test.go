package shard_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard"
	"github.com/troupe-go/troupe/transport"
)

// startNodesOn starts so many nodes, configured as change has it.
func startNodesOn(t *testing.T, memory *transport.Memory, n int, change func(*troupe.Config)) (nodes []*troupe.Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range n {
		cfg := troupe.Config{
			Listen: fmt.Sprintf("127.0.0.1:%d", 9000+i), Seeds: []string{"127.0.0.1:9000"},
			Transport: memory, Log: slog.New(slog.DiscardHandler),
		}
		change(&cfg)
		node, err := troupe.Start(ctx, cfg)
		if err == nil {
			err = node.WhenUp(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// joinOnce joins rooms that note each message once: a repeat that says so is left out.
func joinOnce(t *testing.T, n *troupe.Node, b *notes) *shard.Entities[roomMsg] {
	t.Helper()
	typ := roomType(n, b)
	typ.Start = func(*actor.Ctx[roomMsg]) (actor.Behavior[roomMsg], error) {
		return func(c *actor.Ctx[roomMsg], m roomMsg) error {
			switch m := m.(type) {
			case note:
				key := c.Name() + " " + m.From
				_, repeat, _ := shard.InHand(c)
				if heard := b.of(key); repeat && slices.Contains(heard, m.N) {
					return nil
				}
				b.add(key, m.N)
			case where:
				return m.Reply.Send(c, n.ID().String())
			}
			return nil
		}, nil
	}
	rooms, err := shard.Join(n, typ)
	if err != nil {
		t.Fatal(err)
	}
	return rooms
}

// Whole nodes: owners are killed and leave under tells and asks, and links break and
// come back. Nothing that a living node accepted is lost, the order of each sender
// holds, nothing is repeated that does not say so, and no ask fails.
func TestClusterLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := transport.NewMemory()
		nodes := startNodesOn(t, memory, 5, func(*troupe.Config) {})
		b := &notes{by: map[string][]int{}}
		var rooms []*shard.Entities[roomMsg]
		for _, n := range nodes {
			rooms = append(rooms, joinOnce(t, n, b))
		}
		const chats, messages = 30, 600
		var wg sync.WaitGroup
		for s := range 2 { // through nodes that stay
			wg.Go(func() {
				for i := range messages {
					for c := range chats {
						if err := rooms[s].Ref(fmt.Sprint("#", c)).Tell(t.Context(), note{fmt.Sprint("via-", s), i}); err != nil {
							t.Errorf("tell: %v", err)
						}
					}
					time.Sleep(20 * time.Millisecond)
				}
			})
			wg.Go(func() {
				for i := range messages / 5 {
					within, cancel := context.WithTimeout(t.Context(), time.Minute)
					if _, err := actor.Ask(within, rooms[s].Ref(fmt.Sprint("#", i%chats)), where{}); err != nil {
						t.Errorf("ask %d: %v", i, err)
					}
					cancel()
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		for range 5 { // the links of one edge break
			time.Sleep(400 * time.Millisecond)
			for _, n := range nodes[1:] {
				memory.Reset(nodes[0].ID().Address, n.ID().Address)
			}
		}
		nodes[2].Kill()
		time.Sleep(3 * time.Second)
		if err := nodes[3].Leave(t.Context()); err != nil {
			t.Errorf("leave: %v", err)
		}
		time.Sleep(time.Second)
		nodes[4].Kill()
		wg.Wait()
		for range 300 {
			if rooms[0].Region().Waiting()+rooms[1].Region().Waiting() == 0 {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		for c := range chats {
			for s := range 2 {
				key := fmt.Sprintf("#%d via-%d", c, s)
				got := b.of(key)
				if len(got) != messages || !slices.IsSorted(got) {
					t.Errorf("%s heard %d of %d messages, in order: %v", key, len(got), messages, slices.IsSorted(got))
				}
			}
		}
		for s := range 2 {
			if n := rooms[s].Region().Waiting(); n > 0 {
				t.Errorf("%d messages still wait on node %d: %v", n, s, rooms[s].Region().Drops())
			}
		}
		nodes[1].Kill()
		nodes[0].Kill()
	})
}

// An answer that is lost with its link is given again while its owner lives, and the
// request is handled once.
func TestAnswerLostWithItsLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := transport.NewMemory()
		nodes := startNodesOn(t, memory, 2, func(*troupe.Config) {})
		asker, other := nodes[0].ID().Address, nodes[1].ID().Address
		var breaks atomic.Bool
		var handled atomic.Int32
		var rooms []*shard.Entities[roomMsg]
		for _, n := range nodes {
			typ := roomType(n, &notes{by: map[string][]int{}})
			typ.Start = func(*actor.Ctx[roomMsg]) (actor.Behavior[roomMsg], error) {
				return func(c *actor.Ctx[roomMsg], m roomMsg) error {
					if breaks.Load() {
						memory.Cut(other, asker)
					}
					handled.Add(1)
					return m.(where).Reply.Send(c, n.ID().String())
				}, nil
			}
			r, err := shard.Join(n, typ)
			if err != nil {
				t.Fatal(err)
			}
			rooms = append(rooms, r)
		}
		const chats = 20
		for _, lost := range []bool{false, true} { // the first time the shards get their homes
			breaks.Store(lost)
			var wg sync.WaitGroup
			for c := range chats {
				wg.Go(func() {
					within, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					defer cancel()
					if _, err := actor.Ask(within, rooms[0].Ref(fmt.Sprint("#", c)), where{}); err != nil {
						t.Errorf("ask %d: %v", c, err)
					}
				})
			}
			if synctest.Wait(); lost {
				memory.Reset(asker, other)
				memory.Heal(other, asker)
			}
			wg.Wait()
		}
		if n := handled.Load(); n != 2*chats {
			t.Errorf("%d requests were handled, want %d", n, 2*chats)
		}
		for _, n := range nodes {
			n.Kill()
		}
	})
}

// A shard whose host was told so over a link that broke is hosted soon all the same.
func TestHomeNamedOverABrokenLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := transport.NewMemory()
		nodes := startNodesOn(t, memory, 2, func(*troupe.Config) {})
		b := &notes{by: map[string][]int{}}
		rooms := joinOnce(t, nodes[0], b)
		joinOnce(t, nodes[1], b)
		for c := range 20 {
			memory.Reset(nodes[0].ID().Address, nodes[1].ID().Address)
			within, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			if _, err := actor.Ask(within, rooms.Ref(fmt.Sprint("#", c)), where{}); err != nil {
				t.Errorf("ask %d: %v", c, err)
			}
			cancel()
			time.Sleep(5 * time.Second)
		}
		for _, n := range nodes {
			n.Kill()
		}
	})
}

// SHD-09: what goes in is delivered or a dead letter, counted on the nodes that live:
// here entities refuse to start, then the type's node ends with messages in hand.
func TestSHD09ShardRestartDiscardsBuffersSilently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		dead := map[actor.Reason]int{}
		nodes := startNodesOn(t, transport.NewMemory(), 2, func(cfg *troupe.Config) {
			cfg.DeadLetter = func(d actor.DeadLetter) {
				if _, ok := d.Message.(note); ok {
					mu.Lock()
					defer mu.Unlock()
					dead[d.Reason]++
				}
			}
		})
		b := &notes{by: map[string][]int{}}
		var rooms []*shard.Entities[roomMsg]
		starts := map[string]int{}
		for _, n := range nodes {
			typ := roomType(n, b)
			begin := typ.Start
			typ.Start = func(c *actor.Ctx[roomMsg]) (actor.Behavior[roomMsg], error) {
				mu.Lock()
				defer mu.Unlock()
				if starts[c.Name()]++; starts[c.Name()] <= 1 {
					return nil, errors.New("the store did not answer")
				}
				return begin(c)
			}
			r, err := shard.Join(n, typ)
			if err != nil {
				t.Fatal(err)
			}
			rooms = append(rooms, r)
		}
		const told, chats = 50, 10
		for i := range told {
			if err := rooms[0].Ref(fmt.Sprint("#", i%chats)).Tell(t.Context(), note{"x", i}); err != nil {
				t.Errorf("tell %d: %v", i, err)
			}
		}
		time.Sleep(10 * time.Second)
		if err := nodes[1].Leave(t.Context()); err != nil {
			t.Errorf("leave: %v", err)
		}
		time.Sleep(10 * time.Second)
		delivered, letters := 0, 0
		for c := range chats {
			delivered += len(b.of(fmt.Sprintf("#%d x", c)))
		}
		mu.Lock()
		defer mu.Unlock()
		for _, n := range dead {
			letters += n
		}
		if delivered+letters != told || letters == 0 || rooms[0].Region().Waiting() > 0 {
			t.Errorf("%d told, %d delivered, dead letters %v, %d wait", told, delivered, dead, rooms[0].Region().Waiting())
		}
		nodes[0].Kill()
	})
}
