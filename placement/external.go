package placement

import (
	"cmp"
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// External keeps shards where somebody outside wants them, by [State.Homes]: an
// operator, or a program that knows which machine has the data. A home is an
// address, so it outlasts a restart of its node. While no region is there, or
// its node is on its way out, the shard is anywhere, like a shard without a home.
type External struct {
	// Otherwise places and balances the shards that are not at a home.
	// Default [LeastShards].
	Otherwise Strategy
	// Limit is how many shards a round moves to their homes at most. Default 100.
	Limit int
}

// Name is "external".
func (External) Name() string { return "external" }

// Allocate gives the region at the shard's home.
func (e External) Allocate(s State, shard string) (region member.ID, ok bool) {
	if id, ok := s.home(shard); ok {
		return id, true
	}
	return e.otherwise().Allocate(s, shard)
}

// Rebalance names the shards that are not at their homes; when all are, it
// balances the others among themselves. Somebody wants the former where they
// go, so a rolling update does not hold them up.
func (e External) Rebalance(s State, inProgress []string) []string {
	if s.stuck() != "" {
		return nil
	}
	if moves := e.homewards(s, inProgress); len(moves) > 0 {
		return moves
	}
	return e.otherwise().Rebalance(s.withoutHomes(), inProgress)
}

func (e External) homewards(s State, inProgress []string) []string {
	limit := cmp.Or(e.Limit, 100) - len(inProgress)
	var moves []string
	for _, r := range s.Regions {
		for _, shard := range r.Shards {
			home, ok := s.home(shard)
			if ok && home != r.ID && len(moves) < limit && !slices.Contains(inProgress, shard) {
				moves = append(moves, shard)
			}
		}
	}
	return moves
}

func (e External) otherwise() Strategy {
	if e.Otherwise == nil {
		return LeastShards{}
	}
	return e.Otherwise
}

// home is the region at the address that was set for the shard, if it can take it.
func (s State) home(shard string) (region member.ID, ok bool) {
	address, ok := s.Homes[shard]
	if !ok {
		return member.ID{}, false
	}
	for _, r := range s.Regions {
		if r.ID.Address != address {
			continue
		}
		if m, ok := s.member(r.ID); ok && !going(m.Status) {
			return r.ID, true
		}
	}
	return member.ID{}, false
}

// withoutHomes leaves out the shards that have a home.
func (s State) withoutHomes() State {
	regions := make([]Region, len(s.Regions))
	for i, r := range s.Regions {
		regions[i] = Region{ID: r.ID, Shards: slices.DeleteFunc(slices.Clone(r.Shards), func(shard string) bool {
			_, ok := s.home(shard)
			return ok
		})}
	}
	s.Regions = regions
	return s
}
