package shard_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/shard"
)

// Busy shards that happen to be on one node are spread by what they cost, and stay
// where they are then.
func TestLeastLoadSpreadsWhatIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := startNodes(t, 2)
		defer leaveAll(t, nodes)
		var mu sync.Mutex
		moves := map[string]int{}
		var rooms []*shard.Entities[roomMsg]
		for _, n := range nodes {
			typ := roomType(n, &notes{by: map[string][]int{}})
			typ.Strategy = placement.LeastLoad{Settle: 30 * time.Second}
			typ.Observe = func(e shard.Event) {
				if e.Kind == shard.HomeLearned && e.Node == n.ID() {
					mu.Lock()
					moves[e.Shard]++
					mu.Unlock()
				}
			}
			r, err := shard.Join(n, typ)
			if err != nil {
				t.Fatal(err)
			}
			rooms = append(rooms, r)
		}
		var busy []string // four on one node, each in a shard of its own
		shards := map[string]bool{}
		for i := 0; len(busy) < 4; i++ {
			id := fmt.Sprint("#", i)
			at, s := place(t, rooms[0], id), rooms[0].Region().ShardOf(id)
			if at == nodes[0].ID().String() && !shards[s] {
				busy, shards[s] = append(busy, id), true
			}
		}
		for range 5 * 60 * 20 { // five minutes of 20 messages a second for each
			for i, id := range busy {
				if err := rooms[i%2].Ref(id).Tell(t.Context(), note{}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(50 * time.Millisecond)
		}
		on := map[string]int{}
		for _, id := range busy {
			on[place(t, rooms[1], id)]++
		}
		if on[nodes[0].ID().String()] != 2 {
			t.Errorf("busy shards by node: %v, want two on each", on)
		}
		total := 0
		for s, n := range moves {
			if total += n - 1; n > 2 {
				t.Errorf("shard %s moved %d times", s, n-1)
			}
		}
		if total > 6 {
			t.Errorf("%d moves", total)
		}
	})
}
