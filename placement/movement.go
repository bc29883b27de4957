package placement

import (
	"cmp"
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// LeastMovement is the default assignment: balanced by weight, and no shard
// moves between runners that stay. A runner that joins only takes and one that
// leaves only gives, as many as its share; one that is started again at the same
// address before its locks ran out has what it had.
//
// It has no history but the locks, and needs no agreement on when they were
// read: while a change is carried out, shard by shard and in any order, the
// answer stays the same, from the first lock released to the last one taken.
// So runners that read the locks at different moments want the same.
type LeastMovement struct{}

// Name is "least-movement".
func (LeastMovement) Name() string { return "least-movement" }

// Assign lets each runner keep what it holds up to its share; what is beyond,
// and what nobody holds, goes to those that lack some.
//
// Why the answer stays the same: the shares depend on the runners alone, which
// shard goes first on the shard and its holder alone, and a stable matching
// without some of its pairs is the stable matching of the rest.
func (LeastMovement) Assign(g Group, runners []Runner, holders []member.Address) []member.Address {
	homes, servers := g.homeless(), g.servers(runners)
	if len(servers) == 0 {
		return homes
	}
	m := newMarks(g.name(), servers, len(homes))
	room := quotas(servers, len(homes), m.servers)
	m.keep(homes, holders[:min(len(holders), len(homes))], servers, room)
	m.fill(homes, servers, room)
	return homes
}

// marks say how well a shard and a server fit. They hash the group's name, so
// that the runners with one more, or with the only one, differ by group.
type marks struct {
	servers, shards []uint64
}

func newMarks(group string, servers []server, shards int) marks {
	m := marks{servers: make([]uint64, len(servers)), shards: make([]uint64, shards)}
	seed := textHash(group)
	for i, s := range servers {
		m.servers[i] = mix(seed ^ textHash(s.key))
	}
	for n := range m.shards {
		m.shards[n] = mix(seed + uint64(n))
	}
	return m
}

func (m marks) bid(shard, server int) bid {
	return bid{mark: mix(m.shards[shard] ^ m.servers[server]), shard: shard}
}

// A bid is the wish of a shard to be at some server.
type bid struct {
	mark  uint64
	shard int
}

// compare orders bids for one server, the one that it prefers first.
func (b bid) compare(o bid) int {
	return cmp.Or(cmp.Compare(o.mark, b.mark), cmp.Compare(b.shard, o.shard))
}

// keep leaves shards with their holders, as far as there is room.
func (m marks) keep(homes, holders []member.Address, servers []server, room []int) {
	index := make(map[member.Address]int, len(servers))
	for i, s := range servers {
		index[s.address] = i
	}
	held := make([][]bid, len(servers))
	for shard, holder := range holders {
		if i, ok := index[holder]; ok {
			if held[i] == nil {
				held[i] = make([]bid, 0, room[i]+1) // what it has, when another joins
			}
			held[i] = append(held[i], m.bid(shard, i))
		}
	}
	for i, bids := range held {
		if len(bids) > room[i] {
			slices.SortFunc(bids, bid.compare)
			bids = bids[:room[i]]
		}
		for _, b := range bids {
			homes[b.shard] = servers[i].address
		}
		room[i] -= len(bids)
	}
}

// fill finds homes for the shards that have none.
func (m marks) fill(homes []member.Address, servers []server, room []int) {
	market := market{marks: m, room: room, bids: make([][]bid, len(servers)), worst: make([]bid, len(servers))}
	for i, n := range room {
		market.worst[i] = bid{shard: len(homes)} // any is better
		if n > 0 {
			market.open = append(market.open, i)
		}
	}
	var pool []int
	for shard, home := range homes {
		if home.IsZero() {
			pool = append(pool, shard)
		}
	}
	for len(pool) > 0 {
		pool = market.round(pool)
	}
	for i, bids := range market.bids {
		for _, b := range bids {
			homes[b.shard] = servers[i].address
		}
	}
}

// A market finds the one matching in which no shard and server would rather
// have each other (Gale and Shapley, 1962). The rooms add up to the shards.
type market struct {
	marks
	open  []int   // servers with room at the beginning
	room  []int   // of each server
	bids  [][]bid // of each server, those that it has not turned away
	worst []bid   // of each server that is full, what a new bid has to beat
}

// round lets each shard of the pool bid at the server that it fits best among
// those that may take it. Servers with more bids than room turn the worst away;
// those are the next pool.
func (m *market) round(pool []int) (next []int) {
	for _, shard := range pool {
		i := m.choose(shard)
		m.bids[i] = append(m.bids[i], m.bid(shard, i))
	}
	for _, i := range m.open {
		n := m.room[i]
		if len(m.bids[i]) < n {
			continue
		}
		slices.SortFunc(m.bids[i], bid.compare)
		for _, b := range m.bids[i][n:] {
			next = append(next, b.shard)
		}
		m.bids[i], m.worst[i] = m.bids[i][:n], m.bids[i][n-1]
	}
	return next
}

func (m *market) choose(shard int) (server int) {
	var top uint64
	server = -1
	for _, i := range m.open {
		b := m.bid(shard, i)
		if (server < 0 || b.mark > top) && b.compare(m.worst[i]) < 0 {
			server, top = i, b.mark
		}
	}
	return server
}

// textHash is FNV-1a with 64 bits, mixed.
func textHash(s string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return mix(h)
}

// mix spreads every bit over all others: the finaliser of SplitMix64 (Steele,
// Lea and Flood, OOPSLA 2014).
func mix(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
