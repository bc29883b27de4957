package shard_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard"
)

// BenchmarkGracefulLeave is the leave of a node that hosts 1,000 shards with 100,000
// live entities, over real links, while two others take over: until the node has
// ended, and how long its shards took.
func BenchmarkGracefulLeave(b *testing.B) {
	const shards, entities = 1000, 100_000
	for b.Loop() {
		b.StopTimer()
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		var nodes []*troupe.Node
		var rooms []*shard.Entities[roomMsg]
		seed := ""
		for range 3 {
			cfg := troupe.Config{Listen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)}
			if seed != "" {
				cfg.Seeds = []string{seed}
			}
			n, err := troupe.Start(ctx, cfg)
			if err != nil {
				b.Fatal(err)
			}
			if err := n.WhenUp(ctx); err != nil {
				b.Fatal(err)
			}
			seed = n.ID().Address.String()
			typ := roomType(n, &notes{by: map[string][]int{}})
			typ.Shards, typ.RebalanceEvery, typ.Mailbox = shards, -1, 0
			r, err := shard.Join(n, typ)
			if err != nil {
				b.Fatal(err)
			}
			nodes, rooms = append(nodes, n), append(rooms, r)
			if len(nodes) == 1 { // everything starts here
				for i := range entities {
					if err := r.Ref(fmt.Sprint("#", i)).TellWait(ctx, note{}); err != nil {
						b.Fatal(err)
					}
				}
				for i := range entities {
					if _, err := actor.Ask(ctx, r.Ref(fmt.Sprint("#", i)), where{}); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
		for !rooms[1].Region().Registered() || !rooms[2].Region().Registered() {
			time.Sleep(10 * time.Millisecond)
		}
		stats := rooms[0].Region().Stats()
		if len(stats.Shards) != shards || stats.Entities() != entities {
			b.Fatalf("the node has %d shards and %d entities", len(stats.Shards), stats.Entities())
		}
		began := time.Now()
		moved := make(chan time.Duration, 1)
		go func() {
			for len(rooms[1].Region().Hosted())+len(rooms[2].Region().Hosted()) < shards && ctx.Err() == nil {
				time.Sleep(5 * time.Millisecond)
			}
			moved <- time.Since(began)
		}()
		b.StartTimer()
		if err := nodes[0].Leave(ctx); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		b.ReportMetric((<-moved).Seconds(), "s/moved")
		for _, n := range nodes[1:] {
			n.Kill()
		}
		cancel()
		b.StartTimer()
	}
}
