package sim

import (
	"slices"
	"strconv"
)

// A Trim is what a world is played without: faults by their number, "weather",
// "clocks" that were set back or run at other rates, and once for each "node"
// that is not started.
type Trim []string

// without tells whether a trimmed world lacks something.
func (w *World) without(what string) bool { return slices.Contains(w.trim, what) }

// shrink leaves out of a world that fails whatever it fails without, one thing
// after the other: faults first, the last ones first, then the rest. Playing
// is deterministic, so trying each once is exact.
func shrink(fails func(Trim) bool, planned int) Trim {
	var trim Trim
	var candidates []string
	for number := planned - 1; number >= 0; number-- {
		candidates = append(candidates, strconv.Itoa(number))
	}
	for _, candidate := range append(candidates, "weather", "clocks", "node", "node", "node", "node") {
		if shorter := append(slices.Clone(trim), candidate); fails(shorter) {
			trim = shorter
		}
	}
	return trim
}

// fewer is how many nodes to start in a trimmed world: never less than three.
func (w *World) fewer(count int) int {
	for _, what := range w.trim {
		if what == "node" && count > 3 {
			count--
		}
	}
	return count
}
