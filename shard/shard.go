// Package shard places entities on nodes. SKELETON.
package shard

import (
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/wire"
)

// Type declares a kind of entity.
type Type[M any] struct {
	Name     string
	Start    actor.Start[M] // c.Name() is the entity's id, c.Self() its cluster-wide ref
	Protocol *wire.Protocol[M]
	Shards   int                                // default 1000; must agree in the cluster
	ShardOf  func(id string, shards int) string // default placement.JavaHash
	Role     string                             // nodes without it are proxies: they route and host nothing
	Idle     time.Duration                      // default 2 min; negative: never passivate
	Strategy placement.Strategy                 // default least shards
	Buffer   int                                // messages per region that may wait for a home, default 100,000
	// HandOffTimeout 60 s, RebalanceEvery 10 s (negative: off), ShardStartTimeout 10 s, Retry 2 s, Mailbox, Options []actor.Option ...
}

// Join makes this node take part in the type: it returns at once; messages wait in the buffer until homes are known.
func Join[M any](n *troupe.Node, t Type[M]) (*Entities[M], error) { panic("skeleton") }

// Entities is this node's part in a type.
type Entities[M any] struct{}

func (e *Entities[M]) Ref(id string) actor.Ref[M] { panic("skeleton") }

// Region is the type-agnostic side, for tools.
type Region interface {
	TypeName() string
	ShardOf(id string) string
	Home(shard string) (troupe.ID, bool) // as this node knows it
	Hosted() []ShardStat                 // shards hosted here, sorted by id
	Hosts() bool                         // false for a proxy
	Registered() bool                    // with a coordinator
}

func (e *Entities[M]) Region() Region { panic("skeleton") }

// ShardStat of one hosted shard.
type ShardStat struct {
	Shard    string
	Entities int
}

// Regions lists the types that were joined on this node, sorted by name.
func Regions(n *troupe.Node) []Region { panic("skeleton") }

// Hook for observers of placement: events EntityStarted, EntityStopped, ShardHome learned.
// Type.Observe func(Event) — helper designs.
