package stormtest

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
	"github.com/troupe-go/troupe/discover"
	"github.com/troupe-go/troupe/shard"
	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/transport/certtest"
	"github.com/troupe-go/troupe/wire"
)

// touch is what entities understand: they answer with the node that they are on.
type touch struct {
	Reply actor.Reply[string] `cbor:"-"`
}

func (m touch) WithReply(r actor.Reply[string]) touch { m.Reply = r; return m }

// owners knows, from outside, where each entity was started last. What still is
// in the memory of a node that does not act, because it is out of touch with a
// majority, does no harm, unless it acts again.
type owners struct {
	t    *testing.T
	mu   sync.Mutex
	last map[string]troupe.ID // by the id of the entity
}

func (o *owners) starts(id string, on troupe.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last[id] = on
}

// acts is called by an entity that handles a message.
func (o *owners) acts(id string, on troupe.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if last := o.last[id]; last != on {
		o.t.Errorf("%s %s acts on %v after it was started on %v", time.Now().Format("04:05"), id, on, last)
	}
}

// A fleet is a cluster with places for nodes; a node that ends is started anew.
type fleet struct {
	t       *testing.T
	dice    *rand.Rand
	net     *transport.Memory
	weather *Weather
	tls     *transport.TLS
	secret  transport.Secret
	owners  *owners

	mu    sync.Mutex
	nodes []*troupe.Node
	gates []*gate
	types []*shard.Entities[touch]
}

func newFleet(t *testing.T, seed uint64, size int) *fleet {
	f := &fleet{
		t: t, dice: rand.New(rand.NewPCG(seed, 0)), net: transport.NewMemory(),
		owners: &owners{t: t, last: map[string]troupe.ID{}},
		nodes:  make([]*troupe.Node, size), gates: make([]*gate, size), types: make([]*shard.Entities[touch], size),
	}
	f.weather = NewWeather(t.Context(), f.dice, f.net, size)
	switch seed % 4 { // and plain links for the others
	case 2:
		f.secret = "a secret of these nodes alone"
	case 3:
		files := certtest.NewAuthority(t).Issue(t, "127.0.0.1")
		f.tls = &transport.TLS{CertFile: files.Cert, KeyFile: files.Key, CAFile: files.CA}
	}
	for place := range size {
		f.start(place)
	}
	return f
}

// start runs a node at a place. All start alike, whether there is a cluster or
// not.
func (f *fleet) start(place int) {
	var all discover.Static
	for i := range f.nodes {
		all = append(all, Address(i).String())
	}
	g := &gate{Transport: f.net}
	node, err := troupe.Start(f.t.Context(), troupe.Config{
		Listen: Address(place).String(), Contacts: all, TLS: f.tls, Secret: f.secret,
		Transport: g, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	types, err := shard.Join(node, shard.Type[touch]{
		Name: "touched", Shards: 20, Protocol: wire.MustProtocol[touch](wire.Request("touch", touch{})),
		Start: func(c *actor.Ctx[touch]) (actor.Behavior[touch], error) {
			id := c.Name()
			f.owners.starts(id, node.ID())
			return func(c *actor.Ctx[touch], m touch) error {
				f.owners.acts(id, node.ID())
				return m.Reply.Send(c, node.ID().String())
			}, nil
		},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes[place], f.gates[place], f.types[place] = node, g, types
}

// at is the node at a place, and its part in the type.
func (f *fleet) at(place int) (*troupe.Node, *shard.Entities[touch]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nodes[place], f.types[place]
}

func (f *fleet) kill(place int) {
	n, _ := f.at(place)
	n.Kill()
}

// pause makes a node stand still for a while.
func (f *fleet) pause(place int, d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gates[place].stop(d)
}

// wake ends all pauses.
func (f *fleet) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, g := range f.gates {
		g.open(g.closed())
	}
}

// ask asks an entity through a node. It must be over in time, whatever happens.
func (f *fleet) ask(place, id int) error {
	const within = 5 * time.Second
	ctx, cancel := context.WithTimeout(f.t.Context(), within)
	defer cancel()
	_, types := f.at(place)
	began := time.Now()
	_, err := actor.Ask(ctx, types.Ref(fmt.Sprint("#", id)), touch{})
	if took := time.Since(began); took > within+time.Millisecond {
		f.t.Errorf("an ask through node %d took %v, with %v to go: %v", place, took, within, err)
	}
	return err
}
