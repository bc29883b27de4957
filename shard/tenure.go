package shard

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
	"github.com/troupe-go/troupe/store"
)

// A tenure is this node's ownership of one shard as the store knows it. It is
// claimed before anything is read in its name, once, and is over for good as soon
// as the store has refused it. Any goroutine may use it.
type tenure struct {
	store.Tenure
	in     store.State
	denied func(highest store.Epoch) // is called once

	claiming chan struct{} // has one place, for who asks the store
	claimed  atomic.Bool
	over     atomic.Pointer[error] // how the store refused it
}

// tenureOf gives the tenure by which this node hosts the shard; nil without a store.
func (s *slot[M]) tenureOf(epoch protocol.Epoch) *tenure {
	in := s.r.node.Store()
	if in == nil {
		return nil
	}
	return &tenure{
		Tenure:   store.Tenure{Shard: s.r.stored(s.shard), Epoch: store.Epoch(epoch)},
		in:       in,
		denied:   func(highest store.Epoch) { s.disown(epoch, protocol.Epoch(highest)) },
		claiming: make(chan struct{}, 1),
	}
}

// stored is a shard of the type as the store names it.
func (r *shell[M]) stored(shard string) store.Shard {
	return store.Shard{Cluster: r.node.Name(), Type: r.typ.Name, ID: shard}
}

// disown stops the shard here at once, and has its authority told.
func (s *slot[M]) disown(epoch, highest protocol.Epoch) {
	var cells []*actor.Cell[M]
	s.mu.Lock()
	s.r.control.post(region.Disowned{Shard: s.shard, Epoch: epoch, Highest: highest})
	if h := s.here; h != nil && h.epoch == epoch {
		cells = h.close()
	}
	s.mu.Unlock()
	for _, c := range cells {
		c.Stop()
	}
	if f := s.r.typ.Observe; f != nil {
		f(Event{Kind: TenureDenied, Type: s.r.typ.Name, Shard: s.shard, Node: s.r.self})
	}
}

// claim makes the tenure the newest in the store, unless that was done before.
func (t *tenure) claim(ctx context.Context) error {
	if over := t.over.Load(); over != nil {
		return *over
	}
	if t.claimed.Load() {
		return nil
	}
	select {
	case t.claiming <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%w: wait for the claim of shard %v: %w", store.ErrUnknown, t.Shard, ctx.Err())
	}
	defer func() { <-t.claiming }()
	if t.claimed.Load() {
		return nil
	}
	if err := t.check(t.in.Claim(ctx, t.Tenure)); err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	t.claimed.Store(true)
	return nil
}

// check passes on what the store has answered. The refusal of the tenure ends it.
func (t *tenure) check(err error) error {
	if !errors.Is(err, store.ErrStaleEpoch) || !t.over.CompareAndSwap(nil, &err) {
		return err
	}
	highest := t.Epoch
	if stale, ok := errors.AsType[*store.StaleEpochError](err); ok {
		highest = stale.Highest
	}
	t.denied(highest)
	return err
}
