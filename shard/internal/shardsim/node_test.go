package shardsim

import (
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/coordinator"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
)

// A node runs both cores and a fake shell.
type node struct {
	w    *world
	id   member.ID
	name string
	view *member.View

	region      *region.Core
	coordinator *coordinator.Core
	inputs      []any // waiting to be stepped, all at one moment
	stepping    bool
	ticks       [2]time.Time // scheduled for region and coordinator

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
		region:      region.New(id, w.cfg.region),
		coordinator: coordinator.New(id, w.cfg.coordinator),
		slots:       map[string]*slot{}, lanes: map[string]time.Time{},
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
		n.step(region.ViewChanged{View: v}, coordinator.ViewChanged{View: v})
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
	}
}

// step feeds inputs, and all that follows from them at the node itself, to its
// cores.
func (n *node) step(inputs ...any) {
	n.inputs = append(n.inputs, inputs...)
	if n.stepping {
		return
	}
	n.stepping = true
	for len(n.inputs) > 0 {
		in := n.inputs[0]
		n.inputs = n.inputs[1:]
		if m, ok := in.(region.Received); ok { // both get it; each takes what is for it
			n.stepRegion(m)
			n.stepCoordinator(coordinator.Received(m))
			continue
		}
		switch in := in.(type) {
		case region.Input:
			n.stepRegion(in)
		case coordinator.Input:
			n.stepCoordinator(in)
		}
	}
	n.stepping = false
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
}

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
			own = append(own, region.Received{From: n.id, Msg: p.Msg})
			continue
		}
		n.transmit(p)
	}
	n.inputs = append(own, n.inputs...)
	if len(own) > 0 {
		n.step()
	}
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
			sender.step(region.NoPort{From: n.id}, coordinator.NoPort{From: n.id})
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
