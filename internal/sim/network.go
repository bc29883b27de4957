package sim

import (
	"math"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
)

// Weather is how badly the network treats messages, everywhere alike.
type Weather struct {
	Drop      float64       // probability that a message is lost
	Duplicate float64       // probability that it arrives twice
	Delay     time.Duration // mean time on its way, beside the least of 200 µs
	Tail      float64       // probability of a much longer way, up to 10 s
	Misdirect float64       // probability that mail for a node reaches its successor on the same address
}

// network decides what happens to messages: the weather, and what is wrong with
// single links. Its maps are only looked up, so their order shows nowhere.
type network struct {
	weather Weather
	cuts    map[link]int       // how many faults cut a link
	rejects map[link]int       // how many faults refuse on it
	clogs   map[link]time.Time // until when it holds all up
	linked  map[pair]bool      // processes that are connected
}

// link is one direction between two places.
type link struct{ from, to member.Address }

// heal ends all troubles; connections stay.
func (n *network) heal() {
	n.weather = Weather{Delay: time.Millisecond}
	n.cuts, n.rejects, n.clogs = map[link]int{}, map[link]int{}, map[link]time.Time{}
}

// blocked tells whether nothing gets from one place to another.
func (n *network) blocked(from, to member.Address) bool {
	return n.cuts[link{from, to}] > 0 || n.rejects[link{from, to}] > 0
}

func (n *network) cut(p *packet) bool { return n.blocked(p.from.Address, p.to.Address) }

// clogged is how much longer a link holds up what is sent now.
func (w *World) clogged(p *packet) time.Duration {
	return max(0, w.net.clogs[link{p.from.Address, p.to.Address}].Sub(w.now))
}

// send gives a packet its fate: it arrives never, once or twice.
func (w *World) send(p *packet) {
	if w.net.cut(p) || w.chance(w.net.weather.Drop) {
		return
	}
	w.queue.push(event{at: w.now.Add(w.clogged(p) + w.delay()), packet: p})
	if w.chance(w.net.weather.Duplicate) {
		w.queue.push(event{at: w.now.Add(w.clogged(p) + w.delay()), packet: p})
	}
}

// delay draws the time on the way: exponential, now and then with a tail by a
// power law.
func (w *World) delay() time.Duration {
	d := 200*time.Microsecond + time.Duration(w.rand.ExpFloat64()*float64(w.net.weather.Delay))
	if w.chance(w.net.weather.Tail) {
		tail := time.Duration(float64(50*time.Millisecond) / math.Pow(1-w.rand.Float64(), 1.5))
		d += min(tail, 10*time.Second)
	}
	return d
}

// chance throws a die; it does not touch the die when the answer is clear, so
// that a kind of fault that is off leaves the run as it would be without it.
func (w *World) chance(p float64) bool { return p > 0 && w.rand.Float64() < p }

// refuse tells a node by the handshake that another one has quarantined it.
func (w *World) refuse(n *node, from member.ID) {
	if back := (&packet{from: n.id, to: from}); w.net.cut(back) || n.pausedUntil.After(w.now) {
		return
	}
	if refused := w.at(from.Address); refused != nil && refused.id == from {
		w.after(w.delay(), func() { w.order(refused, gossip.Expelled{By: n.id}) })
	}
}

// arrive hands a packet to whoever lives at its address now. A real transport
// knows by its handshake that an incarnation is gone; Misdirect tries what
// happens if one does not.
func (w *World) arrive(p *packet) {
	n := w.at(p.to.Address)
	switch {
	case n == nil, w.net.cut(p):
		return
	case n.quarantined[p.from]:
		w.refuse(n, p.from)
		return
	case n.deaf && !w.net.linked[pairOf(p.from, n.id)]:
		return
	case p.to.UID != 0 && p.to.UID != n.id.UID && !w.chance(w.net.weather.Misdirect):
		return
	case n.pausedUntil.After(w.now):
		w.queue.push(event{at: n.pausedUntil, packet: p})
		return
	}
	msg := p.msg
	if p.data != nil {
		var err error
		if msg, err = w.codec.Decode(p.data); err != nil {
			w.failf("%s could not read a message from %s: %v", n.id, p.from, err)
		}
	}
	w.trace('m', p.from, n.id, p.data)
	w.connected(p.from, n)
	w.step(n, gossip.Received{From: p.from, Msg: msg})
}
