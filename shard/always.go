package shard

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/troupe-go/troupe/placement"
	life "github.com/troupe-go/troupe/shard/internal/entity"
)

// always are the ids of [Type.Always] by the number of their shard. Nobody needs to
// remember or remind anybody of them, for every node knows them all: who decides
// sees to it that their shards have homes, and a home that it starts them. It does
// not change.
type always map[int][]string

func newAlways[M any](t Type[M]) always {
	if len(t.Always) == 0 {
		return nil
	}
	in := always{}
	for _, id := range t.Always {
		n := t.ShardOf(id, t.Shards)
		in[n] = append(in[n], id)
	}
	return in
}

// shards are those that have to have a home, by number.
func (in always) shards() []string {
	var names []string
	for _, n := range slices.Sorted(maps.Keys(in)) {
		names = append(names, placement.ShardText(n))
	}
	return names
}

// populate has the entities of a newly hosted shard that always live started at the
// pace of the node. They are there before any message can be, and so is what their
// messages wait in.
func (h *local[M]) populate() {
	r := h.s.r
	for _, id := range r.always[h.s.number] {
		e := &entity[M]{id: id, home: h, always: true}
		h.add(e)
		e.turn = r.limit.turnOf(e)
		e.shut(true)
		e.become(life.Expected)
		r.recovery.add(e, false)
	}
}

// expected tells whether an entity waits for its turn to start, whether or not a
// message waits for it.
func (e *entity[M]) expected() bool {
	return e.state == life.RememberedNotCreated || e.state == life.Expected
}

// returns tells whether an entity that has failed starts again without a message.
func (e *entity[M]) returns() bool { return e.always || e.home.memory != nil }

// census names the ids that always live, whatever their order; empty without any.
func (t Type[M]) census() string {
	if len(t.Always) == 0 {
		return ""
	}
	h := fnv.New64a()
	for _, id := range slices.Sorted(slices.Values(t.Always)) {
		fmt.Fprintf(h, "%q ", id)
	}
	return fmt.Sprintf(", %d always live (%016x)", len(t.Always), h.Sum64())
}

// misnamed tells of the first id in Always that cannot be one, as its index and what
// is wrong with it; nil if all can.
func (t Type[M]) misnamed() error {
	first := make(map[string]int, len(t.Always))
	for i, id := range t.Always {
		if id == "" {
			return fmt.Errorf("[%d] is empty: %w", i, ErrNoID)
		}
		if at, twice := first[id]; twice {
			return fmt.Errorf("[%d] and [%d] are both %q: name each id once", at, i, id)
		}
		first[id] = i
		if t.Shards < 1 || t.Shards > maxShards {
			continue // which is said already
		}
		switch n, err := numberOf(t.ShardOf, id, t.Shards); {
		case err != nil:
			return fmt.Errorf("[%d]: %w", i, err)
		case n < -t.Shards || n >= t.Shards:
			return fmt.Errorf("[%d]: ShardOf gives %d for %q, with %d shards: %w", i, n, id, t.Shards, ErrShardNumber)
		}
	}
	return nil
}

// alwaysProblems are those of Always and of what does not go with it.
func (t Type[M]) alwaysProblems() error {
	if len(t.Always) == 0 {
		return nil
	}
	var problems []error
	if err := t.misnamed(); err != nil {
		problems = append(problems, fmt.Errorf("Always%w", err))
	}
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	check(!t.Remember, "Always and Remember are both set: who always lives needs no memory; use two types")
	check(!t.limited(), "Always and Limit or LimitBytes are both set: who always lives cannot go for a limit; use two types")
	check(t.Pool == nil, "Always and Pool are both set: who always lives cannot go for the pool; use two types")
	check(t.Backoff.Min >= 0, "Backoff.Min is %s: with Always one that always fails would be started without a rest; use 0 or more", t.Backoff.Min)
	return errors.Join(problems...)
}
