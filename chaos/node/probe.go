package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/chaos/record"
	"github.com/troupe-go/troupe/shard"
	"github.com/troupe-go/troupe/wire"
)

const (
	entities    = 10
	probeEvery  = 100 * time.Millisecond
	probeWithin = time.Second
)

// probe is what an entity understands; the answer is the number of its node.
type probe struct {
	Reply actor.Reply[string] `json:"-"`
}

func (m probe) WithReply(r actor.Reply[string]) probe { m.Reply = r; return m }

var protocol = wire.MustProtocol[probe](wire.Request[probe, string]("chaos.probe", probe{}))

// entity writes down each probe that it handles before it answers.
func entity(w *record.Writer) actor.Start[probe] {
	return func(c *actor.Ctx[probe]) (actor.Behavior[probe], error) {
		id, life := c.Name(), uuid.NewString()
		return func(c *actor.Ctx[probe], m probe) error {
			w.Write(record.Event{Kind: record.Answered, Entity: id, Life: life})
			return m.Reply.Send(c, life)
		}, nil
	}
}

// probes are one asker for each entity, and one who tells how they fare.
type probes struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	last    [entities]atomic.Int64 // when the last probe began that was answered, by record.Now
}

// startProbes joins the type and asks until stop.
func startProbes(n *troupe.Node, w *record.Writer) (*probes, error) {
	all, err := shard.Join(n, shard.Type[probe]{
		Name: "probe", Start: entity(w), Protocol: protocol,
		Shards: entities, RebalanceEvery: time.Second, // so that each node soon hosts some
	})
	if err != nil {
		return nil, err
	}
	var ctx context.Context
	p := new(probes)
	ctx, p.cancel = context.WithCancel(context.Background())
	for i := range entities {
		p.running.Go(func() { p.ask(ctx, i, all.Ref(fmt.Sprint("e", i))) })
	}
	p.running.Go(func() { p.tell(ctx, w) })
	return p, nil
}

func (p *probes) stop() {
	p.cancel()
	p.running.Wait()
}

func (p *probes) ask(ctx context.Context, i int, to actor.Ref[probe]) {
	beat := time.NewTicker(probeEvery)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
		began := record.Now()
		asking, done := context.WithTimeout(ctx, probeWithin)
		if _, err := actor.Ask(asking, to, probe{}); err == nil {
			p.last[i].Store(int64(began))
		}
		done()
	}
}

func (p *probes) tell(ctx context.Context, w *record.Writer) {
	beat := time.NewTicker(2 * probeEvery)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
		oldest := record.Now()
		for i := range p.last {
			oldest = min(oldest, time.Duration(p.last[i].Load()))
		}
		w.Write(record.Event{Kind: record.Served, Since: oldest})
	}
}
