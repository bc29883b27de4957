package placement

import (
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// PlanRing tells what moves when the runners before become the runners after,
// while holders have the locks. All moves are one round: runners look into the
// table each on its own.
func PlanRing(a Assigner, g Group, holders []member.Address, before, after []Runner, pace Pace) Plan {
	homes := a.Assign(g, after, holders)
	p := Plan{By: a.Name(), Shards: len(homes), Settled: true}
	was, is := g.addresses(before), g.addresses(after)
	stays := func(a member.Address) bool { return slices.Contains(was, a) && slices.Contains(is, a) }
	needless := 0
	for shard, holder := range holders[:min(len(holders), len(homes))] {
		if holder.IsZero() || holder == homes[shard] || homes[shard].IsZero() {
			continue
		}
		text := GroupShard{Group: g.name(), Number: shard}.String()
		p.Moves = append(p.Moves, Move{Shard: text, From: holder, To: homes[shard], Round: 1})
		if stays(holder) && stays(homes[shard]) {
			needless++
		}
	}
	p.Nodes = nodePlans(holders, homes,
		func(a member.Address) bool { return !slices.Contains(was, a) },
		func(a member.Address) bool { return !slices.Contains(is, a) },
		slices.Concat(was, is))
	if len(p.Moves) > 0 {
		p.Rounds, p.Lasts = 1, pace.withDefaults().rounds(1)
	}
	p.Warnings = said(unserved(g, is), betweenStayers(needless, len(p.Moves)), p.idle())
	return p
}

func (g Group) addresses(runners []Runner) []member.Address {
	var addresses []member.Address
	for _, s := range g.servers(runners) {
		addresses = append(addresses, s.address)
	}
	return addresses
}

func unserved(g Group, runners []member.Address) string {
	if len(runners) > 0 || g.Shards == 0 {
		return ""
	}
	return fmt.Sprintf("no runner serves the group %q: nothing of it runs", g.name())
}

func betweenStayers(needless, moves int) string {
	if needless == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d moves are between runners that stay: with LeastMovement there are none "+
		"unless the shares themselves are wrong now", needless, moves)
}
