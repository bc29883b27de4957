package placement

import (
	"cmp"
	"math"
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// Compatible is the assignment of Effect Cluster 4: consistent hashing with
// bounded loads (Mirrokni et al., SODA 2018), in a form of its own. It needs no
// holders, so it moves shards between runners that stay: of 300 shards, about 9
// when a sixth runner joins and 48 when a 51st does. What is left when all
// have their share rounded down goes to whoever is nearest, so that some get
// several more than others.
type Compatible struct{}

// Name is "compatible".
func (Compatible) Name() string { return "compatible" }

// Assign gives the same answer in every process that sees the same runners.
func (Compatible) Assign(g Group, runners []Runner, _ []member.Address) []member.Address {
	homes, servers := g.homeless(), g.servers(runners)
	if len(servers) == 0 {
		return homes
	}
	d := deal{line: newLine(servers), room: bounds(servers, len(homes)), open: len(servers)}
	left := d.nearestFirst(homes, servers)
	for _, shard := range left {
		homes[shard] = servers[d.place(shardPosition(shard))].address
	}
	return homes
}

// bounds are how many shards each server takes at most, before all are full.
// The sum goes in the order of the keys, because floating-point sums depend on it.
func bounds(servers []server, shards int) []int {
	total := 0.0
	for _, s := range servers {
		total += s.weight
	}
	room := make([]int, len(servers))
	for i, s := range servers {
		room[i] = max(1, int(math.Floor(float64(shards)*(s.weight/total))))
	}
	return room
}

func shardPosition(shard int) int32 {
	return effectSum(effectAdd(effectNumber(effectStart, shard), "shard-"))
}

// A deal is an assignment in the making.
type deal struct {
	line line
	room []int // of each server
	open int   // servers that have room
}

func (d *deal) take(server int) {
	d.room[server]--
	if d.room[server] == 0 {
		d.open--
	}
}

// nearestFirst gives each shard to its nearest server, in the order of the
// distances, and returns in order those that found it full.
func (d *deal) nearestFirst(homes []member.Address, servers []server) (left []int) {
	type pair struct {
		distance      int64
		shard, server int
	}
	pairs := make([]pair, len(homes))
	for shard := range pairs {
		server, distance := d.line.nearest(shardPosition(shard))
		pairs[shard] = pair{distance: distance, shard: shard, server: server}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.shard, b.shard))
	})
	for _, p := range pairs {
		if d.room[p.server] == 0 {
			left = append(left, p.shard)
			continue
		}
		d.take(p.server)
		homes[p.shard] = servers[p.server].address
	}
	slices.Sort(left)
	return left
}

// place finds the server of a left-over shard. When all are full the nearest
// takes it, whatever it has.
func (d *deal) place(at int32) int {
	if d.open == 0 {
		server, _ := d.line.nearest(at)
		return server
	}
	server := d.line.firstOpen(at, func(server int) bool { return d.room[server] > 0 })
	d.take(server)
	return server
}
