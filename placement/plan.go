package placement

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// A Plan tells ahead what a change of the cluster would move: from
// [PlanChange] for a coordinator, from [PlanRing] for runners. It is played
// through with the code that decides later, so it is exact as long as nothing
// else happens meanwhile.
type Plan struct {
	By       string        // the name of the strategy or the assignment
	Shards   int           // all of them, those that stay too
	Nodes    []NodePlan    // before and after, in the order of addresses
	Moves    []Move        // one by one; a shard that moves twice is here twice
	Rounds   int           // how often shards were chosen to balance; a leave comes before
	Lasts    time.Duration // from the change to the last shard's arrival
	Settled  bool          // false when it was not over after 1000 rounds (fewer beyond 50,000 shards)
	Warnings []string      // what is not as it should be, and what to do about it
}

// A Move is one shard's way from one node to another, or back to the same.
type Move struct {
	Shard    string
	From, To member.Address
	Round    int // from 1; 0 when its node leaves
}

// A NodePlan is how many shards a node has before and after.
type NodePlan struct {
	Address       member.Address
	Joins, Leaves bool
	Before, After int
}

// Pace is how quickly moves follow each other.
type Pace struct {
	// Every is the time between two rounds, or for runners the longest time until
	// one notices a change. Default 10 s.
	Every time.Duration
	// HandOver is how long a shard is on its way. Default 1 s.
	HandOver time.Duration
}

func (p Pace) withDefaults() Pace {
	if p.Every <= 0 {
		p.Every = 10 * time.Second
	}
	if p.HandOver <= 0 {
		p.HandOver = time.Second
	}
	return p
}

// rounds is how long n rounds take. A round begins when the one before is over.
func (p Pace) rounds(n int) time.Duration {
	if n == 0 {
		return 0
	}
	each := (p.HandOver + p.Every - 1) / p.Every * p.Every
	return time.Duration(n)*max(each, p.Every) + p.HandOver
}

// moved is how many shards move, each counted once.
func (p Plan) moved() int {
	shards := make(map[string]struct{}, len(p.Moves))
	for _, m := range p.Moves {
		shards[m.Shard] = struct{}{}
	}
	return len(shards)
}

// again is how many moves are of shards that have moved before.
func (p Plan) again() int { return len(p.Moves) - p.moved() }

// rounds are their number in words.
func (p Plan) rounds() string {
	if !p.Settled {
		return fmt.Sprintf("more than %d", p.Rounds)
	}
	return strconv.Itoa(p.Rounds)
}

// largestRound is the most moves of one round.
func (p Plan) largestRound() int {
	perRound := make([]int, p.Rounds+1)
	for _, m := range p.Moves {
		if m.Round > 0 {
			perRound[m.Round]++
		}
	}
	return slices.Max(perRound)
}

// linesOfNodes is how many nodes String lists.
const linesOfNodes = 20

// String gives a sentence, the nodes whose shards change (the first 20) and the
// warnings, each on a line.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d of %d shards move%s\n", p.By, p.moved(), p.Shards, p.course())
	changed := slices.DeleteFunc(slices.Clone(p.Nodes), func(n NodePlan) bool {
		return n.Before == n.After && !n.Joins && !n.Leaves
	})
	width := 0
	for _, n := range changed {
		width = max(width, len(n.Address.String()))
	}
	for _, n := range changed[:min(len(changed), linesOfNodes)] {
		fmt.Fprintf(&b, "  %-*s %4d -> %d%s\n", width, n.Address, n.Before, n.After, n.note())
	}
	if more := len(changed) - linesOfNodes; more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

func (p Plan) course() string {
	switch {
	case len(p.Moves) == 0:
		return ""
	case p.Rounds == 0:
		return fmt.Sprintf(" at once, in about %v", p.Lasts)
	case p.Rounds == 1:
		return fmt.Sprintf(" in 1 round, in about %v", p.Lasts)
	default:
		return fmt.Sprintf(" in %s rounds, in about %v", p.rounds(), p.Lasts)
	}
}

func (n NodePlan) note() string {
	switch {
	case n.Joins:
		return ", joins"
	case n.Leaves:
		return ", leaves"
	default:
		return ""
	}
}

// nodePlans counts the shards of nodes from their homes before and after.
func nodePlans(before, after []member.Address, joins, leaves func(member.Address) bool, nodes []member.Address) []NodePlan {
	counts := map[member.Address]*NodePlan{}
	plans := make([]NodePlan, 0, len(nodes))
	for _, a := range nodes {
		plans = append(plans, NodePlan{Address: a, Joins: joins(a), Leaves: leaves(a)})
	}
	slices.SortFunc(plans, func(a, b NodePlan) int { return a.Address.Compare(b.Address) })
	plans = slices.CompactFunc(plans, func(a, b NodePlan) bool { return a.Address == b.Address })
	for i := range plans {
		counts[plans[i].Address] = &plans[i]
	}
	for _, a := range before {
		if n := counts[a]; n != nil {
			n.Before++
		}
	}
	for _, a := range after {
		if n := counts[a]; n != nil {
			n.After++
		}
	}
	return plans
}
