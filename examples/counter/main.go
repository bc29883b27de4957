// Counter is the smallest entity: one number for each id, somewhere in the
// cluster.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard"
	"github.com/troupe-go/troupe/wire"
)

// Add is what a counter understands: add By, and answer with the sum.
type Add struct {
	By    int
	Reply actor.Reply[int]
}

// WithReply makes Add a request that is answered with an int.
func (m Add) WithReply(r actor.Reply[int]) Add { m.Reply = r; return m }

// start runs when the first message for an id comes: sum is its state.
func start(*actor.Ctx[Add]) (actor.Behavior[Add], error) {
	sum := 0
	return func(c *actor.Ctx[Add], m Add) error {
		sum += m.By
		return m.Reply.Send(c, sum)
	}, nil
}

func main() {
	ctx := context.Background()
	node, err := troupe.Start(ctx, troupe.Config{}) // a cluster of one; name Seeds to join another
	if err != nil {
		log.Fatal(err)
	}
	counters, err := shard.Join(node, shard.Type[Add]{
		Name: "counter", Start: start, Protocol: wire.MustProtocol[Add](wire.Request("counter.add", Add{})),
	})
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		sum, err := actor.Ask(ctx, counters.Ref("apples"), Add{By: 2})
		fmt.Println(sum, err)
	}
	if err := node.Leave(ctx); err != nil {
		log.Fatal(err)
	}
}
