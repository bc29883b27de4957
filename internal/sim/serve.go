package sim

import (
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/internal/membership"
)

const (
	stallLimit = 3 * time.Second        // a gap that must be confirmed before a node acts again
	askEvery   = 100 * time.Millisecond // how often a held node asks
)

// hold is a time in which a node does not act, until a majority has told it that
// it is still a member.
type hold struct{ yes map[member.ID]bool }

// serves tells whether a node acts for the cluster at this moment, as far as it
// knows: it came up, has not handed over, has run lately, and has enough links.
func (w *World) serves(n *node) bool {
	self, in := n.view.SelfMember()
	switch {
	case !n.running(), !in, n.pausedUntil.After(w.now), n.handedOver:
		return false
	case self.UpNumber == member.NeverUp, self.Status == member.Down: // weakly up it owns nothing that others could
		return false
	default:
		return n.held == nil && !w.mustHold(n)
	}
}

// mustHold tells whether a node that looks at its clock now finds that it may
// not act.
func (w *World) mustHold(n *node) bool { return w.woke(n) || w.isCut(n) }

// woke tells whether the node did not run for a while, until now.
func (w *World) woke(n *node) bool { return n.local(w.now).Sub(n.ran) > stallLimit }

// isCut tells whether the node has too few links to act.
func (w *World) isCut(n *node) bool {
	return !n.cutOff.IsZero() && !n.local(w.now).Before(n.cutOff)
}

// mindHold is what a node does about a hold whenever it runs.
func (w *World) mindHold(n *node) {
	if woken := w.woke(n); woken || n.held == nil && w.isCut(n) { // what was confirmed before a gap says nothing
		n.held = &hold{yes: map[member.ID]bool{}}
		w.sometimes("a node holds everything")
		w.askAlive(n, n.held)
	}
	n.ran = n.local(w.now)
}

// askAlive asks all members whether this one is still theirs, again and again
// until the hold is over.
func (w *World) askAlive(n *node, h *hold) {
	switch {
	case !n.running() || n.held != h:
		return
	case n.pausedUntil.After(w.now):
		w.after(n.pausedUntil.Sub(w.now), func() { w.askAlive(n, h) })
		return
	case !w.isCut(n) && membership.Confirmed(n.view, func(id member.ID) bool { return h.yes[id] }):
		n.held = nil
		w.sometimes("a held node goes on")
		return
	}
	for _, m := range n.view.Members {
		if m.ID != n.id && !h.yes[m.ID] {
			w.askOne(n, h, m.ID)
		}
	}
	w.after(askEvery, func() { w.askAlive(n, h) })
}

// askOne sends the question to one member, and the answer back.
func (w *World) askOne(n *node, h *hold, id member.ID) {
	w.carry(n.id.Address, id.Address, func() {
		peer := w.at(id.Address)
		if peer == nil || peer.id != id || peer.pausedUntil.After(w.now) {
			return
		}
		if peer.core.Vouches(peer.local(w.now), n.id) {
			w.carry(id.Address, n.id.Address, func() { h.yes[id] = true })
		}
	})
}

// carry has something happen at another place, if the network lets it.
func (w *World) carry(from, to member.Address, do func()) {
	if !w.net.blocked(from, to) && !w.chance(w.net.weather.Drop) {
		w.after(w.delay(), do)
	}
}

// takeover is the right of a node to start what another one hosted.
type takeover struct {
	by, from *node
	at       time.Time
}

// plansTakeover notes that a node has seen another one removed, so that after a
// margin, or at once if that one is known to have ended, it may start what
// that one hosted.
func (w *World) plansTakeover(by *node, was member.Member) {
	from := w.nodes[w.places[was.Address]]
	if from.id != was.ID || from == by {
		return
	}
	at := by.global(by.gone.Until(was.ID))
	w.after(at.Sub(w.now), func() {
		if w.dirty {
			return
		}
		t := takeover{by, from, w.now}
		w.sometimes("a node may take over from another")
		from.taken = append(from.taken, t)
		w.checkOverlap(from)
	})
}

// margin is how long a downed member's work rests, as the shell has it.
func (w *World) margin(place int) func(members int) time.Duration { return w.Downing(place).Margin }

// tolerated is the weather in which nobody ever serves beside its successor. In
// worse weather who is heard of changes so late and so differently that only
// the store keeps the two apart, and [exclusionLimit] bounds how long both are there.
func (w Weather) tolerated() bool { return w.Drop <= 0.05 && w.Tail == 0 }

// checkOverlap: nobody serves any more when others may have started what it
// hosted.
func (w *World) checkOverlap(n *node) {
	if len(n.taken) == 0 || !w.serves(n) {
		return
	}
	for _, t := range n.taken {
		if w.serves(t.by) {
			w.failf("%s serves, and so does %s, which has taken over from it at %v", n.id, t.by.id, t.at.Sub(birth))
		}
	}
}

// listens has a node notice whether its own listener can be reached, as the
// shell does every now and then.
func (w *World) listens(n *node) {
	result, again := gossip.Answered, 5*time.Second
	if n.deaf {
		result, again = gossip.Refused, isolation/10
	}
	w.order(n, gossip.Dialed{Peer: n.id, Result: result})
	if n.running() && n.deaf {
		w.after(again, func() { w.listens(n) })
	}
}
