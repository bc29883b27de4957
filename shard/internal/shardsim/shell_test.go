package shardsim

import (
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
)

// A message is numbered by its sender, per shard.
type message struct {
	from  string
	shard string
	n     int
	hops  int
}

func (m message) String() string { return fmt.Sprintf("%s/%s#%d", m.from, m.shard, m.n) }

// A slot is what a shell keeps of one shard.
type slot struct {
	home   member.ID // zero: buffer
	epoch  protocol.Epoch
	turns  int       // how often the route was changed
	carry  []message // of an ended tenancy, goes first
	buffer []message
	tenant *tenant
	n      int // of the last message told here
}

// A tenant is a hosted shard with its one entity.
type tenant struct {
	epoch   protocol.Epoch
	await   member.ID
	held    []message
	mailbox []message
	working bool
	closing bool
	killed  bool
	over    bool
}

func (n *node) slot(shard string) *slot {
	s, ok := n.slots[shard]
	if !ok {
		s = &slot{}
		n.slots[shard] = s
	}
	return s
}

// tell accepts a message of a user of this node.
func (n *node) tell(shard string) message {
	s := n.slot(shard)
	s.n++
	m := message{from: n.name, shard: shard, n: s.n}
	n.w.ledger.accepted(m)
	n.route(m)
	return m
}

func (n *node) route(m message) {
	s := n.slot(m.shard)
	if m.hops > 100 {
		n.w.fail("%v goes round for ever", m)
		return
	}
	if s.home.IsZero() {
		s.buffer = append(s.buffer, m)
		if len(s.buffer) == 1 {
			n.step(region.Wanted{Shard: m.shard})
		}
		return
	}
	n.dispatch(s, m)
}

func (n *node) dispatch(s *slot, m message) {
	if s.home == n.id {
		n.deliver(n.id, s.epoch, m)
		return
	}
	to, epoch := n.w.node(s.home), s.epoch
	n.frame(to, m.shard, func() { to.deliver(n.id, epoch, m) })
}

// frame sends in the shard's lane, which loses nothing and keeps its order.
func (n *node) frame(to *node, shard string, arrived func()) {
	arrive := n.inLane(to.name+" "+shard, n.w.now.Add(n.w.way(n.w.faults.bulk)))
	n.w.at(to, arrive, arrived)
}

// deliver takes a message for a shard that should be hosted here by that epoch.
func (n *node) deliver(from member.ID, epoch protocol.Epoch, m message) {
	s := n.slot(m.shard)
	t := s.tenant
	switch {
	case t == nil || t.closing || t.epoch != epoch:
		n.w.note("%s gets %v by %v, astray", n.name, m, epoch)
		n.step(region.StaleRoute{From: from, Shard: m.shard, Epoch: epoch})
		m.hops++
		n.w.ledger.seen["astray"]++
		if s.home == n.id && (t == nil || t.closing) {
			s.home = member.ID{}
		}
		n.route(m)
	case !t.await.IsZero() && from != t.await:
		t.held = append(t.held, m)
	default:
		t.mailbox = append(t.mailbox, m)
		n.work(s)
	}
}

// work lets the entity take one message after the other, each for a while.
func (n *node) work(s *slot) {
	t := s.tenant
	if t.working || t.over || t.killed || len(t.mailbox) == 0 || !n.owns() {
		return
	}
	t.working = true
	n.w.ledger.starts(n, t.epoch, t.mailbox[0])
	takes := n.w.upTo(n.w.faults.work)
	if n.w.chance(n.w.faults.hang) {
		takes += n.w.upTo(4 * time.Second)
	}
	n.w.at(n, n.w.now.Add(takes), func() {
		t.working = false
		if t.over {
			return
		}
		if len(t.mailbox) > 0 && n.store(t) {
			n.w.ledger.handled(n, t.epoch, t.mailbox[0])
			t.mailbox = t.mailbox[1:]
		}
		n.work(s)
	})
}

// store writes what the message in hand has changed, under the epoch of the tenant.
// Whoever is refused must not go on.
func (n *node) store(t *tenant) bool {
	if n.w.db == nil {
		return true
	}
	shard := t.mailbox[0].shard
	highest, ok := n.w.db.write(shard, t.epoch)
	if !ok {
		n.w.note("%s may not write to %s by %v", n.name, shard, t.epoch)
		n.w.ledger.seen["refused"]++
		n.step(region.Disowned{Shard: shard, Epoch: t.epoch, Highest: highest})
	}
	return ok
}

func (n *node) act(a region.Action) {
	switch a := a.(type) {
	case region.Route:
		n.setRoute(a)
	case region.Host:
		n.host(a)
	case region.Open:
		n.open(n.slot(a.Shard))
		n.step(region.Emptied(a))
	case region.Buffer:
		n.stopSending(a)
	case region.Drain:
		n.drain(a)
	case region.Kill:
		n.kill(a.Shard)
	}
}

// setRoute sends on what waits; when the link is full, after a while.
func (n *node) setRoute(a region.Route) {
	s := n.slot(a.Shard)
	s.home = member.ID{}
	s.turns++
	if !n.w.chance(n.w.faults.full) {
		n.flush(a)
		return
	}
	turns := s.turns
	n.w.at(n, n.w.now.Add(n.w.upTo(300*time.Millisecond)), func() {
		if s.turns == turns {
			n.flush(a)
		}
	})
}

func (n *node) flush(a region.Route) {
	s := n.slot(a.Shard)
	s.home, s.epoch = a.Home, a.Epoch
	carry, buffer := s.carry, s.buffer
	s.carry, s.buffer = nil, nil
	for _, m := range append(carry, buffer...) {
		n.dispatch(s, m)
	}
	if a.Mark {
		to := n.w.node(a.Home)
		n.frame(to, a.Shard, func() { to.step(region.CarryDone{From: n.id, Shard: a.Shard, Epoch: a.Epoch}) })
	}
	n.step(region.Emptied{Shard: a.Shard, Epoch: a.Epoch})
}

func (n *node) host(a region.Host) {
	s := n.slot(a.Shard)
	if s.tenant != nil {
		n.w.fail("%s hosts %s twice", n.name, a.Shard)
	}
	n.w.ledger.hosted(n, a)
	if n.w.db != nil {
		n.w.db.write(a.Shard, a.Epoch) // what was written before is final from now on
	}
	s.turns++
	s.home, s.epoch = n.id, a.Epoch
	s.tenant = &tenant{epoch: a.Epoch, await: a.Await, mailbox: s.carry, held: s.buffer}
	s.carry, s.buffer = nil, nil
	if a.Await.IsZero() {
		n.open(s)
	}
	n.work(s)
	n.step(region.Emptied{Shard: a.Shard, Epoch: a.Epoch})
}

func (n *node) open(s *slot) {
	t := s.tenant
	t.await = member.ID{}
	t.mailbox = append(t.mailbox, t.held...)
	t.held = nil
	n.work(s)
}

func (n *node) stopSending(a region.Buffer) {
	s := n.slot(a.Shard)
	s.home = member.ID{}
	s.turns++
	marked := region.Marked{From: n.id, Shard: a.Shard, Epoch: a.Epoch}
	switch a.MarkTo {
	case member.ID{}:
	case n.id:
		n.step(marked)
	default:
		to := n.w.node(a.MarkTo)
		n.frame(to, a.Shard, func() { to.step(marked) })
	}
}

// drain closes the entity: it works off its mailbox, or leaves a part of it to
// its successor, and takes its time to end.
func (n *node) drain(a region.Drain) {
	s := n.slot(a.Shard)
	t := s.tenant
	t.closing = true
	keep := n.w.chance(n.w.faults.keep)
	stop := n.w.upTo(20 * time.Millisecond)
	if n.w.stopTakes > 0 {
		stop = n.w.stopTakes
	}
	if n.w.chance(n.w.faults.slow) {
		stop = a.Deadline.Sub(n.w.now) + n.w.upTo(time.Second)
	}
	var wait func()
	wait = func() {
		switch late := !n.w.now.Before(a.Deadline); {
		case t.over:
		case late, keep, len(t.mailbox) == 0 && !t.working:
			n.finish(a.Shard, s)
		default:
			n.w.at(n, n.w.now.Add(time.Millisecond), wait)
		}
	}
	n.w.at(n, n.w.now.Add(stop), wait)
}

func (n *node) kill(shard string) {
	s := n.slot(shard)
	s.tenant.closing, s.tenant.killed = true, true
	if n.ring != nil { // a fence refuses what the message in hand may still write
		n.w.ledger.unhosted(n, shard)
	}
	n.w.at(n, n.w.now.Add(n.w.upTo(5*time.Millisecond)), func() { n.finish(shard, s) })
}

// finish ends the entity; what it did not take is carry.
func (n *node) finish(shard string, s *slot) {
	t := s.tenant
	if t == nil || t.over {
		return
	}
	t.over = true
	s.carry = append(s.carry, append(t.mailbox, t.held...)...)
	s.tenant = nil
	n.w.ledger.unhosted(n, shard)
	n.step(region.Drained{Shard: shard, Epoch: t.epoch})
}
