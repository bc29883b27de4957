package singleton_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/singleton"
	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/wire"
)

// benchAsks asks the instance from its own node, or from another one.
func benchAsks(b *testing.B, nodes int) {
	ctx := context.Background()
	network := transport.NewMemory()
	var last *singleton.Singleton[Draw]
	for i := range nodes {
		n, err := troupe.Start(ctx, troupe.Config{
			Listen: []string{"127.0.0.1:9000", "127.0.0.1:9001"}[i], Seeds: []string{"127.0.0.1:9000"},
			Transport: network, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			b.Fatal(err)
		}
		defer n.Kill()
		if err := n.WhenUp(ctx); err != nil {
			b.Fatal(err)
		}
		last, err = singleton.Join(n, singleton.Type[Draw]{
			Name: "numbers", Protocol: wire.MustProtocol[Draw](wire.Request("draw", Draw{})),
			Start: func(*actor.Ctx[Draw]) (actor.Behavior[Draw], error) {
				return func(c *actor.Ctx[Draw], m Draw) error { return m.Reply.Send(c, 1) }, nil
			},
		})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := actor.Ask(ctx, last.Ref(), Draw{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := actor.Ask(ctx, last.Ref(), Draw{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAskHere(b *testing.B)      { benchAsks(b, 1) }
func BenchmarkAskElsewhere(b *testing.B) { benchAsks(b, 2) }
