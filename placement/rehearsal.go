package placement

import (
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// A Change is what may happen to a cluster: nodes that come, and nodes that
// leave once those have come.
type Change struct {
	Join  []member.Member // taken as Up
	Leave []member.ID
}

// PlanChange plays through what a coordinator with the strategy would do if the
// cluster in state s changed: a node that leaves is rid of all its shards at
// once, then shards move round by round until the strategy is content.
func PlanChange(strategy Strategy, s State, c Change, pace Pace) Plan {
	r := newRehearsal(strategy, s)
	for _, m := range c.Join {
		r.join(m)
	}
	r.leave(c.Leave)
	pace = pace.withDefaults()
	if len(r.plan.Moves) > 0 {
		r.plan.Lasts = pace.HandOver
	}
	r.settle()
	r.plan.Lasts = max(r.plan.Lasts, pace.rounds(r.plan.Rounds))
	r.finish(s, c)
	r.plan.Warnings = r.warnings(s, c, pace)
	return r.plan
}

// The most rounds that are played, and the most shards looked at in all of them
// together: what is not over then takes too long anyway.
const (
	maxRounds = 1000
	maxLooks  = 50_000_000
)

// A rehearsal is a coordinator without regions: what it wants, happens.
type rehearsal struct {
	strategy Strategy
	state    State
	lost     []string // shards that no region takes
	plan     Plan
}

func newRehearsal(strategy Strategy, s State) *rehearsal {
	r := &rehearsal{strategy: strategy, state: s, plan: Plan{By: strategy.Name()}}
	r.state.Members = slices.Clone(s.Members)
	r.state.Regions = slices.Clone(s.Regions)
	for i := range r.state.Regions {
		shards := &r.state.Regions[i].Shards
		*shards = slices.Clone(*shards)
		r.plan.Shards += len(*shards)
	}
	return r
}

func (r *rehearsal) join(m member.Member) {
	m.Status = member.Up
	if i, ok := slices.BinarySearchFunc(r.state.Members, m.ID, func(m member.Member, id member.ID) int { return m.ID.Compare(id) }); ok {
		r.state.Members[i] = m
	} else {
		r.state.Members = slices.Insert(r.state.Members, i, m)
	}
	if _, ok := r.region(m.ID); ok {
		return
	}
	// By address, as coordinators list them, if they are listed so.
	i, _ := slices.BinarySearchFunc(r.state.Regions, m.ID, func(r Region, id member.ID) int { return r.ID.Compare(id) })
	r.state.Regions = slices.Insert(r.state.Regions, i, Region{ID: m.ID})
}

// leave takes regions away, all at once, and places their shards elsewhere.
func (r *rehearsal) leave(ids []member.ID) {
	gone := func(id member.ID) bool { return slices.Contains(ids, id) }
	var left []Region
	r.state.Regions = slices.DeleteFunc(r.state.Regions, func(region Region) bool {
		if gone(region.ID) {
			left = append(left, region)
		}
		return gone(region.ID)
	})
	r.state.Members = slices.DeleteFunc(r.state.Members, func(m member.Member) bool { return gone(m.ID) })
	r.state.Unreachable = slices.DeleteFunc(slices.Clone(r.state.Unreachable), gone)
	for _, region := range left {
		for _, shard := range region.Shards {
			r.place(shard, region.ID)
		}
	}
}

// settle plays rounds until nothing moves.
func (r *rehearsal) settle() {
	limit := min(maxRounds, maxLooks/max(1, r.plan.Shards))
	for {
		moves := r.strategy.Rebalance(r.state, nil)
		if len(moves) == 0 {
			r.plan.Settled = true
			return
		}
		if r.plan.Rounds == limit {
			return
		}
		r.plan.Rounds++
		from := r.take(moves)
		for _, shard := range moves {
			r.place(shard, from[shard])
		}
	}
}

func (r *rehearsal) region(id member.ID) (int, bool) {
	i := slices.IndexFunc(r.state.Regions, func(r Region) bool { return r.ID == id })
	return i, i >= 0
}

// take removes shards from their regions.
func (r *rehearsal) take(shards []string) (from map[string]member.ID) {
	from = make(map[string]member.ID, len(shards))
	for _, shard := range shards {
		from[shard] = member.ID{}
	}
	for i := range r.state.Regions {
		region := &r.state.Regions[i]
		region.Shards = slices.DeleteFunc(region.Shards, func(shard string) bool {
			_, taken := from[shard]
			if taken {
				from[shard] = region.ID
			}
			return taken
		})
	}
	return from
}

// place gives a shard a region; the one that it left counts as a move too, for
// its entities had to stop. What was measured of it is taken to stay the same.
func (r *rehearsal) place(shard string, from member.ID) {
	to, ok := r.strategy.Allocate(r.state, shard)
	i, known := r.region(to)
	if !ok || !known {
		r.lost = append(r.lost, shard)
		return
	}
	r.state.Regions[i].Shards = append(r.state.Regions[i].Shards, shard)
	r.plan.Moves = append(r.plan.Moves, Move{Shard: shard, From: from.Address, To: to.Address, Round: r.plan.Rounds})
}

// finish writes down how it ended.
func (r *rehearsal) finish(before State, c Change) {
	joins := func(a member.Address) bool {
		return slices.ContainsFunc(c.Join, func(m member.Member) bool { return m.Address == a })
	}
	leaves := func(a member.Address) bool {
		return slices.ContainsFunc(c.Leave, func(id member.ID) bool { return id.Address == a })
	}
	homesBefore, nodes := before.homes()
	homesAfter, more := r.state.homes()
	r.plan.Nodes = nodePlans(homesBefore, homesAfter, joins, leaves, append(nodes, more...))
}

// warnings are the traps, and what only this cluster has.
func (r *rehearsal) warnings(s State, c Change, pace Pace) []string {
	p := r.plan
	held := r.held()
	warnings := said(held, r.homeless(), p.restless(), p.slow(r.strategy, s, c, pace), p.repeated(), p.idle())
	switch r.strategy.(type) {
	case External, LeastLoad: // do not go by number
		return warnings
	}
	if held != "" || !p.Settled {
		return warnings
	}
	return append(warnings, said(p.uneven())...)
}

func (r *rehearsal) held() string {
	if hold := r.state.Hold(); hold != "" && r.plan.Rounds == 0 {
		return "nothing is balanced while " + hold
	}
	return ""
}

func (r *rehearsal) homeless() string {
	if len(r.lost) == 0 {
		return ""
	}
	return fmt.Sprintf("%d shards find no region that takes them, such as %s", len(r.lost), r.lost[0])
}

// homes are the nodes of all shards, and all nodes.
func (s State) homes() (shards, nodes []member.Address) {
	for _, r := range s.Regions {
		nodes = append(nodes, r.ID.Address)
		for range r.Shards {
			shards = append(shards, r.ID.Address)
		}
	}
	return shards, nodes
}
