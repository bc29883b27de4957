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

// maxRounds is how many rounds are played before a strategy counts as restless.
const maxRounds = 1000

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
	for r.plan.Rounds < maxRounds {
		moves := r.strategy.Rebalance(r.state, nil)
		if len(moves) == 0 {
			r.plan.Settled = true
			return
		}
		r.plan.Rounds++
		from := make([]member.ID, len(moves))
		for i, shard := range moves {
			from[i] = r.take(shard)
		}
		for i, shard := range moves {
			r.place(shard, from[i])
		}
	}
}

func (r *rehearsal) region(id member.ID) (int, bool) {
	i := slices.IndexFunc(r.state.Regions, func(r Region) bool { return r.ID == id })
	return i, i >= 0
}

// take removes a shard from its region.
func (r *rehearsal) take(shard string) (from member.ID) {
	for i := range r.state.Regions {
		region := &r.state.Regions[i]
		if j := slices.Index(region.Shards, shard); j >= 0 {
			region.Shards = slices.Delete(region.Shards, j, j+1)
			return region.ID
		}
	}
	return member.ID{}
}

// place gives a shard a region. What was measured of it counts no longer once
// it is elsewhere, but a plan needs some measurement: it stays as it is.
func (r *rehearsal) place(shard string, from member.ID) {
	to, ok := r.strategy.Allocate(r.state, shard)
	i, known := r.region(to)
	if !ok || !known {
		r.lost = append(r.lost, shard)
		return
	}
	r.state.Regions[i].Shards = append(r.state.Regions[i].Shards, shard)
	if from.Address != to.Address {
		r.plan.Moves = append(r.plan.Moves, Move{Shard: shard, From: from.Address, To: to.Address, Round: r.plan.Rounds})
	}
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
