// Package gossip is the membership of one node as a pure state machine.
package gossip

import (
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// Machine is the membership protocol of one node. It belongs to one goroutine.
type Machine struct {
	cfg     Config
	ignored [reasonCount]uint64
}

// New makes the machine of a node that has not joined yet.
func New(cfg Config) *Machine { return &Machine{cfg: cfg.withDefaults()} }

// Step feeds one input to the machine and returns what the node must do.
func (m *Machine) Step(now time.Time, in Input) Output { return Output{} }

// View is the membership as this node sees it now, never nil.
func (m *Machine) View() *member.View { return nil }

// Phi is the suspicion level of a neighbour now; zero for one that this node
// does not watch.
func (m *Machine) Phi(now time.Time, id member.ID) float64 { return 0 }

// Ignored counts the messages that were ignored for a reason.
func (m *Machine) Ignored(r Reason) uint64 { return m.ignored[r] }

// Describe tells people where the membership stands and what it waits for.
func (m *Machine) Describe() string { return "" }
