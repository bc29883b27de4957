package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard"
	"github.com/troupe-go/troupe/wire"
)

// Hit is what an entity understands: it counts, and answers with its count.
type Hit struct {
	Reply actor.Reply[int]
}

// WithReply makes Hit a request.
func (h Hit) WithReply(r actor.Reply[int]) Hit { h.Reply = r; return h }

func start(*actor.Ctx[Hit]) (actor.Behavior[Hit], error) {
	hits := 0
	return func(c *actor.Ctx[Hit], h Hit) error {
		hits++
		return h.Reply.Send(c, hits)
	}, nil
}

const hostRole = "host"

func startNode(ctx context.Context, roles []string, seeds ...string) (*troupe.Node, *shard.Entities[Hit], error) {
	n, err := troupe.Start(ctx, troupe.Config{Roles: roles, Seeds: seeds, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, err
	}
	e, err := shard.Join(n, shard.Type[Hit]{
		Name: "counter", Start: start, Protocol: wire.MustProtocol[Hit](wire.Request("hit", Hit{})),
		Role: hostRole, Idle: -1,
	})
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return n, e, n.WhenUp(ctx)
}

// host is one process that hosts entities. It says its address, and then
// answers each line with the number of its entities and the bytes it holds. It
// ends with its input.
func host(seeds []string) error {
	n, e, err := startNode(context.Background(), []string{hostRole}, seeds...)
	if err != nil {
		return err
	}
	fmt.Println(n.ID().Address)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if in.Text() == "settle" {
			debug.FreeOSMemory()
		}
		entities := 0
		for _, s := range e.Region().Hosted() {
			entities += s.Entities
		}
		bytes, err := residentBytes()
		if err != nil {
			return err
		}
		fmt.Println(entities, bytes)
	}
	return nil
}

func residentBytes() (int, error) {
	f, err := os.Open("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var size, resident int
	if _, err := fmt.Fscan(io.LimitReader(f, 256), &size, &resident); err != nil {
		return 0, err
	}
	return resident * os.Getpagesize(), nil
}
