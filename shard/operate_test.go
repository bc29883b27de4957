package shard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard"
	"github.com/troupe-go/troupe/store"
)

// operated starts three nodes with a type of 100 shards, nearly all of which have a home.
func operated(t *testing.T) ([]*troupe.Node, []*shard.Entities[roomMsg]) {
	t.Helper()
	nodes := startNodes(t, 3)
	var rooms []*shard.Entities[roomMsg]
	for _, n := range nodes {
		rooms = append(rooms, joinRooms(t, n, &notes{by: map[string][]int{}}))
	}
	for i := range 300 {
		place(t, rooms[0], fmt.Sprint("#", i))
	}
	return nodes, rooms
}

// place has an entity answer, from where it lives.
func place(t *testing.T, rooms *shard.Entities[roomMsg], id string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	at, err := actor.Ask(ctx, rooms.Ref(id), where{})
	if err != nil {
		t.Fatalf("%s: %v\n%s", id, err, rooms.Region().Why(context.Background(), id))
	}
	return at
}

func leaveAll(t *testing.T, nodes []*troupe.Node) {
	for _, n := range nodes {
		if err := n.Leave(t.Context()); err != nil {
			t.Errorf("leave: %v", err)
		}
	}
}

func TestOperatorMovesAndReleasesAShardFromAnyNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, rooms := operated(t)
		defer leaveAll(t, nodes)
		ctx := t.Context()
		region := rooms[2].Region() // not the coordinator's
		s := region.ShardOf("#1")
		for _, to := range []*troupe.Node{nodes[1], nodes[2], nodes[2], nodes[0]} {
			if err := region.Move(ctx, s, to.ID().Address); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute) // it stays, over rebalances too
			if got := place(t, rooms[1], "#1"); got != to.ID().String() {
				t.Errorf("moved to %s, lives on %s", to.ID(), got)
			}
		}
		if err := region.Release(ctx, s); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got := place(t, rooms[1], "#1"); got == nodes[0].ID().String() {
			t.Error("a released shard lives where it lived")
		}
		for _, tt := range []struct {
			err  error
			want error
			text string
		}{
			{region.Move(ctx, "1000", nodes[0].ID().Address), shard.ErrNoShard, `"1000"`},
			{region.Release(ctx, "x"), shard.ErrNoShard, `"x"`},
			{region.Move(ctx, s, troupe.Address{Host: "nobody", Port: 1}), shard.ErrUnfit, "nobody:1"},
		} {
			if !errors.Is(tt.err, tt.want) || !strings.Contains(tt.err.Error(), tt.text) {
				t.Errorf("refused with %v, want %v and %q", tt.err, tt.want, tt.text)
			}
		}
	})
}

// Homes that were set outlast the coordinator's node, and a node that comes back at
// its address gets its shards.
func TestSetHomesOutlastTheCoordinator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, rooms := operated(t)
		defer leaveAll(t, nodes[1:])
		s := rooms[0].Region().ShardOf("#1")
		if err := rooms[1].SetHome(t.Context(), s, nodes[2].ID().Address); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		nodes[0].Kill() // the coordinator's
		time.Sleep(2 * time.Minute)
		if got := place(t, rooms[1], "#1"); got != nodes[2].ID().String() {
			t.Fatalf("it lives on %s, want %s", got, nodes[2].ID())
		}
		if err := rooms[1].Region().Move(t.Context(), s, nodes[1].ID().Address); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := place(t, rooms[2], "#1"); got != nodes[1].ID().String() {
			t.Errorf("it lives on %s, want %s", got, nodes[1].ID())
		}
	})
}

// With a store they outlast a stop of all nodes.
func TestSetHomesOutlastTheClusterWithAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := store.NewMemory()
		r := newStoredRollOut(t, kept)
		place(t, r.edge, "#1")
		s := r.edge.Region().ShardOf("#1")
		if err := r.edge.SetHome(t.Context(), s, r.hosts[2].ID().Address); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		r.end()
		time.Sleep(5 * time.Minute)
		r = newStoredRollOut(t, kept)
		defer r.end()
		if got := place(t, r.edge, "#1"); got != r.hosts[2].ID().String() {
			t.Errorf("it lives on %s, want %s", got, r.hosts[2].ID())
		}
	})
}

func TestStatsOfTheWholeClusterNameWhoIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, rooms := operated(t)
		defer leaveAll(t, nodes[:2])
		stats := rooms[1].Region().ClusterStats(t.Context())
		shards, entities := 0, 0
		for _, r := range stats.Regions {
			shards += len(r.Shards)
			entities += r.Entities()
		}
		if shards != 94 || entities != 300 || len(stats.Regions) != 3 || len(stats.Silent) > 0 {
			t.Errorf("%d regions with %d shards and %d entities, silent %v; want 3, 94, 300", len(stats.Regions), shards, entities, stats.Silent)
		}
		nodes[2].Kill()
		began := time.Now()
		stats = rooms[1].Region().ClusterStats(t.Context())
		if len(stats.Regions) != 2 || len(stats.Silent) != 1 || stats.Silent[0].Node != nodes[2].ID() || stats.Silent[0].Err == nil {
			t.Errorf("after a crash: %+v", stats.Silent)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// Asked on a node that knows nothing, the answer has the accounts of who decides and
// of who hosts.
func TestWhyIsWholeOnAnyNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, rooms := operated(t)
		defer leaveAll(t, nodes)
		home := place(t, rooms[0], "#1")
		asked := 2
		if home == nodes[2].ID().String() {
			asked = 1
		}
		why := rooms[asked].Region().Why(t.Context(), "#1")
		if why.Home.String() != home {
			t.Errorf("home %s, want %s", why.Home, home)
		}
		var parts []string
		for _, a := range why.Accounts {
			parts = append(parts, a.Part)
			if a.Err != nil || a.State == "" || len(a.Waits) > 0 {
				t.Errorf("account %+v", a)
			}
		}
		want := []string{"asked", "decides", "hosts"}
		if home == nodes[0].ID().String() {
			want = want[:2]
		}
		if !slices.Equal(parts, want) {
			t.Errorf("accounts %v, want %v:\n%s", parts, want, why)
		}
		if why := rooms[asked].Region().Why(t.Context(), ""); why.Problem == "" {
			t.Errorf("no id, and no problem: %+v", why)
		}
	})
}

// A node that is drained gives everything away, gets nothing new, and takes part
// again when it is resumed.
func TestDrainAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, rooms := operated(t)
		defer leaveAll(t, nodes)
		if err := shard.Drain(t.Context(), nodes[0], nodes[2].ID()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if n := len(rooms[2].Region().Hosted()); n > 0 || !shard.Drained(nodes[2]) || shard.Drained(nodes[0]) {
			t.Fatalf("%d shards are left on the drained node", n)
		}
		place(t, rooms[2], "#1") // it routes
		time.Sleep(time.Minute)
		if n := len(rooms[2].Region().Hosted()); n > 0 {
			t.Fatalf("%d shards came back to the drained node", n)
		}
		if err := shard.Resume(t.Context(), nodes[1], nodes[2].ID()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := len(rooms[2].Region().Hosted()); n != 31 && n != 32 {
			t.Errorf("%d shards a minute after the end of the drain, want a third of 94", n)
		}
	})
}

// An entity that does not end holds its shard's move up. The watch tells of it once,
// it shows on each node that waits, and in the end it is fatal on the host alone.
func TestWatchTellsOnceOfWhatWaitsForTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := startNodes(t, 2)
		defer func() { nodes[0].Kill(); nodes[1].Kill() }()
		stuck := make(chan struct{})
		defer close(stuck)
		var rooms []*shard.Entities[roomMsg]
		events := make(chan shard.Event, 100)
		for _, n := range nodes {
			typ := roomType(n, &notes{by: map[string][]int{}})
			typ.HandOffTimeout, typ.Overdue = 10*time.Second, 5*time.Second
			typ.Observe = func(e shard.Event) {
				if e.Kind == shard.Overdue {
					events <- e
				}
			}
			start := typ.Start
			typ.Start = func(c *actor.Ctx[roomMsg]) (actor.Behavior[roomMsg], error) {
				c.Cleanup(func() {
					if c.Name() == "#1" {
						<-stuck
					}
				})
				return start(c)
			}
			r, err := shard.Join(n, typ)
			if err != nil {
				t.Fatal(err)
			}
			rooms = append(rooms, r)
		}
		home := place(t, rooms[0], "#1")
		host, other := 0, 1
		if home == nodes[1].ID().String() {
			host, other = 1, 0
		}
		time.Sleep(time.Second) // both have registered
		s := rooms[0].Region().ShardOf("#1")
		if err := rooms[other].Region().Move(t.Context(), s, nodes[other].ID().Address); err != nil {
			t.Fatal(err)
		}
		if err := rooms[other].Ref("#1").Tell(t.Context(), note{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(12 * time.Second)
		troubles := shard.Health(shard.Regions(nodes[host]))
		if len(troubles) == 0 || troubles[0].Shard != s || troubles[0].Fatal {
			t.Errorf("troubles of the host after 12 s: %+v", troubles)
		}
		time.Sleep(time.Minute)
		if !slices.ContainsFunc(shard.Health(shard.Regions(nodes[host])), func(t shard.Trouble) bool { return t.Fatal }) {
			t.Error("entities that do not end even by force are not fatal for their host")
		}
		for _, x := range shard.Health(shard.Regions(nodes[other])) {
			if x.Fatal {
				t.Errorf("fatal for a node that only waits: %+v", x)
			}
		}
		told := map[string]int{}
		for len(events) > 0 {
			e := <-events
			told[fmt.Sprint(e.Node, e.Shard, e.Wait.Why, e.Wait.Since)]++
		}
		for what, n := range told {
			if n > 1 {
				t.Errorf("%s was told %d times", what, n)
			}
		}
		if len(told) < 2 { // the host's, and the one of who waits
			t.Errorf("told: %v", told)
		}
		if n := rooms[host].Region().Stats().Overdue; n == 0 {
			t.Error("nothing was counted")
		}
	})
}
