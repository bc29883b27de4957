package linear

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/internal/stormtest"
	"github.com/troupe-go/troupe/shard"
	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/store/storetest"
	"github.com/troupe-go/troupe/transport"
)

// A fleet is a cluster with places for nodes, each with a way of its own to the
// store; a node that ends is started anew.
type fleet struct {
	t       *testing.T
	how     how
	dice    *rand.Rand
	net     *transport.Memory
	weather *stormtest.Weather
	store   *store.Memory

	starting chan struct{} // has one place, for who starts nodes anew

	mu    sync.Mutex
	nodes []place
}

// how is what differs between the fleets of these tests.
type how struct {
	ring  *shard.Ring // nil for a coordinator
	start actor.Start[step]
}

type place struct {
	node      *troupe.Node
	way       *storetest.Faulty
	registers *shard.Entities[step]
}

func newFleet(t *testing.T, seed uint64, size int, how how) *fleet {
	f := &fleet{
		t: t, how: how, dice: rand.New(rand.NewPCG(seed, 0)), net: transport.NewMemory(), store: store.NewMemory(),
		starting: make(chan struct{}, 1), nodes: make([]place, size),
	}
	f.weather = stormtest.NewWeather(t.Context(), f.dice, f.net, size)
	for i := range size {
		f.start(i)
	}
	return f
}

func (f *fleet) start(i int) {
	way := storetest.NewFaulty(f.store)
	node, err := troupe.Start(f.t.Context(), troupe.Config{
		Listen: stormtest.Address(i).String(), Store: way, Transport: f.net, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	registers, err := shard.Join(node, shard.Type[step]{
		Name: "register", Shards: 20, Protocol: protocol(), Start: f.how.start, Ring: f.how.ring,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes[i] = place{node, way, registers}
}

func (f *fleet) at(i int) place {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nodes[i]
}

// restart runs a node anew wherever one has ended.
func (f *fleet) restart() {
	f.starting <- struct{}{}
	defer func() { <-f.starting }()
	for i := range f.nodes {
		select {
		case <-f.at(i).node.Done():
			f.start(i)
		default:
		}
	}
}

// strike does something bad to the fleet, and tells what.
func (f *fleet) strike() string {
	i := f.dice.IntN(len(f.nodes))
	back := f.weather.Between(0, 20*time.Second)
	switch f.dice.IntN(8) {
	case 0, 1:
		f.at(i).node.Kill()
		f.weather.After(back, f.restart)
		return fmt.Sprintf("crash of %d", i)
	case 2:
		node := f.at(i).node
		f.weather.After(time.Millisecond, func() {
			_ = node.Leave(f.t.Context()) // it may be killed meanwhile
			f.restart()
		})
		return fmt.Sprintf("leave of %d", i)
	case 3, 4:
		fault := []storetest.Fault{storetest.Hang, storetest.LoseRequest, storetest.LoseAnswer}[f.dice.IntN(3)]
		way := f.at(i).way
		way.Set(fault)
		f.weather.After(back, func() { way.Set(storetest.None) })
		return fmt.Sprintf("fault %d between %d and the store", fault, i)
	default:
		return f.weather.Strike()
	}
}

func (f *fleet) heal() {
	f.weather.Heal()
	for i := range f.nodes {
		f.at(i).way.Set(storetest.None)
	}
}

// end kills all nodes.
func (f *fleet) end() {
	for i := range f.nodes {
		f.at(i).node.Kill()
	}
}

// ask makes a step of a register, through the node at a place.
func (f *fleet) ask(i, register int, s step) (int, error) {
	ctx, cancel := context.WithTimeout(f.t.Context(), 30*time.Second)
	defer cancel()
	return actor.Ask(ctx, f.at(i).registers.Ref(fmt.Sprint("#", register)), s)
}

// eventually waits until all registers answer through all places. Nodes that have
// ended are started again.
func (f *fleet) eventually(limit time.Duration) {
	f.t.Helper()
	for began := time.Now(); ; time.Sleep(time.Second) {
		f.restart()
		err := f.settled()
		if err == nil {
			return
		}
		if time.Since(began) > limit {
			f.t.Fatalf("after %v: %v", limit, err)
		}
	}
}

func (f *fleet) settled() error {
	for i := range f.nodes {
		for register := range registers {
			if _, err := f.ask(i, register, step{}); err != nil {
				p := f.at(i)
				return fmt.Errorf("#%d through node %d: %w\n%v\n%v", register, i, err, p.registers.Region().Why(f.t.Context(), fmt.Sprint("#", register)), p.node.Why())
			}
		}
	}
	return nil
}
