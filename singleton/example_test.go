package singleton_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/singleton"
	"github.com/troupe-go/troupe/wire"
)

// Draw draws the next number of a queue, of which there is one in the cluster.
type Draw struct {
	Reply actor.Reply[int] `cbor:"-"`
}

func (m Draw) WithReply(r actor.Reply[int]) Draw { m.Reply = r; return m }

func Example() {
	ctx := context.Background()
	node, err := troupe.Start(ctx, troupe.Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	numbers, err := singleton.Join(node, singleton.Type[Draw]{
		Name:     "numbers",
		Protocol: wire.MustProtocol[Draw](wire.Request("draw", Draw{})),
		Start: func(*actor.Ctx[Draw]) (actor.Behavior[Draw], error) {
			last := 0
			return func(c *actor.Ctx[Draw], m Draw) error {
				last++
				return m.Reply.Send(c, last)
			}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 { // on any node
		number, err := actor.Ask(ctx, numbers.Ref(), Draw{})
		fmt.Println(number, err)
	}
	fmt.Println(node.Leave(ctx))
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 3 <nil>
	// <nil>
}
