package shard

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/wire"
)

// tock is what a clock's timer tells it; nobody else can.
type tock struct{}

func (tock) isTallyMsg() {}

// A clock ticks once a minute. The number of the last tick is stored, and being
// remembered it goes on wherever its shard lives.
type clock struct {
	state *State
	ticks int
	at    store.Revision
	heard func(id string, tick int)
}

func (k *clock) hear(c *actor.Ctx[tallyMsg], m tallyMsg) error {
	if a, asked := m.(add); asked {
		return a.Reply.Send(c, k.ticks)
	}
	next := k.ticks + 1
	at, err := k.state.Put(c, "ticks", k.at, fmt.Append(nil, next))
	if err != nil {
		return err
	}
	k.ticks, k.at = next, at
	k.heard(c.Name(), next)
	return c.After(time.Minute, tock{})
}

// SHD-14: a timer belongs to the incarnation that lives where the shard does, and
// what it does is stored under that owner's epoch: while nodes are restarted one
// after the other each tick happens once.
func TestSHD14TimersGoOnWhereTheEntityLives(t *testing.T) {
	storing(t, func(t *testing.T, next func() *world) {
		const clocks = 100
		var mu sync.Mutex
		ticks := map[string][]int{}
		heard := func(id string, tick int) {
			mu.Lock()
			defer mu.Unlock()
			ticks[id] = append(ticks[id], tick)
		}
		start := func(c *actor.Ctx[tallyMsg]) (actor.Behavior[tallyMsg], error) {
			s, err := StateOf(c)
			if err != nil {
				return nil, err
			}
			e, err := s.Get(c, "ticks")
			if err != nil {
				return nil, err
			}
			k := &clock{state: s, at: e.Revision, heard: heard}
			if e.Exists() {
				if _, err := fmt.Sscan(string(e.Value), &k.ticks); err != nil {
					return nil, err
				}
			}
			return k.hear, c.After(time.Minute, tock{})
		}
		w := next()
		joinClocks := func(n *fakeNode) *Entities[tallyMsg] {
			e, err := join(n, Type[tallyMsg]{
				Name: "clock", Start: start, Protocol: wire.MustProtocol[tallyMsg](wire.Request("add", add{})),
				Shards: 8, Remember: true, RebalanceEvery: -1, Ring: w.ring,
			})
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		var nodes []*fakeNode
		var on *Entities[tallyMsg]
		for range 3 {
			nodes = append(nodes, w.start())
			on = joinClocks(nodes[len(nodes)-1])
		}
		for i := range clocks {
			if _, err := addTo(on, fmt.Sprint("clock-", i), 0); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range nodes {
			time.Sleep(5 * time.Minute)
			n.leave()
			joinClocks(w.start())
		}
		time.Sleep(5 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		for i := range clocks {
			id := fmt.Sprint("clock-", i)
			for n, tick := range ticks[id] {
				if tick != n+1 {
					t.Errorf("%s ticked %v, want 1, 2, 3 …", id, ticks[id])
					break
				}
			}
			if got := len(ticks[id]); got < 15 {
				t.Errorf("%s ticked %d times in 20 minutes and three moves, want at least 15", id, got)
			}
		}
	})
}
