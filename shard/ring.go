package shard

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/store"
)

// A Ring is the way to decide where a type's shards live that needs no coordinator:
// the nodes that host have seats in the store, each computes alone where the
// shards belong, and a shard's lock there decides. It needs [troupe.Config.Store],
// and while a node cannot reach that it hosts nothing. The zero value is good.
type Ring struct {
	// Assign says who should hold each shard; it must agree in the cluster. Default
	// [placement.LeastMovement].
	Assign placement.Assigner
	// Weight is how much this node takes in comparison to others, from 0.1 to 100:
	// one of 2 gets twice the shards of one of 1. Default 1.
	Weight float64
	// Group of shards that the type belongs to; it must agree in the cluster. Types
	// of one group live on the same nodes for the same shards. Default
	// [placement.DefaultGroup].
	Group string
	// Lazy has a node lock a shard when somebody sends to it. Default: it locks all
	// that are assigned to it at once.
	Lazy bool
	// Lease is how long a node's locks last without a word from it, and so how long
	// its shards rest after a crash: from 500 ms to 1 min. A node that does not hear
	// from the store stops its entities before that. Default 3 s.
	Lease time.Duration
	// Poll is how often a node reads the table of seats and locks while nothing
	// happens, from 50 ms to Lease. Default 1 s, or Lease if that is less.
	Poll time.Duration
}

const (
	defaultRingShards = 300 // as in Effect Cluster
	defaultRingLease  = 3 * time.Second
	defaultRingPoll   = time.Second
	minRingLease      = 500 * time.Millisecond
	maxRingLease      = time.Minute
	minRingPoll       = 50 * time.Millisecond
	maxRingGroup      = 128
)

// withDefaults gives a ring of its own: the user's is never changed.
func (r Ring) withDefaults() *Ring {
	r.Group = cmp.Or(r.Group, placement.DefaultGroup)
	r.Lease = cmp.Or(r.Lease, defaultRingLease)
	r.Poll = cmp.Or(r.Poll, min(defaultRingPoll, r.Lease))
	if r.Assign == nil {
		r.Assign = placement.LeastMovement{}
	}
	return &r
}

// problems of a ring with its defaults.
func (r *Ring) problems() error {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf("Ring."+format, args...))
		}
	}
	if err := (placement.Runner{Address: troupe.Address{Host: "any"}, Weight: r.Weight}).Check(); err != nil {
		check(false, "Weight: %w", err)
	}
	check(len(r.Group) <= maxRingGroup, "Group has %d bytes: use %d at most, for all nodes store it", len(r.Group), maxRingGroup)
	check(r.Lease >= minRingLease && r.Lease <= maxRingLease, "Lease is %s: use %s to %s, or none for %s", r.Lease, minRingLease, maxRingLease, defaultRingLease)
	check(r.Poll >= minRingPoll && r.Poll <= max(r.Lease, minRingPoll), "Poll is %s: use %s to Lease (%s), or none for %s", r.Poll, minRingPoll, r.Lease, min(defaultRingPoll, r.Lease))
	return errors.Join(problems...)
}

// needs of a ring, that its node must have.
func (r *Ring) needs(s store.Store) error {
	if r != nil && s == nil {
		return errors.New("Ring needs a database that all nodes share: set troupe.Config.Store (such as sqlite.Open(ctx, sqlite.Config{Path: FILE}) or postgres.Open), or leave Ring out to have a coordinator")
	}
	return nil
}
