package manage

import (
	"slices"

	"github.com/troupe-go/troupe/shard"
)

// ShardTypes names the entity types that were joined on one node.
type ShardTypes struct {
	EntityTypeKeys []string `json:"entityTypeKeys"` // sorted
}

// Shards is one node's part in one entity type.
type Shards struct {
	// Regions lists the shards that live on this node, not regions: the name is
	// what tools look for. A proxy's list is empty.
	Regions []Shard `json:"regions"`
}

// Shard is one shard that lives on this node.
type Shard struct {
	ShardID     string `json:"shardId"`
	NumEntities int    `json:"numEntities"` // active now; idle ones may have been passivated
}

// ShardTypesOf makes the document from the regions of a node ([shard.Regions]).
func ShardTypesOf(regions []shard.Region) ShardTypes {
	doc := ShardTypes{EntityTypeKeys: make([]string, 0, len(regions))}
	for _, r := range regions {
		doc.EntityTypeKeys = append(doc.EntityTypeKeys, r.TypeName())
	}
	slices.Sort(doc.EntityTypeKeys)
	return doc
}

// ShardsOf makes the document of one type; ok is false when it was not joined here.
func ShardsOf(regions []shard.Region, typeName string) (doc Shards, ok bool) {
	region, ok := regionNamed(regions, typeName)
	if !ok {
		return Shards{}, false
	}
	return Shards{Regions: shardsOf(region.Hosted())}, true
}
