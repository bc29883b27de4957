package troupe

import (
	"maps"
	"sync/atomic"
)

// removed remembers members that were removed from the cluster, at least the
// last thousand. The owner goroutine writes it; everybody reads.
type removed struct {
	now, before atomic.Pointer[map[ID]struct{}] // never changed in place
}

const removedKept = 1024

func (r *removed) add(id ID) {
	next := map[ID]struct{}{}
	if ids := r.now.Load(); ids != nil {
		next = maps.Clone(*ids)
	}
	next[id] = struct{}{}
	if len(next) > removedKept { // a new generation; the last one is kept beside it
		r.before.Store(&next)
		next = map[ID]struct{}{}
	}
	r.now.Store(&next)
}

func (r *removed) has(id ID) bool {
	for _, ids := range [...]*map[ID]struct{}{r.now.Load(), r.before.Load()} {
		if ids != nil {
			if _, ok := (*ids)[id]; ok {
				return true
			}
		}
	}
	return false
}
