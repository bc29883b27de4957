package shard

import (
	"context"
	"slices"
	"sync"

	troupe "github.com/troupe-go/troupe"
)

// ShardStat is one hosted shard.
type ShardStat struct {
	Shard    string
	Entities int // that are active
}

// RegionStats is how one node's part in a type stands.
type RegionStats struct {
	Hosts      bool        // false: it only routes
	Registered bool        // whoever decides knows of it
	Shards     []ShardStat // that live there, by number
	Waiting    int         // messages that wait there for a home, a start or an end
	Overdue    uint64      // waits that have lasted for longer than they may, since the node has started
}

// Entities is how many are active in all shards.
func (s RegionStats) Entities() (n int) {
	for _, shard := range s.Shards {
		n += shard.Entities
	}
	return n
}

// ClusterStats is how a type stands in the whole cluster.
type ClusterStats struct {
	Regions []NodeStats // of all that have joined the type, by node
	Silent  []Silence   // members that gave no answer, by node
}

// NodeStats are those of one node.
type NodeStats struct {
	Node troupe.ID
	RegionStats
}

// A Silence is a member of which nothing is known, and why.
type Silence struct {
	Node troupe.ID
	Err  error
}

// Stats implements [Region].
func (r *shell[M]) Stats() RegionStats {
	return RegionStats{
		Hosts: r.Hosts(), Registered: r.Registered(), Shards: r.Hosted(), Waiting: r.Waiting(),
		Overdue: r.control.overdue.Load(),
	}
}

// ClusterStats implements [Region]. All members are asked at once; those that have
// not joined the type are left out.
func (r *shell[M]) ClusterStats(ctx context.Context) ClusterStats {
	var members []troupe.ID
	if v := r.control.views.Load(); v != nil {
		for _, m := range v.Members {
			if m.ID != r.self && m.DataCenter == v.DataCenter {
				members = append(members, m.ID)
			}
		}
	}
	answers := make([]RegionStats, len(members))
	errs := make([]error, len(members))
	var all sync.WaitGroup
	for i, id := range members {
		all.Go(func() { answers[i], errs[i] = r.inquireStats(ctx, id) })
	}
	all.Wait()
	stats := ClusterStats{Regions: []NodeStats{{r.self, r.Stats()}}}
	for i, id := range members {
		switch {
		case errs[i] == nil:
			stats.Regions = append(stats.Regions, NodeStats{id, answers[i]})
		case !absent(errs[i]):
			stats.Silent = append(stats.Silent, Silence{id, errs[i]})
		}
	}
	slices.SortFunc(stats.Regions, func(a, b NodeStats) int { return a.Node.Compare(b.Node) })
	slices.SortFunc(stats.Silent, func(a, b Silence) int { return a.Node.Compare(b.Node) })
	return stats
}

func (r *shell[M]) inquireStats(ctx context.Context, at troupe.ID) (RegionStats, error) {
	o := r.node.office()
	if o == nil {
		return RegionStats{}, errNoOffice
	}
	return inquire(ctx, o, at, askStats{Type: r.typ.Name})
}
