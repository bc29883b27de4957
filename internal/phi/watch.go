package phi

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// Watch is one node's share of the mutual watching: whom it sends heartbeats
// to and what their answers say. The receivers are this node's neighbours on
// the ring and, until they answer, former neighbours that had fallen silent:
// a change of the ring must not make anybody forget a suspicion.
type Watch struct {
	self      member.ID
	ring      *Ring
	detectors *Registry
	neighbors []member.ID // ring.Receivers(self), in order
	silent    []member.ID // former neighbours under suspicion, in order
}

// NewWatch starts with a ring of self alone.
func NewWatch(self member.ID, monitoredBy int, s Settings) *Watch {
	return &Watch{self: self, ring: NewRing(monitoredBy, []member.ID{self}, nil), detectors: NewRegistry(s)}
}

// Init sets the ring to these nodes and self.
func (w *Watch) Init(nodes, unreachable []member.ID) {
	w.ring = NewRing(w.ring.monitoredBy, append(slices.Clone(nodes), w.self), unreachable)
	w.neighbors = w.ring.Receivers(w.self)
}

// Add puts new members into the ring.
func (w *Watch) Add(now time.Time, nodes ...member.ID) {
	changed := false
	for _, node := range nodes {
		changed = w.ring.Add(node) || changed
	}
	if changed {
		w.turn(now)
	}
}

// Remove forgets a removed member altogether.
func (w *Watch) Remove(node member.ID, now time.Time) {
	if w.ring.Remove(node) {
		w.turn(now)
	}
	w.Forget(node)
	if i, ok := slices.BinarySearchFunc(w.silent, node, member.ID.Compare); ok {
		w.silent = slices.Delete(w.silent, i, i+1)
	}
}

// Mark says whether the cluster holds a member for unreachable, whoever says so.
func (w *Watch) Mark(node member.ID, unreachable bool, now time.Time) {
	if w.ring.Mark(node, unreachable) {
		w.turn(now)
	}
}

// turn follows a change of the ring: those that are no neighbours any more are
// let go when they are well, else kept an eye on.
func (w *Watch) turn(now time.Time) {
	former := w.neighbors
	w.neighbors = w.ring.Receivers(w.self)
	for _, node := range former {
		if contains(w.neighbors, node) {
			continue
		}
		if w.detectors.Available(node, now) {
			w.detectors.Remove(node)
		} else if i, there := slices.BinarySearchFunc(w.silent, node, member.ID.Compare); !there {
			w.silent = slices.Insert(w.silent, i, node)
		}
	}
}

// Receivers lists all that should get a heartbeat now, in order.
func (w *Watch) Receivers() []member.ID {
	if len(w.silent) == 0 {
		return w.neighbors
	}
	all := slices.Concat(w.neighbors, w.silent)
	slices.SortFunc(all, member.ID.Compare)
	return slices.Compact(all)
}

// Active tells whether the node is among the receivers.
func (w *Watch) Active(node member.ID) bool {
	return contains(w.neighbors, node) || contains(w.silent, node)
}

// Response takes the answer to a heartbeat; from others than receivers it
// means nothing.
func (w *Watch) Response(from member.ID, now time.Time) {
	if !w.Active(from) {
		return
	}
	w.detectors.Heartbeat(from, now)
	if i, ok := slices.BinarySearchFunc(w.silent, from, member.ID.Compare); ok {
		w.silent = slices.Delete(w.silent, i, i+1)
		if !contains(w.neighbors, from) {
			w.detectors.Remove(from)
		}
	}
}

// Expect starts the clock of a receiver that has not answered at all yet, so
// that one that never does comes under suspicion too.
func (w *Watch) Expect(node member.ID, now time.Time) {
	if w.Active(node) && !w.detectors.Monitoring(node) {
		w.detectors.Heartbeat(node, now)
	}
}

// Forget drops the history of a node, whose place in the ring stays.
func (w *Watch) Forget(node member.ID) { w.detectors.Remove(node) }

// Monitoring tells whether the node's clock runs.
func (w *Watch) Monitoring(node member.ID) bool { return w.detectors.Monitoring(node) }

// Available tells whether the node is above suspicion; those that this node
// does not watch are.
func (w *Watch) Available(node member.ID, now time.Time) bool {
	return w.detectors.Available(node, now)
}

// Unavailable lists those under suspicion, in order.
func (w *Watch) Unavailable(now time.Time) []member.ID { return w.detectors.Unavailable(now) }

// Silent lists those that have not answered for longer than a limit, in order.
func (w *Watch) Silent(now time.Time, limit time.Duration) []member.ID {
	return w.detectors.Silent(now, limit)
}

// Phi is the suspicion level of a node; 0 for one that is not watched.
func (w *Watch) Phi(node member.ID, now time.Time) float64 { return w.detectors.Phi(node, now) }

func contains(sorted []member.ID, id member.ID) bool {
	_, ok := slices.BinarySearchFunc(sorted, id, member.ID.Compare)
	return ok
}
