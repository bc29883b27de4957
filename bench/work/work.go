// Package work says what is measured: the works that every system is given,
// with their sizes, and the form of a result. It is data; drivers and the
// runner read it, and README.md says the same in words.
package work

import (
	"fmt"
	"slices"
)

// A Unit is what a work's value is counted in.
type Unit string

// The units.
const (
	MessagesPerSecond Unit = "msg/s"
	AsksPerSecond     Unit = "ask/s"
	ActorsPerSecond   Unit = "actor/s"
	Nanoseconds       Unit = "ns"
	Seconds           Unit = "s"
	Bytes             Unit = "B"
)

// Rate tells whether more is better; of the other units less is.
func (u Unit) Rate() bool {
	return u == MessagesPerSecond || u == AsksPerSecond || u == ActorsPerSecond
}

// A Work is one thing to measure.
type Work struct {
	Name string
	Unit Unit
	N    int    // operations in one run: messages, asks, strokes, actors, leaves
	Few  int    // operations when it only has to be shown that a driver works
	What string // one line for tables
}

// Sizes that are not a number of operations; every system uses the same.
const (
	Fan     = 1000 // actors in fanout-1000
	Mailbox = 1024 // messages that may wait for a local actor, where a system has a bound
	Body    = 100  // bytes in each message and request that leaves its process
	Askers  = 64   // concurrent askers, or senders, in the works named -64
	IDs     = 1000 // entities in the works named sharded-
	Branch  = 10   // children of each actor in skynet-1m
)

// All are the works in the order in which they are run and shown.
func All() []Work {
	return slices.Clone([]Work{
		{"tell-1-1", MessagesPerSecond, 5_000_000, 2000, "one sender, one actor"},
		{"tell-2-1", MessagesPerSecond, 5_000_000, 2000, "two senders, one actor"},
		{"fanout-1000", MessagesPerSecond, 5_000_000, 2000, "one sender, rounds of one message to each of a thousand actors"},
		{"ask-1", Nanoseconds, 1_000_000, 500, "one asker, one ask after the other: time of one"},
		{"ask-64", AsksPerSecond, 2_000_000, 500, "64 askers, one actor"},
		{"pingpong", MessagesPerSecond, 2_000_000, 500, "one ball between two actors: strokes"},
		{"spawn-1m", ActorsPerSecond, 1_000_000, 500, "spawn actors, each handles one message"},
		{"idle-bytes", Bytes, 1_000_000, 20_000, "resident memory of one idle actor, without the user's state"},
		{"skynet-1m", Seconds, 1_000_000, 100, "a tree of actors, ten children each, sums up a million leaves"},
		{"remote-tell-1-1", MessagesPerSecond, 1_000_000, 500, "two processes: one sender, one actor, 100 B"},
		{"remote-tell-64-1", MessagesPerSecond, 1_000_000, 500, "two processes: 64 senders, one actor, 100 B"},
		{"remote-ask-1", Nanoseconds, 20_000, 50, "two processes: one ask after the other, 100 B: p50"},
		{"remote-ask-64", AsksPerSecond, 300_000, 200, "two processes: 64 askers, one actor, 100 B"},
		{"sharded-ask-64", AsksPerSecond, 300_000, 200, "three processes: 64 askers in one, entities in the others, 100 B"},
		{"sharded-ask-64-once", AsksPerSecond, 300_000, 200, "the same, delivered at most once"},
		{"sharded-tell-64", MessagesPerSecond, 1_000_000, 500, "three processes: 64 senders in one, entities in the others, 100 B"},
		{"sharded-tell-64-once", MessagesPerSecond, 1_000_000, 500, "the same, delivered at most once"},
		{"sharded-tell-local", MessagesPerSecond, 5_000_000, 2000, "one sender, one entity of the same process"},
	})
}

// Find gives the work with a name.
func Find(name string) (Work, error) {
	for _, w := range All() {
		if w.Name == name {
			return w, nil
		}
	}
	return Work{}, fmt.Errorf("there is no work %q", name)
}

// Check tells whether n operations make a run of w.
func (w Work) Check(n int) error {
	if n < 1 {
		return fmt.Errorf("%d operations: at least 1", n)
	}
	switch w.Name {
	case "fanout-1000":
		if n%Fan != 0 {
			return fmt.Errorf("%d messages are no whole rounds of %d", n, Fan)
		}
	case "skynet-1m":
		leaves := n
		for leaves%Branch == 0 {
			leaves /= Branch
		}
		if leaves != 1 {
			return fmt.Errorf("%d leaves are no whole tree: use a power of %d", n, Branch)
		}
	}
	return nil
}

// A Result is what one run of one work found: the line that a system prints.
type Result struct {
	Work        string             `json:"work"`
	Unit        Unit               `json:"unit"`
	Value       float64            `json:"value"`
	AllocsPerOp *float64           `json:"allocs_per_op,omitempty"` // in all its processes; nil where they cannot be counted
	Extra       map[string]float64 `json:"extra,omitempty"`         // p50 and p99, in ns
}

// Check tells what is wrong with a result of w.
func (r Result) Check(w Work) error {
	switch {
	case r.Work != w.Name:
		return fmt.Errorf("the result is of work %q, not of %q", r.Work, w.Name)
	case r.Unit != w.Unit:
		return fmt.Errorf("the result is in %s, not in %s", r.Unit, w.Unit)
	case !(r.Value > 0): // NaN too
		return fmt.Errorf("the value is %v: it must be positive", r.Value)
	}
	return nil
}
