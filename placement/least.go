package placement

import "github.com/troupe-go/troupe/internal/member"

// LeastShards gives a shard to the region with the fewest.
type LeastShards struct {
	AbsoluteLimit int
	RelativeLimit float64
}

// LeastShardsLegacy is the older algorithm.
type LeastShardsLegacy struct {
	Threshold       int
	MaxSimultaneous int
}

// ConsistentHashing follows a hash ring.
type ConsistentHashing struct {
	Limit  int
	Prefix string
}

func (LeastShards) Name() string { return "least-shards" }

func (LeastShards) Allocate(s State, shard string) (member.ID, bool) { return member.ID{}, false }

func (LeastShards) Rebalance(s State, inProgress []string) []string { return nil }
