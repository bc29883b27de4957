package owner

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// fault does something to somebody.
func (w *simWorld) fault() {
	some := w.alive()
	if len(some) == 0 {
		w.join()
		return
	}
	n := some[w.rnd.IntN(len(some))]
	switch w.rnd.IntN(8) {
	case 0, 1, 2:
		w.join()
	case 3:
		m, _ := w.last().Member(n.id)
		if len(some) > 2 && w.split.IsZero() && m.Status == member.Up {
			w.setStatus(n.id, member.Leaving)
			w.note("%s leaves", n.id)
		}
	case 4: // a crash that a majority confirms
		if len(some) > 2 && w.split.IsZero() && w.runs(n) {
			w.note("%s crashes", n.id)
			n.dead, n.runs = true, Term{}
			w.setStatus(n.id, member.Down)
			w.remove(n.id, member.Crashed)
			w.letLeaseRunOut(n.id)
		}
	case 5: // somebody is cut off, and half of the time nobody is downed
		if len(some) > 2 && w.split.IsZero() {
			w.split, n.side = w.now, 1
			w.note("%s is cut off", n.id)
		}
	case 6:
		if w.split.IsZero() {
			n.paused = w.now.Add(time.Duration(w.rnd.IntN(30_000)) * time.Millisecond)
			w.note("%s is paused until %s", n.id, n.paused.Format("05.00"))
		}
	case 7: // the store forgets the lease
		if h := w.holder; !h.IsZero() && w.rnd.IntN(2) == 0 {
			w.note("%s loses the lease", h)
			w.node(h).leaseFor = Term{}
			w.letLeaseRunOut(h)
			w.step(w.node(h), LeaseLost{})
		}
	}
}

// letLeaseRunOut frees the lease of a process that is gone. When exactly is the
// store's business, which has tests of its own.
func (w *simWorld) letLeaseRunOut(id member.ID) {
	if w.holder == id {
		w.holder = member.ID{}
	}
}

// resolve ends a partition: it heals in time, or both sides decide, not
// at the same moment.
func (w *simWorld) resolve() {
	if w.split.IsZero() {
		return
	}
	i := slices.IndexFunc(w.nodes, func(n *simNode) bool { return n.side == 1 })
	n := w.nodes[i]
	switch lasts := w.now.Sub(w.split); {
	case lasts < stableAfter && w.rnd.IntN(500) == 0:
		w.note("%s is back", n.id)
		n.side, w.split = 0, time.Time{}
	case lasts >= stableAfter: // the other side is late by up to the margin
		w.note("%s is downed and removed", n.id)
		w.setStatus(n.id, member.Down)
		w.remove(n.id, member.Downed)
		n.paused, n.stale, n.side, w.split = time.Time{}, true, 2, time.Time{}
		n.endsAt = w.now.Add(time.Duration(w.rnd.Int64N(int64(rest))))
	}
}

// downLongPaused has the others give up on a node that does not run for long. When it
// wakes it asks a majority, and ends.
func (w *simWorld) downLongPaused() {
	for _, n := range w.nodes {
		if _, in := w.last().Member(n.id); in && !n.dead && w.split.IsZero() && n.paused.Sub(w.now) > 10*time.Second && w.rnd.IntN(200) == 0 {
			w.note("%s is downed while it is paused", n.id)
			w.setStatus(n.id, member.Down)
			w.remove(n.id, member.Downed)
			n.stale = true
		}
	}
}
