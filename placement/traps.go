package placement

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// playedShards bounds the time that Traps takes.
const playedShards = 3000

// Traps tells what to expect of a strategy before there is a cluster: it plans
// how a fourth node joins three, and warns when that takes minutes or does not
// end. It is nothing when all is well. Of more than 3000 shards it plans 3000:
// for the default that takes a few milliseconds.
func Traps(strategy Strategy, shards int, pace Pace) []string {
	const nodes = 3
	s := State{DataCenter: "any"}
	for i := range nodes + 1 {
		id := member.ID{Address: member.Address{Host: fmt.Sprintf("node-%d", i+1), Port: 1}, UID: 1}
		s.Members = append(s.Members, member.Member{ID: id, Status: member.Up, DataCenter: s.DataCenter})
		s.Regions = append(s.Regions, Region{ID: id})
	}
	fourth := s.Members[nodes]
	s.Members, s.Regions = s.Members[:nodes], s.Regions[:nodes]
	for shard := range min(shards, playedShards) {
		r := &s.Regions[shard%nodes]
		r.Shards = append(r.Shards, ShardText(shard))
	}
	change := Change{Join: []member.Member{fourth}}
	p := PlanChange(strategy, s, change, pace)
	traps := said(p.restless(), p.slow(strategy, s, change, pace))
	for i, t := range traps {
		traps[i] = "when a fourth node joins three, " + t
	}
	return traps
}

// said are the texts that are not empty.
func said(texts ...string) []string {
	var some []string
	for _, t := range texts {
		if t != "" {
			some = append(some, t)
		}
	}
	return some
}

func (p Plan) restless() string {
	if p.Settled || p.again() == 0 {
		return ""
	}
	return fmt.Sprintf("shards still move after %d rounds, %d of the moves are of shards that have moved before: "+
		"%s undoes what it did. It must come to rest when nothing changes", p.Rounds, p.again(), p.By)
}

// patience is how long a change may take before that is worth a warning.
const patience = 2 * time.Minute

func (p Plan) slow(strategy Strategy, s State, c Change, pace Pace) string {
	if p.Rounds < 2 || p.Lasts <= patience || !p.Settled && p.again() > 0 {
		return ""
	}
	text := fmt.Sprintf("%d shards move in %s rounds, at most %d a round: that takes %v. ",
		p.moved(), p.rounds(), p.largestRound(), p.Lasts)
	switch strategy.(type) {
	case LeastShards:
		return text + "Raise AbsoluteLimit or RelativeLimit"
	case LeastShardsLegacy:
		tenth := max(2, p.Shards/(10*max(1, len(p.staying())))) // of what a node has; it may be off by as much
		text += fmt.Sprintf("Raise Threshold and MaxSimultaneous to about %d, or use LeastShards", tenth)
	default:
		text += "Let it move more in a round, or use LeastShards"
	}
	quick := PlanChange(LeastShards{}, s, c, pace)
	return text + fmt.Sprintf(", which takes %s rounds and %v", quick.rounds(), quick.Lasts)
}

// repeated is said of plans that come to an end.
func (p Plan) repeated() string {
	if p.again() == 0 || !p.Settled {
		return ""
	}
	return fmt.Sprintf("%d moves are of shards that have moved before: each is a pause for its entities", p.again())
}

// staying are the nodes that do not leave.
func (p Plan) staying() []NodePlan {
	return slices.DeleteFunc(slices.Clone(p.Nodes), func(n NodePlan) bool { return n.Leaves })
}

// uneven tells of the node that is furthest from an even share, if that is more
// than a quarter of it.
func (p Plan) uneven() string {
	nodes := p.staying()
	if len(nodes) == 0 {
		return ""
	}
	even := (p.Shards + len(nodes) - 1) / len(nodes)
	off := func(n NodePlan) int { return max(n.After-even, even-n.After) }
	worst := slices.MaxFunc(nodes, func(a, b NodePlan) int { return cmp.Compare(off(a), off(b)) })
	if off(worst) <= max(1, even/4) {
		return ""
	}
	return fmt.Sprintf("%s ends with %d shards, where %d would be even", worst.Address, worst.After, even)
}

func (p Plan) idle() string {
	nodes := len(p.staying())
	if p.Shards == 0 || p.Shards >= nodes {
		return ""
	}
	return fmt.Sprintf("%d shards for %d nodes: %d have nothing to do. Ten times the nodes that there may ever be is a good number, "+
		"which cannot be changed while the cluster runs", p.Shards, nodes, nodes-p.Shards)
}
