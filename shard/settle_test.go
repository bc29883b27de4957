package shard_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/shard"
)

// SHD-13: a node is added to ten that host 1,000 shards, and nothing is told.
func TestSHD13AddingANodeToTenSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		homes := map[string]int{}
		join := func(n *troupe.Node) *shard.Entities[roomMsg] {
			typ := roomType(n, &notes{by: map[string][]int{}})
			typ.Shards = 1000
			typ.Observe = func(e shard.Event) {
				if e.Kind == shard.HomeLearned && e.Node == n.ID() {
					mu.Lock()
					homes[e.Shard]++
					mu.Unlock()
				}
			}
			r, err := shard.Join(n, typ)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		nodes := startNodes(t, 11)
		defer func() {
			for _, n := range nodes {
				n.Kill()
			}
		}()
		var first *shard.Entities[roomMsg]
		for _, n := range nodes[:10] {
			first = join(n)
		}
		for i := range 10_000 {
			if err := first.Ref(fmt.Sprint("#", i)).Tell(t.Context(), note{}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		count := func() (shards, moves, most int) {
			mu.Lock()
			defer mu.Unlock()
			for _, n := range homes {
				moves += n - 1
				most = max(most, n-1)
			}
			return len(homes), moves, most
		}
		shards, before, _ := count()
		clear(homes)
		added := join(nodes[10])
		time.Sleep(time.Minute)
		_, moves, most := count()
		moves += len(homes) // each of which had a home before
		got := len(added.Region().Hosted())
		if moves > shards*12/110+1 || most > 0 || got < shards/11-1 {
			t.Errorf("%d moves of %d shards, one moved %d times more than once; the new node has %d", moves, shards, most, got)
		}
		time.Sleep(time.Minute)
		if _, again, _ := count(); again+len(homes) != moves {
			t.Errorf("%d moves more after it had settled", again+len(homes)-moves)
		}
		t.Logf("%d shards, %d moves, and %d before the node came", shards, moves, before)
	})
}
