// Package house is one node of a cluster of Dads: it joins the cluster and the
// entity type, and gives the chats an edge.
package house

import (
	"context"
	"fmt"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/examples/dadbot/audit"
	"github.com/troupe-go/troupe/examples/dadbot/chat"
	"github.com/troupe-go/troupe/examples/dadbot/dad"
	"github.com/troupe-go/troupe/shard"
)

// The roles of nodes. A node without DadRole routes to Dads and hosts none.
const (
	EdgeRole = "edge"
	DadRole  = "dad"
)

// TypeName is the entity type of Dads.
const TypeName = "Dad"

// Placement is who decides where the Dads live.
type Placement string

// The two authorities; [Ring] needs a store.
const (
	Coordinator Placement = "coordinator"
	Ring        Placement = "ring"
)

// Config declares a house.
type Config struct {
	Name      string         // of the node, for people: node-0
	Cluster   troupe.Config  // its part in the cluster
	Shards    int            // of all nodes the same; 0 for the default
	Placement Placement      // of all nodes the same; default Coordinator
	Style     dad.Style      // how its Dads are written
	Dad       dad.Config     // how they are; Node and Record come from here
	Record    audit.Recorder // told of each fact, with time and node
}

// House is a node with its part in the entity type.
type House struct {
	*troupe.Node
	name   string
	record audit.Recorder
	dads   *shard.Entities[dad.Msg]
}

// Open starts the node and joins the type; both go on in the background. ctx
// bounds the opening only. A house that could not be opened leaves nothing behind.
func Open(ctx context.Context, c Config) (*House, error) {
	record := audit.Stamp(c.Name, c.Record)
	c.Dad.Node, c.Dad.Record = c.Name, record
	if c.Cluster.Store != nil {
		c.Dad.Notebook = notebookOf
	}
	start, err := c.Dad.Start(c.Style)
	if err != nil {
		return nil, err
	}
	n, err := troupe.Start(ctx, c.Cluster)
	if err != nil {
		return nil, err
	}
	dads, err := shard.Join(n, shard.Type[dad.Msg]{
		Name: TypeName, Start: start, Protocol: dad.Protocol,
		Shards: c.Shards, Role: DadRole, Ring: c.ring(), Idle: idle(c.Dad),
	})
	if err != nil {
		n.Kill()
		return nil, err
	}
	return &House{Node: n, name: c.Name, record: record, dads: dads}, nil
}

// ring is nil for the coordinator.
func (c Config) ring() *shard.Ring {
	if c.Placement == Ring {
		return new(shard.Ring)
	}
	return nil
}

// idle is longer than a Dad waits and thinks, so that he is not put to rest
// with a joke on his lips.
func idle(d dad.Config) time.Duration { return max(2*time.Minute, 2*(d.Quiet+d.Think)) }

// Name is the node's name for people.
func (h *House) Name() string { return h.name }

// Ref leads to the Dad of a chat, wherever he lives.
func (h *House) Ref(chat string) actor.Ref[dad.Msg] { return h.dads.Ref(chat) }

// ShardOf is the shard of a chat.
func (h *House) ShardOf(chat string) string { return h.dads.Region().ShardOf(chat) }

// Registered tells whether the node takes part in placing Dads.
func (h *House) Registered() bool { return h.dads.Region().Registered() }

// Up tells whether the node is a full member of the cluster.
func (h *House) Up() bool {
	m, ok := h.View().SelfMember()
	return ok && m.Status.String() == "Up"
}

// Edge makes the edge of the chats at this node.
func (h *House) Edge() *chat.Edge {
	return &chat.Edge{Node: h.name, Dads: h, Up: h.Up, Paused: h.Paused, Record: h.record}
}

// Leave leaves the cluster gracefully, within the LeaveWithin of its node.
func (h *House) Leave() error {
	if err := h.Node.Leave(context.Background()); err != nil {
		return fmt.Errorf("%s: %w", h.name, err)
	}
	return nil
}
