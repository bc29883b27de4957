package troupe

import (
	"fmt"
	"time"
)

// A plan is the order in which a node ends, and how long each phase may take.
// Phases come one after the other; what one leaves over the next does not get,
// but for the two that need the other members: they share their time.
type plan struct {
	handOver   time.Duration // components give away what they have here
	removed    time.Duration // from the start until the others have let this node go
	components time.Duration // components stop what they still have
	actors     time.Duration // actors end after the message in hand
	store      time.Duration // the store learns that this node has gone
	links      time.Duration // what is queued is written, and links close
}

// defaultLeaveWithin is below the 30 s after which supervisors of processes
// tend to lose patience.
const defaultLeaveWithin = 28 * time.Second

// planFor divides a budget among the phases.
func planFor(total time.Duration) plan {
	part := total / 28
	return plan{handOver: 17 * part, removed: 21 * part, components: part, actors: 3 * part, store: part, links: 2 * part}
}

// The names of the phases, as the log and /why tell them.
const (
	phaseHandOver   = "hand over"
	phaseRemoved    = "be removed"
	phaseComponents = "stop components"
	phaseActors     = "stop actors"
	phaseStore      = "leave the store"
	phaseLinks      = "close links"
)

// String tells the plan in one line.
func (p plan) String() string {
	return fmt.Sprintf("%s within %v, %s until %v, %s within %v, %s within %v, %s within %v, %s within %v: %v in all",
		phaseHandOver, p.handOver, phaseRemoved, p.removed, phaseComponents, p.components, phaseActors, p.actors,
		phaseStore, p.store, phaseLinks, p.links, p.removed+p.components+p.actors+p.store+p.links)
}
