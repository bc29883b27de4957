package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/examples/dadbot/audit"
)

// An outcome is what a run has come to, as its ledger and its load tell.
type outcome struct {
	accepted int
	lost     []string // accepted, and in no joke
	cut      int      // accepted, and in no joke, by a node that was killed before it handed it on
	again    int      // in a second joke because a Dad was ended when he had just told the first

	doubled, reordered, rivals []string

	moving  []time.Duration // the delays of what was said while shards moved gracefully, sorted
	calm    []time.Duration // those of what was said otherwise, but for after kills, sorted
	longest []time.Duration // for each kill: the longest delay of what was said since
}

// A span is a time in which something happened to the cluster.
type span struct{ from, to time.Time }

func (s span) has(at time.Time) bool { return !at.Before(s.from) && !at.After(s.to) }

// What dies with a node: what it accepted longer ago is not lost for that, and what it
// joked about longer ago is not told again.
const (
	handOn  = 2 * time.Second
	justNow = 100 * time.Millisecond
)

// judge reads an outcome. A message's delay counts from when it was due until it
// was first heard. Nodes that were unseated had their Dads ended at once then.
func (l ledger) judge(due map[string]time.Time, moves, kills []span, killed map[string]time.Time, unseated map[string][]time.Time) outcome {
	o := outcome{reordered: slices.Concat(l.reordered(), l.misheard()), rivals: l.rivals(killed)}
	o.longest = make([]time.Duration, len(kills))
	first := l.heard()
	jokes := l.jokedAbout()
	o.again, o.doubled = l.repeats(killed, unseated)
	for _, e := range l {
		if e.Event != audit.Accepted {
			continue
		}
		o.accepted++
		died, edgeDied := killed[e.Node]
		edgeDied = edgeDied && died.Sub(e.T) < handOn
		at, heard := first[e.ID]
		switch {
		case jokes[e.ID] > 0:
		case edgeDied:
			o.cut++
		case heard:
			o.lost = append(o.lost, fmt.Sprintf("%s, accepted by %s and heard on %s, is in no joke", e.ID, e.Node, at.Node))
		default:
			o.lost = append(o.lost, fmt.Sprintf("%s, accepted by %s, was never heard", e.ID, e.Node))
		}
		if heard && !edgeDied {
			o.note(due[e.ID], at.T, moves, kills)
		}
	}
	slices.Sort(o.moving)
	slices.Sort(o.calm)
	return o
}

// note counts the delay of a message where it belongs.
func (o *outcome) note(due, heard time.Time, moves, kills []span) {
	delay := heard.Sub(due)
	calm := true
	for i, k := range kills {
		if k.has(due) {
			o.longest[i] = max(o.longest[i], delay)
			calm = false
		}
	}
	switch moved := slices.ContainsFunc(moves, func(m span) bool { return m.has(due) }); {
	case !calm:
	case moved:
		o.moving = append(o.moving, delay)
	default:
		o.calm = append(o.calm, delay)
	}
}

// heard is when each id was heard first.
func (l ledger) heard() map[string]audit.Event {
	first := make(map[string]audit.Event)
	for _, e := range l {
		if _, ok := first[e.ID]; !ok && e.Event == audit.Heard {
			first[e.ID] = e
		}
	}
	return first
}

// repeats are the ids that are in more than one joke: because the Dad who told the one
// before was killed just then, or his node lost its seat, or for no such reason.
func (l ledger) repeats(killed map[string]time.Time, unseated map[string][]time.Time) (again int, doubled []string) {
	told := make(map[string]audit.Event)
	for _, e := range l {
		if e.Event != audit.Joke {
			continue
		}
		for _, id := range e.IDs {
			before, repeat := told[id]
			died, dead := killed[before.Node]
			justBefore := func(end time.Time) bool { return !end.Before(before.T) && end.Sub(before.T) < justNow }
			switch {
			case repeat && (dead && died.Sub(before.T) < justNow || slices.ContainsFunc(unseated[before.Node], justBefore)):
				again++
			case repeat:
				doubled = append(doubled, fmt.Sprintf("%s, on %s and %v later on %s", id, before.Node, e.T.Sub(before.T), e.Node))
			}
			told[id] = e
		}
	}
	return again, doubled
}

// misheard are the places where a message of a sender is heard for the first time
// behind a later one of his. An id is sender/chat/number.
func (l ledger) misheard() (bad []string) {
	known := make(map[string]bool)
	latest := make(map[string]int)
	for _, e := range l {
		if e.Event != audit.Heard || known[e.ID] {
			continue
		}
		known[e.ID] = true
		i := strings.LastIndexByte(e.ID, '/')
		n, _ := strconv.Atoi(e.ID[i+1:])
		if before, ok := latest[e.ID[:i]]; ok && n < before {
			bad = append(bad, fmt.Sprintf("%s is heard after %d on %s", e.ID, before, e.Node))
		}
		latest[e.ID[:i]] = n
	}
	return bad
}

// percentile of sorted durations; 0 of none.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*p/100]
}

func TestAnOutcomeIsJudged(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	killed := map[string]time.Time{"node-0": at(3000)}
	var l ledger
	add := func(ms int, node string, kind audit.Kind, id string) {
		e := audit.Event{T: at(ms), Node: node, Event: kind, Chat: "#c", ID: id}
		if kind == audit.Joke {
			e.ID, e.IDs = "", strings.Split(id, ",")
		}
		l = append(l, e)
	}
	add(0, "node-0", audit.Accepted, "a/c/0")
	add(10, "node-1", audit.Accepted, "b/c/1")
	add(20, "node-1", audit.Heard, "b/c/2")
	add(30, "node-1", audit.Heard, "b/c/1")
	add(500, "node-1", audit.Joke, "b/c/1,b/c/2")
	add(1500, "node-0", audit.Accepted, "a/c/3")
	add(2500, "node-1", audit.Accepted, "b/c/4")
	add(2600, "node-0", audit.Heard, "b/c/4")
	add(2700, "node-1", audit.Accepted, "b/c/5")
	add(2910, "node-0", audit.Joke, "b/c/1")
	add(3300, "node-1", audit.Heard, "b/c/5")
	add(3600, "node-1", audit.Joke, "b/c/4")
	add(3700, "node-1", audit.Joke, "b/c/1,b/c/4")
	add(4000, "node-2", audit.Joke, "b/c/2")
	add(4200, "node-2", audit.Joke, "b/c/6") // after its seat was lost: that is nobody's right
	add(4300, "node-1", audit.Joke, "b/c/2,b/c/6")
	due := map[string]time.Time{"b/c/1": at(0), "b/c/4": at(2500), "b/c/5": at(2700)}
	o := l.judge(due, []span{{at(2400), at(2550)}}, []span{{at(2650), at(4000)}}, killed, map[string][]time.Time{"node-1": {at(590)}, "node-2": {at(4150)}})
	want := outcome{
		accepted: 5, cut: 1, again: 3,
		lost:      []string{"a/c/0, accepted by node-0, was never heard", "b/c/5, accepted by node-1 and heard on node-1, is in no joke"},
		doubled:   []string{"b/c/4, on node-1 and 100ms later on node-1", "b/c/2, on node-2 and 300ms later on node-1", "b/c/6, on node-2 and 100ms later on node-1"},
		reordered: []string{"b/c/1 is heard after 2 on node-1"},
		moving:    []time.Duration{100 * time.Millisecond},
		calm:      []time.Duration{30 * time.Millisecond},
		longest:   []time.Duration{600 * time.Millisecond},
	}
	if got, want := fmt.Sprintf("%+v", o), fmt.Sprintf("%+v", want); got != want {
		t.Errorf("the outcome is\n %s\nwant\n %s", got, want)
	}
}
