package shard

import (
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/store"
)

// numberOf asks a ShardFunc for the number of an id's shard. One that panics has
// none for it: an id may come from anywhere, and must not end who tells it, or
// the link that it came by.
func numberOf(f placement.ShardFunc, id string, shards int) (number int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("ShardOf panics for %.80q, with %d shards: %v: %w", id, shards, p, ErrShardNumber)
		}
	}()
	return f(id, shards), nil
}

// probe tries the ShardFunc on the ids that it is compared by.
func (t Type[M]) probe() error {
	if t.Shards < 1 || t.Shards > maxShards {
		return nil // which is a problem of its own
	}
	for id := range probes {
		if _, err := numberOf(t.ShardOf, id, t.Shards); err != nil {
			return fmt.Errorf("%w; it must take any id", err)
		}
	}
	return nil
}

// probes yields ids of the kinds that there are.
func probes(yield func(id string) bool) {
	for i := range 8 {
		for _, form := range [...]string{"%d", "#chat-%d", "user/%03d@example.com", "6f1d2c3b-9a7e-4d5f-8b60-%012x"} {
			if !yield(fmt.Sprintf(form, 7919*i+1)) {
				return
			}
		}
	}
}

// belongs checks that a shard is that of an id here too.
func (s *slot[M]) belongs(id string) error {
	if id == "" {
		return fmt.Errorf("empty id in shard %d: %w", s.number, ErrDisagree)
	}
	number, err := numberOf(s.r.typ.ShardOf, id, s.r.typ.Shards)
	if err != nil {
		return errors.Join(err, ErrDisagree)
	}
	if number != s.number {
		return fmt.Errorf("entity %q in shard %d, which is %d here: %w", id, s.number, number, ErrDisagree)
	}
	return nil
}

// memorable checks that an id can be remembered if it has to be. The bound is that of
// a store's keys, far below that of a page of ids: an id beyond it could never be
// stored, however often that is tried.
func (t Type[M]) memorable(id string) error {
	if !t.Remember || len(id) <= store.MaxKey {
		return nil
	}
	return fmt.Errorf("the id has %d bytes, and at most %d can be remembered: %w", len(id), store.MaxKey, ErrRememberLong)
}
