package shard

import (
	"context"
	"fmt"
	"strings"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/store"
)

// A State is what an entity keeps in the node's store (troupe.Config.Store): bytes
// under keys of its own, which only the owner of its shard can change. Each call
// names the shard's epoch, and the first one of a tenure claims it. When the store
// has heard of a newer owner every call ends with [store.ErrStaleEpoch], nothing
// was written, and all entities of the shard are stopped here at once.
//
// Calls wait for the database. An entity may make them in Start and in its
// behavior, where only its own messages wait with it, and within [actor.Ctx.Go];
// give them a context with a deadline, such as one derived from c. Any goroutine
// may use a State. One that outlives its incarnation goes on writing in the name of
// the same tenure.
type State struct {
	of     *tenure
	prefix string // of the entity's keys in those of its shard
}

// StateOf gives the state of the entity whose c it is, wherever its shard's home
// was decided. It reads nothing yet. It is an [ErrNotEntity] for another actor's c,
// and an [ErrNoStore] on a node without a store.
func StateOf[M any](c *actor.Ctx[M]) (*State, error) {
	r, ok := c.Self().Door().(*shell[M])
	if !ok {
		return nil, fmt.Errorf("state of actor %s: %w", c.Name(), ErrNotEntity)
	}
	e := r.active.find(c.Name())
	if e == nil {
		return nil, fmt.Errorf("state of %s: %w", r.Describe(c.Name()), ErrNotEntity)
	}
	if e.home.tenure == nil {
		return nil, fmt.Errorf("state of %s: %w", r.Describe(e.id), ErrNoStore)
	}
	return &State{of: e.home.tenure, prefix: statePrefix + escapeID.Replace(e.id) + "/"}, nil
}

const (
	statePrefix    = "state/"
	rememberPrefix = "remembered/"
)

// escapeID keeps an id apart from the key behind it.
var escapeID = strings.NewReplacer("%", "%25", "/", "%2F")

// Get reads what is under key. What does not exist has the revision to put it at.
func (s *State) Get(ctx context.Context, key string) (store.Entry, error) {
	var e store.Entry
	err := s.of.claim(ctx)
	if err == nil {
		e, err = s.of.in.Get(ctx, s.of.Shard, s.prefix+key)
	}
	if err != nil {
		return store.Entry{}, s.failed("get", key, err)
	}
	e.Key = key
	return e, nil
}

// Put writes value, if key is still at the revision that the entity knows, and
// answers the next one. After an error that is no refusal (see [store.Refused])
// it may have been done or not, and may be repeated as it is.
func (s *State) Put(ctx context.Context, key string, at store.Revision, value []byte) (store.Revision, error) {
	var next store.Revision
	err := s.of.claim(ctx)
	if err == nil {
		next, err = s.of.in.Put(ctx, s.of.Tenure, s.prefix+key, at, value)
	}
	if err != nil {
		return 0, s.failed("put", key, s.of.check(err))
	}
	return next, nil
}

// Delete deletes what is under key, if it is still at that revision, and answers
// the one to put it at again. Errors are as for Put.
func (s *State) Delete(ctx context.Context, key string, at store.Revision) (store.Revision, error) {
	var next store.Revision
	err := s.of.claim(ctx)
	if err == nil {
		next, err = s.of.in.Delete(ctx, s.of.Tenure, s.prefix+key, at)
	}
	if err != nil {
		return 0, s.failed("delete", key, s.of.check(err))
	}
	return next, nil
}

func (s *State) failed(what, key string, err error) error {
	return fmt.Errorf("%s %.40q of an entity's state: %w", what, key, err)
}
