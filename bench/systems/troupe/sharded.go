package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/bench/driver"
	"github.com/troupe-go/troupe/bench/work"
	"github.com/troupe-go/troupe/shard"
	"github.com/troupe-go/troupe/wire"
)

const hostRole = "host"

// joinCounters makes n take part in the entities of sharded-ask-64. Their homes
// stay as they are given at first.
func joinCounters(n *troupe.Node) (*shard.Entities[hit], error) {
	return shard.Join(n, shard.Type[hit]{
		Name: "counter", Start: hitCounter, Protocol: newProtocol(),
		Role: hostRole, Idle: -1, RebalanceEvery: -1,
	})
}

// hostEntities is one of the two processes in which the entities live. It serves
// once an entity has answered it, because then the coordinator knows it.
func hostEntities(seeds []string) (string, error) {
	n, err := startNode([]string{hostRole}, seeds...)
	if err != nil {
		return "", err
	}
	counters, err := joinCounters(n)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if _, err := actor.Ask(ctx, counters.Ref("first of "+n.ID().String()), hit{}); err != nil {
		return "", err
	}
	return n.ID().Address.String(), nil
}

// shardedAsk asks entities at random. All live in the two other processes: this
// one hosts none.
func shardedAsk(r *driver.Run) error {
	one, err := r.Peer("host")
	if err != nil {
		return err
	}
	if _, err := r.Peer("host", one.Address); err != nil {
		return err
	}
	n, err := startNode(nil, one.Address)
	if err != nil {
		return err
	}
	counters, err := joinCounters(n)
	if err != nil {
		return err
	}
	refs, err := startAll(counters)
	if err != nil {
		return err
	}
	ctx := context.Background()
	body := make([]byte, work.Body)
	draws := make([]*rand.Rand, work.Askers)
	for i := range draws {
		draws[i] = rand.New(rand.NewPCG(1, uint64(i)))
	}
	return r.AskTimed(work.Askers, func(asker, _ int) error {
		_, err := actor.Ask(ctx, refs[draws[asker].IntN(len(refs))], hit{Body: body})
		return err
	})
}

// startAll has every entity answer once, and sees that both processes have a
// fair part of them.
func startAll(counters *shard.Entities[hit]) ([]actor.Ref[hit], error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	refs := make([]actor.Ref[hit], work.IDs)
	region := counters.Region()
	homes := map[troupe.ID]int{}
	for i := range refs {
		id := strconv.Itoa(i)
		refs[i] = counters.Ref(id)
		if _, err := actor.Ask(ctx, refs[i], hit{}); err != nil {
			return nil, fmt.Errorf("start entity %s: %w", id, err)
		}
		home, _ := region.Home(region.ShardOf(id))
		homes[home]++
	}
	for home, entities := range homes {
		if len(homes) != 2 || entities < work.IDs/4 {
			return nil, fmt.Errorf("%s has %d entities of %d: they are to be spread over two processes", home, entities, work.IDs)
		}
	}
	return refs, nil
}

// shardedTell is tell-1-1 to an entity.
func shardedTell(r *driver.Run) error {
	n, err := startNode(nil)
	if err != nil {
		return err
	}
	sums := make(chan int)
	counters, err := shard.Join(n, shard.Type[add]{
		Name: "counter", Start: counting(sums), Protocol: wire.MustProtocol[add](wire.Message("bench.add", add{})),
		Mailbox: work.Mailbox,
	})
	if err != nil {
		return err
	}
	return tellTo(r, 1, counters.Ref("one"), sums)
}
