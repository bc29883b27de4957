package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync/atomic"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/bench/driver"
	"github.com/troupe-go/troupe/bench/work"
	"github.com/troupe-go/troupe/shard"
	"github.com/troupe-go/troupe/wire"
)

const hostRole = "host"

// joinCounters makes n take part in the entities of two processes, of which there
// is a type for each class of delivery: the asking or telling node has one of them. Their homes stay as
// they are given at first.
func joinCounters(n *troupe.Node, d shard.Delivery) (*shard.Entities[hit], error) {
	return shard.Join(n, shard.Type[hit]{
		Name: fmt.Sprintf("counter-%d", d), Start: hitCounter, Protocol: newProtocol(), Delivery: d,
		Role: hostRole, Idle: -1, RebalanceEvery: -1, Mailbox: math.MaxInt32,
	})
}

// hostEntities is one of the two processes in which the entities live. It serves
// once an entity has answered it, because then the coordinator knows it.
func hostEntities(seeds []string) (string, error) {
	n, err := startNode([]string{hostRole}, seeds...)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for _, d := range []shard.Delivery{shard.AtLeastOnce, shard.AtMostOnce} {
		counters, err := joinCounters(n, d)
		if err != nil {
			return "", err
		}
		if _, err := actor.Ask(ctx, counters.Ref("first of "+n.ID().String()), hit{}); err != nil {
			return "", err
		}
	}
	return n.ID().Address.String(), nil
}

// hosted starts the two other processes, in which all entities live: this one hosts
// none.
func hosted(r *driver.Run, d shard.Delivery) ([]actor.Ref[hit], error) {
	one, err := r.Peer("host")
	if err != nil {
		return nil, err
	}
	if _, err := r.Peer("host", one.Address); err != nil {
		return nil, err
	}
	n, err := startNode(nil, one.Address)
	if err != nil {
		return nil, err
	}
	counters, err := joinCounters(n, d)
	if err != nil {
		return nil, err
	}
	return startAll(counters)
}

// drawing is what each of the askers or senders draws entities by.
func drawing() []*rand.Rand {
	draws := make([]*rand.Rand, work.Askers)
	for i := range draws {
		draws[i] = rand.New(rand.NewPCG(1, uint64(i)))
	}
	return draws
}

// shardedAsk asks entities at random.
func shardedAsk(r *driver.Run, d shard.Delivery) error {
	refs, err := hosted(r, d)
	if err != nil {
		return err
	}
	ctx := context.Background()
	body := make([]byte, work.Body)
	draws := drawing()
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

// shardedTell tells entities in turn, and counts what all have when it asks them.
func shardedTell(r *driver.Run, d shard.Delivery) error {
	refs, err := hosted(r, d)
	if err != nil {
		return err
	}
	ctx := context.Background()
	body := make([]byte, work.Body)
	var next atomic.Uint64
	send := func() error { return refs[next.Add(1)%work.IDs].TellWait(ctx, hit{Body: body}) }
	return r.Send(work.Askers, send, func() (int, error) {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		sum := 0
		for _, ref := range refs {
			n, err := actor.Ask(ctx, ref, hit{})
			if err != nil {
				return 0, err
			}
			sum += int(n)
		}
		return sum, nil
	})
}

// shardedTellLocal is tell-1-1 to an entity.
func shardedTellLocal(r *driver.Run) error {
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
