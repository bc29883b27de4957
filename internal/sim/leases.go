package sim

import (
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/sbr"
)

// leases is a store with the one lease that resolvers ask for, outside of all
// partitions but with troubles of its own. Its clock is the world's.
type leases struct {
	holder, before member.ID // before: whom a stale read shows
	until          time.Time
	hangsUntil     time.Time
	loses          float64 // probability that an answer gets lost, after the request was carried out
	stale          float64 // probability that a repeated question is answered from an old copy
}

// askStoreAgain is how long a node waits for the store's answer. No answer is
// no denial: it asks again until it has one.
const askStoreAgain = time.Second

// acquire has a node ask for the lease when its time has come.
func (w *World) acquire(n *node, a sbr.Acquire) {
	w.after(max(0, n.global(a.At).Sub(w.now)), func() { w.askStore(n, &request{}) })
}

// request is one decision's question, however often it is asked.
type request struct {
	asked    int
	answered bool
}

func (w *World) askStore(n *node, r *request) {
	if r.answered || !n.running() {
		return
	}
	r.asked++
	repeated := r.asked > 1
	w.after(w.delay(), func() { w.storeAnswers(n, r, repeated) })
	w.after(askStoreAgain, func() { w.askStore(n, r) })
}

// storeAnswers grants the lease if it is free, or that node's already.
func (w *World) storeAnswers(n *node, r *request, repeated bool) {
	s := &w.leases
	if s.hangsUntil.After(w.now) {
		w.after(s.hangsUntil.Sub(w.now), func() { w.storeAnswers(n, r, repeated) })
		return
	}
	granted := s.holder == n.id || s.holder.IsZero() || !w.now.Before(s.until)
	if repeated && w.chance(s.stale) {
		granted = s.before == n.id
	} else if granted {
		s.before, s.holder = s.holder, n.id
		s.until = w.now.Add(w.Downing(n.place).LeaseTime(len(n.view.Members)))
	}
	if w.chance(s.loses) {
		w.sometimes("the store's answer gets lost")
		return
	}
	w.after(w.delay(), func() { w.storeAnswered(n, r, granted) })
}

func (w *World) storeAnswered(n *node, r *request, granted bool) {
	switch {
	case r.answered || !n.running():
		return
	case n.pausedUntil.After(w.now):
		w.after(n.pausedUntil.Sub(w.now), func() { w.storeAnswered(n, r, granted) })
		return
	}
	r.answered = true
	w.notef("%s is answered by the store: %v", n.id, granted)
	w.mindHold(n)
	w.carryOut(n, n.core.LeaseReply(n.local(w.now), granted))
}

// release gives back what was granted for nothing.
func (w *World) release(n *node) {
	w.after(w.delay(), func() {
		if w.leases.holder == n.id {
			w.notef("%s gives the lease back", n.id)
			w.leases.before, w.leases.holder = n.id, member.ID{}
		}
	})
}
