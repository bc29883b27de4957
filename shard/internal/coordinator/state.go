package coordinator

import (
	"maps"
	"slices"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// The reasons for which a State refuses an event.
const (
	ErrRegistered    = protocol.Error("shard coordinator: registered twice")
	ErrNotRegistered = protocol.Error("shard coordinator: no such region")
	ErrAllocated     = protocol.Error("shard coordinator: the shard has a home")
	ErrNotAllocated  = protocol.Error("shard coordinator: the shard has no home")
)

// A StateEvent is one change of a State.
//
//sumtype:decl
type StateEvent interface{ apply(*State) error }

type (
	// RegionRegistered: a region can host.
	RegionRegistered struct{ Region member.ID }
	// RegionTerminated: a region is gone, and so are its shards.
	RegionTerminated struct{ Region member.ID }
	// ProxyRegistered: a region takes part in hand-overs and hosts nothing.
	ProxyRegistered struct{ Region member.ID }
	// ProxyTerminated: a proxy is gone.
	ProxyTerminated struct{ Region member.ID }
	// ShardAllocated: a shard without a home got one.
	ShardAllocated struct {
		Shard  string
		Region member.ID
	}
	// ShardDeallocated: a shard lost its home.
	ShardDeallocated struct{ Shard string }
)

// State is who hosts what, as a value that only events change. It knows nothing
// of time, terms or messages.
type State struct {
	// Remember keeps shards that lost their home, so that they are placed again
	// without being asked for.
	Remember bool

	homes   map[string]member.ID
	regions map[member.ID][]string // shards in the order of allocation
	proxies map[member.ID]struct{}
	orphans map[string]struct{} // shards to be placed again
}

// NewState is the state of which nothing is known.
func NewState(remember bool) *State {
	return &State{
		Remember: remember,
		homes:    map[string]member.ID{},
		regions:  map[member.ID][]string{},
		proxies:  map[member.ID]struct{}{},
		orphans:  map[string]struct{}{},
	}
}

// Apply changes the state, or refuses an event that is illegal in it and changes
// nothing.
func (s *State) Apply(e StateEvent) error { return e.apply(s) }

func (e RegionRegistered) apply(s *State) error {
	if _, ok := s.regions[e.Region]; ok {
		return ErrRegistered
	}
	s.regions[e.Region] = nil
	return nil
}

func (e RegionTerminated) apply(s *State) error {
	shards, ok := s.regions[e.Region]
	if !ok {
		return ErrNotRegistered
	}
	delete(s.regions, e.Region)
	for _, shard := range shards {
		s.orphan(shard)
	}
	return nil
}

func (e ProxyRegistered) apply(s *State) error {
	if _, ok := s.proxies[e.Region]; ok {
		return ErrRegistered
	}
	s.proxies[e.Region] = struct{}{}
	return nil
}

func (e ProxyTerminated) apply(s *State) error {
	if _, ok := s.proxies[e.Region]; !ok {
		return ErrNotRegistered
	}
	delete(s.proxies, e.Region)
	return nil
}

func (e ShardAllocated) apply(s *State) error {
	shards, ok := s.regions[e.Region]
	if !ok {
		return ErrNotRegistered
	}
	if _, ok := s.homes[e.Shard]; ok {
		return ErrAllocated
	}
	s.homes[e.Shard] = e.Region
	s.regions[e.Region] = append(shards, e.Shard)
	delete(s.orphans, e.Shard)
	return nil
}

func (e ShardDeallocated) apply(s *State) error {
	region, ok := s.homes[e.Shard]
	if !ok {
		return ErrNotAllocated
	}
	i := slices.Index(s.regions[region], e.Shard)
	s.regions[region] = slices.Delete(s.regions[region], i, i+1)
	s.orphan(e.Shard)
	return nil
}

func (s *State) orphan(shard string) {
	delete(s.homes, shard)
	if s.Remember {
		s.orphans[shard] = struct{}{}
	}
}

// Home is the region of a shard.
func (s *State) Home(shard string) (member.ID, bool) {
	region, ok := s.homes[shard]
	return region, ok
}

// Shards of a region, in the order of allocation. The caller changes nothing.
func (s *State) Shards(region member.ID) []string { return s.regions[region] }

// Regions that can host, in order, with their shards.
func (s *State) Regions() []placement.Region {
	regions := make([]placement.Region, 0, len(s.regions))
	for _, id := range slices.SortedFunc(maps.Keys(s.regions), member.ID.Compare) {
		regions = append(regions, placement.Region{ID: id, Shards: s.regions[id]})
	}
	return regions
}

// Proxies, in order.
func (s *State) Proxies() []member.ID {
	return slices.SortedFunc(maps.Keys(s.proxies), member.ID.Compare)
}

// Orphans are the shards that lost their home, in order.
func (s *State) Orphans() []string { return slices.Sorted(maps.Keys(s.orphans)) }
