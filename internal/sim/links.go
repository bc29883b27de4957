package sim

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
)

// isolation is the default of gossip.Times.Isolation: the rhythm of dials.
const isolation = 500 * time.Millisecond

// pair is two incarnations, the lesser first.
type pair struct{ a, b member.ID }

func pairOf(a, b member.ID) pair {
	if b.Compare(a) < 0 {
		a, b = b, a
	}
	return pair{a, b}
}

// connected notes that mail got through: the two processes have a link.
func (w *World) connected(from member.ID, n *node) {
	p := pairOf(from, n.id)
	sender := w.at(from.Address)
	if w.net.linked[p] || sender == nil || sender.id != from || w.net.cuts[link{n.id.Address, from.Address}] > 0 {
		return
	}
	w.net.linked[p] = true
	for _, end := range []*node{n, sender} {
		other := from
		if end == sender {
			other = n.id
		}
		if end.suspects(other) {
			w.order(end, gossip.Dialed{Peer: other, Result: gossip.Answered})
		}
	}
}

// suspects tells whether the node's link to a member is broken.
func (n *node) suspects(id member.ID) bool {
	_, is := slices.BinarySearchFunc(n.core.Suspects(), id, member.ID.Compare)
	return is
}

// breakLink ends the link of two processes as a reset does: the one that is
// told sees it break. A cut network keeps the news from it.
func (w *World) breakLink(told *node, other member.ID) {
	delete(w.net.linked, pairOf(told.id, other))
	if w.net.cuts[link{other.Address, told.id.Address}] == 0 {
		w.linkBroke(told, other)
	}
}

func (w *World) linkBroke(told *node, other member.ID) {
	if told.running() {
		w.after(w.delay(), func() { w.order(told, gossip.LinkBroke{Peer: other}) })
	}
}

// dies ends a process that says no goodbye: its kernel closes all its links.
func (w *World) dies(n *node) {
	w.end(n, "crashed")
	for _, other := range w.nodes {
		if w.net.linked[pairOf(n.id, other.id)] {
			w.breakLink(other, n.id)
		}
	}
}

// redial has a node dial the members to which its link broke, as the shell does.
func (w *World) redial(n *node) {
	suspects := n.core.Suspects()
	if len(suspects) == 0 || len(n.redialed) > 0 && &suspects[0] == &n.redialed[0] {
		return // each is being dialed
	}
	n.redialed = suspects
	for _, id := range suspects {
		if !n.dialing[id] {
			n.dialing[id] = true
			w.dialAgain(n, id, 0)
		}
	}
}

func (w *World) dialAgain(n *node, id member.ID, attempt int) {
	if !n.running() || !n.suspects(id) {
		delete(n.dialing, id)
		return
	}
	result, took := w.dial(n, id)
	if result == gossip.Refused || result == gossip.Replaced {
		w.noteRefused(id, n.id)
	}
	gap := isolation / 10
	if attempt >= 20 {
		gap = isolation / 2
	}
	w.after(took, func() {
		w.order(n, gossip.Dialed{Peer: id, Result: result})
		w.after(gap, func() { w.dialAgain(n, id, attempt+1) })
	})
}

// noteRefused remembers that an incarnation was not there when a node dialed.
func (w *World) noteRefused(suspect, by member.ID) {
	if w.refused[suspect] == nil {
		w.refused[suspect] = map[member.ID]bool{}
	}
	w.refused[suspect][by] = true
}

// dial is one attempt to reach an incarnation: what comes of it, and when.
func (w *World) dial(n *node, id member.ID) (gossip.DialResult, time.Duration) {
	there := w.nodes[w.places[id.Address]]
	switch {
	case w.net.cuts[link{n.id.Address, id.Address}] > 0, w.net.cuts[link{id.Address, n.id.Address}] > 0:
		return gossip.Silent, isolation
	case w.net.rejects[link{n.id.Address, id.Address}] > 0:
		return gossip.Refused, w.delay()
	case there.powerless, there.pausedUntil.After(w.now), w.chance(w.net.weather.Drop):
		return gossip.Silent, isolation
	case !there.running():
		return gossip.Refused, w.delay()
	case there.id != id:
		return gossip.Replaced, w.delay()
	default:
		return gossip.Answered, w.delay()
	}
}

// reject refuses in a node's name towards some places, for a while: its packets
// get lost, its links are reset at both ends, and who dials it is refused. Its
// own dials are refused likewise. What refuses stands where the node does: a cut
// keeps the resets from the others and their dials from it, and nothing keeps the
// resets from the node. Elsewhere it could refuse and not break both ends, which is
// where crashes must not be told by refusal.
func (w *World) reject(n *node, towards []*node, d time.Duration) {
	for _, other := range towards {
		for _, l := range []link{{n.id.Address, other.id.Address}, {other.id.Address, n.id.Address}} {
			w.net.rejects[l]++
			rejects := w.net.rejects
			w.after(d, func() { rejects[l]-- }) // after a healing it is the old map
		}
		if w.net.linked[pairOf(n.id, other.id)] {
			w.breakLink(other, n.id)
			w.linkBroke(n, other.id)
		}
	}
}

// reset breaks the link of two processes, and both are told.
func (w *World) reset(a, b *node) {
	if w.net.linked[pairOf(a.id, b.id)] {
		w.breakLink(a, b.id)
		w.breakLink(b, a.id)
	}
}
