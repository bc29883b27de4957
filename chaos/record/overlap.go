package record

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Overlap is a time in which two incarnations of one entity took messages.
type Overlap struct {
	Entity        string
	First, Second int           // their nodes
	At, For       time.Duration // since when, and for how long
}

func (o Overlap) String() string {
	return fmt.Sprintf("%s was answered for by node %d and node %d at once, for %v from %v on", o.Entity, o.First, o.Second, o.For, o.At)
}

// life is the time from the first to the last answer of an incarnation.
type life struct {
	entity, id string
	node       int
	from, til  time.Duration
}

// Overlaps finds them, in the order of entities and times. An incarnation takes
// messages from its first to its last answer, whatever lies between.
func Overlaps(events []Event) []Overlap {
	lives := livesOf(events)
	var found []Overlap
	for i, a := range lives {
		for _, b := range lives[i+1:] {
			if b.entity != a.entity || b.from > a.til {
				break // all others begin later still
			}
			found = append(found, Overlap{a.entity, a.node, b.node, b.from, min(a.til, b.til) - b.from})
		}
	}
	return found
}

// livesOf are sorted by entity and beginning.
func livesOf(events []Event) []life {
	type key struct{ entity, id string }
	at := make(map[key]int)
	var lives []life
	for _, e := range events {
		if e.Kind != Answered {
			continue
		}
		k := key{e.Entity, e.Life}
		i, ok := at[k]
		if !ok {
			i = len(lives)
			at[k] = i
			lives = append(lives, life{e.Entity, e.Life, e.Node, e.At, e.At})
		}
		lives[i].from, lives[i].til = min(lives[i].from, e.At), max(lives[i].til, e.At)
	}
	slices.SortFunc(lives, func(a, b life) int {
		return cmp.Or(cmp.Compare(a.entity, b.entity), cmp.Compare(a.from, b.from), cmp.Compare(a.id, b.id))
	})
	return lives
}

// Gap is the longest time, from a moment on, in which nobody answered for an
// entity that somebody answered for later; zero if there is none.
func Gap(events []Event, from time.Duration) (longest time.Duration) {
	answers := make(map[string][]time.Duration)
	for _, e := range events {
		if e.Kind == Answered && e.At >= from {
			answers[e.Entity] = append(answers[e.Entity], e.At)
		}
	}
	for _, at := range answers {
		slices.Sort(at)
		before := from
		for _, t := range at {
			longest = max(longest, t-before)
			before = t
		}
	}
	return longest
}
