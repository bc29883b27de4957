package phi

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// Registry holds a detector for each peer that was ever heard of: made at its
// first heartbeat, dropped by Remove. It is meant for the few neighbours of a
// node, so it is a sorted list.
type Registry struct {
	settings Settings
	entries  []entry // by peer
}

type entry struct {
	peer     member.ID
	detector *Detector
}

// NewRegistry makes an empty registry; all its detectors share the settings.
func NewRegistry(s Settings) *Registry { return &Registry{settings: s} }

func (r *Registry) find(peer member.ID) (int, bool) {
	return slices.BinarySearchFunc(r.entries, peer, func(e entry, id member.ID) int { return e.peer.Compare(id) })
}

// Heartbeat records a sign of life of the peer.
func (r *Registry) Heartbeat(peer member.ID, now time.Time) {
	i, ok := r.find(peer)
	if !ok {
		r.entries = slices.Insert(r.entries, i, entry{peer, NewDetector(r.settings)})
	}
	r.entries[i].detector.Heartbeat(now)
}

// Available tells whether the peer is above suspicion; unknown ones are.
func (r *Registry) Available(peer member.ID, now time.Time) bool {
	i, ok := r.find(peer)
	return !ok || r.entries[i].detector.Available(now)
}

// Monitoring tells whether the peer was ever heard of.
func (r *Registry) Monitoring(peer member.ID) bool {
	_, ok := r.find(peer)
	return ok
}

// Phi is the suspicion level of the peer; 0 for unknown ones.
func (r *Registry) Phi(peer member.ID, now time.Time) float64 {
	i, ok := r.find(peer)
	if !ok {
		return 0
	}
	return r.entries[i].detector.Phi(now)
}

// Remove forgets the peer and its history.
func (r *Registry) Remove(peer member.ID) {
	if i, ok := r.find(peer); ok {
		r.entries = slices.Delete(r.entries, i, i+1)
	}
}

// Silent lists the peers that were not heard of for longer than a limit, in
// order.
func (r *Registry) Silent(now time.Time, limit time.Duration) []member.ID {
	var ids []member.ID
	for _, e := range r.entries {
		if e.detector.Silence(now) > limit {
			ids = append(ids, e.peer)
		}
	}
	return ids
}

// Unavailable lists the peers under suspicion, in order.
func (r *Registry) Unavailable(now time.Time) []member.ID {
	var ids []member.ID
	for _, e := range r.entries {
		if !e.detector.Available(now) {
			ids = append(ids, e.peer)
		}
	}
	return ids
}
