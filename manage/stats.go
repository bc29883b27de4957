package manage

import (
	"net/http"
	"slices"

	"github.com/troupe-go/troupe/shard"
)

// ClusterShards is one entity type in the whole cluster.
type ClusterShards struct {
	Regions       map[string]NodeShards `json:"regions"` // of the nodes that host, by address
	TotalEntities int                   `json:"totalEntities"`
	TotalShards   int                   `json:"totalShards"`
	// Unanswered are the members that gave no answer, and why: what they host is not
	// counted. Absent when all have answered.
	Unanswered map[string]string `json:"unanswered,omitempty"`
}

// NodeShards is what one node hosts of a type.
type NodeShards struct {
	Shards []Shard  `json:"shards"`
	Failed []string `json:"failed"` // for tools that read it: always empty, a node knows all its shards or gives no answer
}

// ClusterShardsOf makes the document.
func ClusterShardsOf(n Namer, stats shard.ClusterStats) ClusterShards {
	uri := uriOf(n)
	doc := ClusterShards{Regions: map[string]NodeShards{}}
	for _, r := range stats.Regions {
		if !r.Hosts {
			continue
		}
		doc.Regions[uri(r.Node.Address)] = NodeShards{Shards: shardsOf(r.Shards), Failed: []string{}}
		doc.TotalShards += len(r.Shards)
		doc.TotalEntities += r.Entities()
	}
	for _, s := range stats.Silent {
		if doc.Unanswered == nil {
			doc.Unanswered = map[string]string{}
		}
		doc.Unanswered[uri(s.Node.Address)] = s.Err.Error()
	}
	return doc
}

func shardsOf(hosted []shard.ShardStat) []Shard {
	shards := make([]Shard, 0, len(hosted))
	for _, s := range hosted {
		shards = append(shards, Shard{ShardID: s.Shard, NumEntities: s.Entities})
	}
	return shards
}

func regionNamed(regions []shard.Region, name string) (shard.Region, bool) {
	i := slices.IndexFunc(regions, func(r shard.Region) bool { return r.TypeName() == name })
	if i < 0 {
		return nil, false
	}
	return regions[i], true
}

func (h *handler) shardStats(w http.ResponseWriter, r *http.Request, typeName string) {
	region, ok := regionNamed(h.types.regions(), typeName)
	if !ok {
		writeMessage(w, http.StatusNotFound, "Shard Region "+typeName+" is not started")
		return
	}
	writeJSON(w, http.StatusOK, ClusterShardsOf(h.node, region.ClusterStats(r.Context())))
}
