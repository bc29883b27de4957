package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/bench/driver"
	"github.com/troupe-go/troupe/bench/work"
	"github.com/troupe-go/troupe/wire"
)

// hit is the message and the request of all works that leave the process.
type hit struct {
	Body  []byte
	Reply actor.Reply[int64]
}

// WithReply makes hit a request that is answered with an int64.
func (h hit) WithReply(r actor.Reply[int64]) hit { h.Reply = r; return h }

func newProtocol() *wire.Protocol[hit] {
	return wire.MustProtocol[hit](wire.Request("bench.hit", hit{}))
}

// hitCounter counts the hits that came whole, and answers with their number.
func hitCounter(*actor.Ctx[hit]) (actor.Behavior[hit], error) {
	sum := int64(0)
	return func(c *actor.Ctx[hit], h hit) error {
		if len(h.Body) == work.Body {
			sum++
		}
		return h.Reply.Send(c, sum)
	}, nil
}

const within = 20 * time.Second

// startNode starts a node and waits until it is up; without seeds it founds the
// cluster. Clusters form quickly here, so that the work can begin.
func startNode(roles []string, seeds ...string) (*troupe.Node, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	n, err := troupe.Start(ctx, troupe.Config{
		Name: "bench", Roles: roles, Seeds: seeds, Log: quiet,
		Times: troupe.Times{
			InitialDelay: 50 * time.Millisecond, Gossip: 100 * time.Millisecond,
			LeaderActions: 100 * time.Millisecond, JoinRetry: 100 * time.Millisecond,
		},
	})
	if err != nil {
		return nil, err
	}
	return n, n.WhenUp(ctx)
}

// serveCounter is the other process: its mailbox has room for all messages,
// because nothing tells a remote sender that it is full.
func serveCounter([]string) (string, error) {
	n, err := startNode(nil)
	if err != nil {
		return "", err
	}
	ref, err := actor.Spawn(n, "counter", hitCounter, actor.Mailbox(math.MaxInt32))
	if err != nil {
		return "", err
	}
	return n.ID().Address.String(), troupe.Serve(n, "counter", ref, newProtocol())
}

// remoteCounter starts the other process and gives a ref to its actor.
func remoteCounter(r *driver.Run) (actor.Ref[hit], error) {
	var none actor.Ref[hit]
	p, err := r.Peer("counter")
	if err != nil {
		return none, err
	}
	n, err := startNode(nil, p.Address)
	if err != nil {
		return none, err
	}
	for _, m := range n.View().Members {
		if m.ID.Address.String() == p.Address {
			return troupe.Remote(n, m.ID, "counter", newProtocol()), nil
		}
	}
	return none, fmt.Errorf("%s is no member", p.Address)
}

func remoteTell(r *driver.Run, senders int) error {
	ref, err := remoteCounter(r)
	if err != nil {
		return err
	}
	ctx := context.Background()
	body := make([]byte, work.Body)
	send := func() error { return ref.TellWait(ctx, hit{Body: body}) }
	return r.Send(senders, send, func() (int, error) {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		n, err := actor.Ask(ctx, ref, hit{})
		return int(n), err
	})
}

func remoteAsk(r *driver.Run, askers int) error {
	ref, err := remoteCounter(r)
	if err != nil {
		return err
	}
	ctx := context.Background()
	body := make([]byte, work.Body)
	return r.AskTimed(askers, func(int, int) error {
		_, err := actor.Ask(ctx, ref, hit{Body: body})
		return err
	})
}
