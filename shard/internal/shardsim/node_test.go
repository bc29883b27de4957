package shardsim

import (
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/coordinator"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
	"github.com/troupe-go/troupe/shard/internal/ring"
)

// A node runs a region, one of the two authorities, and a fake shell.
type node struct {
	w    *world
	id   member.ID
	name string
	view *member.View

	region      *region.Core
	coordinator *coordinator.Core // nil where there is a ring
	ring        *ring.Core        // nil where there is none
	keeper      *keeper           // of the seat
	asking      bool              // the ring has a request out
	unseated    bool              // it has lost a seat with what hung on it
	owned       time.Time         // until then entities may handle messages, where there is a ring
	cutOff      time.Time         // until then this node does not reach the store
	inputs      []any             // waiting to be stepped, all at one moment
	stepping    bool
	ticks       [2]time.Time // scheduled for region and authority

	slots map[string]*slot
	lanes map[string]time.Time // when the last frame of a lane arrives

	joined                      bool // the type
	dead, leaving, doomed, left bool
	outlived                    bool // by its last messages: nobody waits for those
	leftAt                      time.Time
	pausedUntil                 time.Time
}

func (w *world) newNode() *node {
	i := len(w.nodes)
	id := member.ID{Address: member.Address{Host: fmt.Sprintf("n%02d", i), Port: 1}, UID: int64(i + 1)}
	n := &node{
		w: w, id: id, name: id.Host,
		region: region.New(id, w.cfg.region),
		slots:  map[string]*slot{}, lanes: map[string]time.Time{},
	}
	if w.who == byCoordinator {
		n.coordinator = coordinator.New(id, w.cfg.coordinator)
	} else {
		n.ring = ring.New(id, w.cfg.ring)
		n.keeper = newKeeper(n)
	}
	w.nodes = append(w.nodes, n)
	return n
}

func (n *node) end(how string) {
	n.dead = true
	n.w.note("%s %s", n.name, how)
	n.w.ledger.ended(n)
}

func (n *node) see(v *member.View) {
	n.view = v
	if n.joined {
		n.step(region.ViewChanged{View: v})
	}
	if self, ok := v.SelfMember(); n.doomed && (!ok || self.Status == member.Down) {
		n.end("stops itself")
	}
}

// join makes the node take part in the type.
func (n *node) join() {
	n.w.note("%s joins the type", n.name)
	n.joined = true
	if n.view != nil {
		n.see(n.view)
	}
}

// underway tells whether something that the node has sent is on its way.
func (n *node) underway() bool {
	for _, last := range n.lanes { // any order: only whether there is one
		if last.After(n.w.now) {
			return true
		}
	}
	return false
}

func (n *node) leave() {
	if n.left = !n.joined; n.joined {
		n.step(region.Leave{})
		if n.ring != nil {
			n.step(ring.Leave{})
		}
	}
}

// step feeds an input, and all that follows from it at the node itself, to its
// cores: what both have to know is for both.
func (n *node) step(in any) {
	n.inputs = append(n.inputs, in)
	switch in := in.(type) {
	case region.ViewChanged:
		n.inputs = append(n.inputs, n.forAuthority(in))
	case region.NoPort:
		n.inputs = append(n.inputs, n.forAuthority(in))
	}
	n.settle()
}

func (n *node) settle() {
	if n.stepping {
		return
	}
	n.stepping = true
	for len(n.inputs) > 0 {
		in := n.inputs[0]
		n.inputs = n.inputs[1:]
		switch in := in.(type) {
		case region.Received: // both get it; each takes what is for it
			n.stepRegion(in)
			n.stepAuthority(n.forAuthority(in))
		case region.Input:
			n.stepRegion(in)
		default:
			n.stepAuthority(in)
		}
	}
	n.stepping = false
}

// forAuthority is what the authority hears of an input that the region gets.
func (n *node) forAuthority(in any) any {
	switch in := in.(type) {
	case region.ViewChanged:
		if n.ring != nil {
			return ring.ViewChanged(in)
		}
		return coordinator.ViewChanged(in)
	case region.NoPort:
		if n.ring != nil {
			return ring.NoPort(in)
		}
		return coordinator.NoPort(in)
	case region.Received:
		if n.ring != nil {
			return ring.Received(in)
		}
		return coordinator.Received(in)
	}
	return nil
}

func (n *node) stepAuthority(in any) {
	switch in := in.(type) {
	case coordinator.Input:
		n.stepCoordinator(in)
	case ring.Input:
		n.stepRing(in)
	}
}

func (n *node) stepRegion(in region.Input) {
	out := n.region.Step(n.w.now, in)
	for _, a := range out.Do {
		n.w.note("%s %T%+v", n.name, a, a)
		n.act(n.w.mutant.action(a))
	}
	for _, e := range out.Events {
		n.w.note("%s region: %T%+v", n.name, e, e)
		n.w.ledger.regionEvent(e)
	}
	n.send(out.Send)
	n.tick(0, out.Wake, region.Tick{})
	n.left = out.Left
}

func (n *node) stepCoordinator(in coordinator.Input) {
	out := n.coordinator.Step(n.w.now, in)
	for _, e := range out.Events {
		n.w.note("%s coordinator: %T%+v", n.name, e, e)
		n.w.ledger.coordinatorEvent(e)
		if n.w.watcher != nil {
			n.w.watcher(n, e)
		}
	}
	n.send(out.Send)
	n.tick(1, out.Wake, coordinator.Tick{})
	if out.Raise != 0 {
		n.raise(out.Raise)
	}
}

// raise has the store give a term for a reign.
func (n *node) raise(least uint64) {
	d := n.w.db
	d.call(n, func() any { return d.raise(least) }, func(result any) {
		term, _ := result.(uint64)
		n.step(coordinator.Raised{Term: term})
	})
}

func (n *node) stepRing(in ring.Input) {
	out := n.ring.Step(n.w.now, in)
	n.owned = n.w.mutant.owned(out.OwnedUntil)
	for _, e := range out.Events {
		n.w.note("%s ring: %T%+v", n.name, e, e)
		n.w.ledger.ringEvent(n, e)
		if n.w.ringWatcher != nil {
			n.w.ringWatcher(n, e)
		}
	}
	n.send(out.Send)
	n.tick(1, out.Wake, ring.Tick{})
	n.keeper.want(out.Seat)
	if out.Ask != nil {
		n.ask(out.Ask)
	}
}

// ask carries a request of the ring to the store: one at a time.
func (n *node) ask(r ring.Request) {
	if n.asking {
		n.w.fail("%s asks %T%+v before the last answer", n.name, r, r)
	}
	n.asking = true
	n.w.db.call(n, func() any { return n.w.db.carryOut(n.id.String(), r) }, func(result any) {
		n.asking = false
		answer, ok := result.(ring.Input)
		if !ok {
			answer = ring.Failed{Cause: "no answer"}
		}
		if n.w.tracing {
			n.w.note("%s asked %T%+v: %s", n.name, r, r, brief(answer))
		}
		n.step(answer)
	})
}

// brief is an answer of the store for people.
func brief(in ring.Input) string {
	t, ok := in.(ring.Table)
	if !ok {
		return fmt.Sprintf("%T%+v", in, in)
	}
	text := "seats"
	for _, s := range t.Seats {
		text += fmt.Sprintf(" %s (%d)", s.Runner, s.Token)
	}
	text += ", locks"
	for _, l := range t.Locks {
		text += fmt.Sprintf(" %s by (%d) %s", l.Shard, l.Token, l.Epoch)
	}
	return text
}

// why asks the authority what a shard waits for.
func (n *node) why(shard string) []member.Wait {
	if n.ring != nil {
		return n.ring.Why(shard)
	}
	return n.coordinator.Why(shard)
}

// owns tells whether entities of this node may handle messages now.
func (n *node) owns() bool { return n.ring == nil || n.w.now.Before(n.owned) }

func (n *node) tick(core int, wake time.Time, tick any) {
	if wake.IsZero() || n.ticks[core].Equal(wake) {
		return
	}
	n.ticks[core] = wake
	if wake.Before(n.w.now) {
		wake = n.w.now
	}
	n.w.at(n, wake, func() { n.step(tick) })
}

// send puts control messages on their way. Those to the node itself come next
// there; the others are encoded, and may come late, twice or never.
func (n *node) send(packets []protocol.Packet) {
	var own []any
	for _, p := range packets {
		if p.To == n.id {
			own = append(own, n.toSelf(p))
			continue
		}
		n.transmit(p)
	}
	n.inputs = append(own, n.inputs...)
	n.settle()
}

// toSelf is what the cores of a node say to each other. Where there is a ring, all
// orders are of that kind, and so mutants meddle with them.
func (n *node) toSelf(p protocol.Packet) region.Received {
	m := region.Received{From: n.id, Msg: p.Msg}
	if n.ring != nil {
		n.w.mutant.sent(n, p)
		m.From, m.Msg = n.w.mutant.received(n, m.From, m.Msg)
	}
	return m
}

func (n *node) transmit(p protocol.Packet) {
	w := n.w
	to := w.node(p.To)
	if to == nil {
		w.fail("%s sends %T to %s, who never was", n.name, p.Msg, p.To)
		return
	}
	frame := protocol.Append(nil, p.Msg)
	copies := 1
	switch {
	case w.chance(w.faults.drop):
		copies = 0
	case w.chance(w.faults.repeat):
		copies = 2
	}
	w.note("%s -> %s %T%+v (%d)", n.name, to.name, p.Msg, p.Msg, copies)
	w.mutant.sent(n, p)
	w.ledger.sent(n, p)
	for i := range copies {
		w.at(to, n.arrival(to, i > 0), func() { to.receive(n.id, frame) })
	}
}

// arrival is when a control message comes to a node.
func (n *node) arrival(to *node, again bool) time.Time {
	arrive := n.w.now.Add(n.w.way(n.w.faults.delay))
	if again || n.w.faults.reorders() {
		return arrive
	}
	return n.inLane("control "+to.name, arrive)
}

// reorders: where messages may be lost or repeated, they may also overtake.
func (f faults) reorders() bool { return f.drop > 0 || f.repeat > 0 }

func (n *node) inLane(lane string, arrive time.Time) time.Time {
	if last := n.lanes[lane]; !arrive.After(last) {
		arrive = last.Add(time.Nanosecond)
	}
	n.lanes[lane] = arrive
	return arrive
}

func (n *node) receive(from member.ID, frame []byte) {
	if !n.joined {
		sender := n.w.node(from)
		n.w.note("%s has not joined the type, and tells %s", n.name, sender.name)
		n.w.ledger.seen["absent"]++
		n.w.at(sender, n.arrival(sender, false), func() {
			sender.step(region.NoPort{From: n.id})
		})
		return
	}
	msg, err := protocol.Decode(frame)
	if err != nil {
		n.w.fail("%s: %v", n.name, err)
		return
	}
	from, msg = n.w.mutant.received(n, from, msg)
	n.step(region.Received{From: from, Msg: msg})
}

// clutter tells what a node still has.
func (n *node) clutter() string {
	text := ""
	for _, shard := range n.w.shards {
		for _, wait := range append(n.region.Why(shard), n.why(shard)...) {
			text += fmt.Sprintf("\n%s: %s", shard, wait)
		}
	}
	return text
}
