package gossip

import (
	"fmt"
	"slices"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/internal/vectortest"
)

func TestVectorsVectorClock(t *testing.T) {
	vectortest.Run(t, "vector_clock", map[string]vectortest.Check{
		"clock_compare":   vectortest.Kind(checkClockCompare),
		"clock_merge":     vectortest.Kind(checkClockMerge),
		"clock_prune":     vectortest.Kind(checkClockPrune),
		"clock_increment": vectortest.Kind(checkClockIncrement),
	})
}

type jsonClock map[string]uint64

func (c jsonClock) clock() Clock {
	var clock Clock
	for name, n := range c {
		clock = append(clock, Count{named(name), n})
	}
	slices.SortFunc(clock, func(a, b Count) int { return a.Node.Compare(b.Node) })
	return clock
}

func named(name string) member.ID { return member.ID{Address: member.Address{Host: name}} }

func toJSON(c Clock) jsonClock {
	out := jsonClock{}
	for _, e := range c {
		out[e.Node.Host] = e.N
	}
	return out
}

type jsonClockWant struct {
	Clock jsonClock `json:"clock"`
}

// text prints a value so that equal values have equal texts.
func text(v any) string { return fmt.Sprintf("%+v", v) }

func checkClockCompare(t *testing.T, in struct {
	Left  jsonClock `json:"left"`
	Right jsonClock `json:"right"`
}, want struct {
	Order string `json:"order"`
},
) {
	names := []string{Same: "same", Before: "before", After: "after", Concurrent: "concurrent"}
	same(t, "order", names[in.Left.clock().Compare(in.Right.clock())], want.Order)
}

func checkClockMerge(t *testing.T, in struct {
	Left  jsonClock `json:"left"`
	Right jsonClock `json:"right"`
}, want jsonClockWant,
) {
	same(t, "merged", toJSON(in.Left.clock().Merge(in.Right.clock())), want.Clock)
}

func checkClockPrune(t *testing.T, in struct {
	Clock jsonClock `json:"clock"`
	Node  string    `json:"node"`
}, want jsonClockWant,
) {
	same(t, "pruned", toJSON(in.Clock.clock().Prune(named(in.Node))), want.Clock)
}

func checkClockIncrement(t *testing.T, in struct {
	Clock jsonClock `json:"clock"`
	Nodes []string  `json:"nodes_in_order"`
}, want jsonClockWant,
) {
	clock := in.Clock.clock()
	for _, name := range in.Nodes {
		clock = clock.Increment(named(name))
	}
	same(t, "incremented", toJSON(clock), want.Clock)
}
