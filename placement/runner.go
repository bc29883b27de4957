package placement

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/troupe-go/troupe/internal/member"
)

// An Assigner says who should hold each shard of a group. Every node asks it
// with what it reads in the runner table and the table of locks, without a
// leader; the answer is advice, and the lock decides.
//
// [LeastMovement] is the default; [Compatible] agrees with Effect Cluster.
type Assigner interface {
	// Name identifies the assignment in logs and tools, such as
	// "least-movement".
	Name() string
	// Assign gives the runner of each shard, by its number; the zero Address
	// for all when no runner serves the group. Runners may come in any order.
	// Holders, also by number, are those that hold the locks now, zero for
	// nobody; missing ones at the end are nobody.
	Assign(g Group, runners []Runner, holders []member.Address) []member.Address
}

// A Runner is one process that can hold shards. It is known by its address: one
// that is started again takes the place of the one before, and its shards.
type Runner struct {
	Address member.Address
	// Weight is how much it takes in comparison to others: one of 2 gets twice
	// the shards of one of 1. Default 1; what is below 0.1 or above 100 counts
	// as that.
	Weight float64
	// Groups are the shard groups that it serves; none for [DefaultGroup].
	Groups []string
}

// The bounds of a weight. A runner of the greatest has 12,800 points on the
// ring, so that a slip in one row does not cost everybody their memory.
const (
	minWeight = 0.1
	maxWeight = 100
)

// Check finds what is wrong with the settings of the node's own runner, all of
// it. Others' are taken as they come: a row that is wrong must not stop the rest.
func (r Runner) Check() error {
	var problems []error
	if r.Address.IsZero() {
		problems = append(problems, errors.New("runner without an address: set the one that others reach it at"))
	}
	if r.Weight != 0 && !(r.Weight >= minWeight && r.Weight <= maxWeight) {
		problems = append(problems, fmt.Errorf("runner weight %v: must be from %v to %v, or 0 for 1", r.Weight, minWeight, maxWeight))
	}
	for i, g := range r.Groups {
		switch {
		case g == "":
			problems = append(problems, fmt.Errorf("runner group %d has no name: leave Groups out to serve %q", i, DefaultGroup))
		case slices.Contains(r.Groups[:i], g):
			problems = append(problems, fmt.Errorf("runner group %q is named twice", g))
		}
	}
	return errors.Join(problems...)
}

func (r Runner) weight() float64 {
	if r.Weight == 0 || math.IsNaN(r.Weight) {
		return 1
	}
	return min(max(r.Weight, minWeight), maxWeight)
}

func (r Runner) serves(group string) bool {
	if len(r.Groups) == 0 {
		return group == DefaultGroup
	}
	return slices.Contains(r.Groups, group)
}

// A server is a runner as the assignments of one group see it.
type server struct {
	address member.Address
	key     string // host:port, where an IPv6 host has no brackets
	weight  float64
}

// servers are the runners that serve the group, in the order of their keys.
// Address is a table's key; should one come twice, the lighter row counts.
func (g Group) servers(runners []Runner) []server {
	servers := make([]server, 0, len(runners))
	for _, r := range runners {
		if r.serves(g.name()) {
			servers = append(servers, server{
				address: r.Address, key: r.Address.Host + ":" + strconv.Itoa(r.Address.Port), weight: r.weight(),
			})
		}
	}
	slices.SortFunc(servers, func(a, b server) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.weight, b.weight))
	})
	return slices.CompactFunc(servers, func(a, b server) bool { return a.key == b.key })
}
