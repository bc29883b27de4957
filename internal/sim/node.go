package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/margin"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/internal/membership"
)

// A node is one incarnation: a process with the membership core in it.
type node struct {
	id          member.ID
	place       int
	core        *membership.Core
	view        *member.View
	wake        time.Time // the planned one; zero for none
	restless    int       // steps in a row that asked for the next one at once
	pausedUntil time.Time
	quarantined map[member.ID]bool
	removed     map[member.ID]bool // members that this node has seen go
	end         string             // why it does not run any more; empty while it does
	load        load
	rate        float64 // of its clock
	dialing     map[member.ID]bool
	redialed    []member.ID   // the suspects all of which are being dialed
	powerless   bool          // nothing answers at its address
	deaf        bool          // nobody can connect to it any more
	claimed     *gossip.State // the last one that was checked

	ran        time.Time // by its own clock, as is cutOff
	cutOff     time.Time // when it has to stop acting; zero while it need not
	held       *hold
	handedOver bool
	gone       margin.Watch
	taken      []takeover // of what it hosted
}

func (n *node) running() bool { return n.end == "" }

// isMember tells whether the node runs and is in its own view.
func (n *node) isMember() bool {
	_, ok := n.view.SelfMember()
	return n.running() && ok
}

// cluster is the name of all clusters here.
const cluster = "sim"

// placeAddress is where nodes are started, one after the other.
func placeAddress(place int) member.Address {
	return member.Address{Host: fmt.Sprintf("n%03d", place), Port: 25520}
}

// Start adds so many nodes at new places, a few milliseconds apart. The first
// of a world founds the cluster, the others join.
func (w *World) Start(count int) {
	for range count {
		w.add()
		w.Run(time.Duration(w.rand.IntN(20)) * time.Millisecond)
	}
}

// add starts a node at a new place.
func (w *World) add() {
	if place := w.claim(); place == 0 {
		w.boot(place, founding)
	} else {
		w.boot(place, w.joining(place))
	}
}

// founding has the first place found a cluster by itself.
var founding = gossip.JoinSeeds{Seeds: []member.Address{placeAddress(0)}}

// startAtOnce starts nodes at new places within a second, none of which is the
// first: they found a cluster together, or join the one that there is.
func (w *World) startAtOnce(count int) {
	var places []int
	for range count {
		places = append(places, w.claim())
	}
	contacts := w.addresses(min(contacts, len(w.nodes)))
	for _, place := range places {
		w.after(time.Duration(w.rand.Int64N(int64(time.Second))), func() {
			w.boot(place, gossip.JoinContacts{Contacts: contacts, Required: len(contacts)/2 + 1})
		})
	}
	w.Run(time.Second)
}

// contacts are how many of the first places nodes know that start at once.
const contacts = 10

// claim makes a new place, where nobody has run yet.
func (w *World) claim() int {
	place := len(w.nodes)
	w.nodes = append(w.nodes, &node{id: member.ID{Address: placeAddress(place)}, view: &member.View{}, place: place, end: "not started"})
	w.places[placeAddress(place)] = place
	return place
}

// boot starts a new incarnation at a place, instead of the one that was there.
func (w *World) boot(place int, join gossip.Input) {
	n := &node{
		id:          member.ID{Address: placeAddress(place), UID: member.NewUID(w.clock(), w.rand.Uint64())},
		place:       place,
		rate:        w.drawRate(),
		dialing:     map[member.ID]bool{},
		quarantined: map[member.ID]bool{},
		removed:     map[member.ID]bool{},
	}
	n.ran = n.local(w.now)
	n.core = membership.New(membership.Config{
		Gossip: gossip.Config{
			Self:    n.id,
			Cluster: cluster,
			Rand:    rand.New(rand.NewPCG(w.seed, uint64(n.id.UID))),
		},
		Downing: w.Downing(place),
	})
	n.view = n.core.Machine().View()
	n.gone = margin.NewWatch(w.margin(place))
	w.nodes[place] = n
	w.notef("%s starts", n.id)
	w.step(n, join)
}

// clock is what the clock of a machine shows. A bad one was set back by a while.
func (w *World) clock() time.Time {
	if w.chance(w.badClocks) {
		return w.now.Add(-time.Duration(w.rand.Int64N(int64(time.Minute))))
	}
	return w.now
}

// joining has a node join by other places, the next ones first. It is never the
// first of its seeds, so that it does not become a second cluster, however long
// it is alone. The first place is always among them, for it founds anew when
// all others are gone.
func (w *World) joining(place int) gossip.Input {
	var addresses []member.Address
	for i := range min(10, len(w.nodes)-1) {
		addresses = append(addresses, placeAddress((place+1+i)%len(w.nodes)))
	}
	if first := placeAddress(0); place != 0 && !slices.Contains(addresses, first) {
		addresses = append(addresses, first)
	}
	return gossip.JoinSeeds{Seeds: addresses}
}

// addresses are those of the first places.
func (w *World) addresses(count int) []member.Address {
	addresses := make([]member.Address, count)
	for place := range addresses {
		addresses[place] = placeAddress(place)
	}
	return addresses
}

// at is the running node at an address, or nil.
func (w *World) at(a member.Address) *node {
	place, ok := w.places[a]
	if !ok || w.nodes[place] == nil || !w.nodes[place].running() {
		return nil
	}
	return w.nodes[place]
}

// woken steps a node whose time has come.
func (w *World) woken(n *node) {
	if !n.running() || !n.wake.Equal(w.now) {
		return // it ended, or has planned anew
	}
	if n.pausedUntil.After(w.now) {
		w.plan(n, n.pausedUntil)
		return
	}
	n.wake = time.Time{}
	w.trace('t', n.id, n.id, nil)
	w.step(n, gossip.Tick{})
}

func (w *World) plan(n *node, at time.Time) {
	if at.Equal(n.wake) {
		return
	}
	n.wake = at
	if !at.IsZero() {
		w.queue.push(event{at: at, wakes: n})
	}
}

// order steps a node with what does not come by the network, once it is not
// paused.
func (w *World) order(n *node, in gossip.Input) {
	if n.pausedUntil.After(w.now) {
		w.after(n.pausedUntil.Sub(w.now), func() {
			w.busy-- // what has waited keeps nobody busy without end
			w.order(n, in)
		})
		return
	}
	w.step(n, in)
}

// step feeds a node one input, does what it wants done, and checks what it sees.
func (w *World) step(n *node, in gossip.Input) {
	if !n.running() {
		return
	}
	w.countStep()
	w.mindHold(n)
	if _, done := in.(gossip.ExitDone); done {
		n.handedOver = true
	}
	w.carryOut(n, n.core.Step(n.local(w.now), in))
}

// carryOut does what a node wants done.
func (w *World) carryOut(n *node, out membership.Output) {
	for _, p := range out.Send {
		w.post(n, p)
	}
	for _, e := range out.Events {
		w.noteEvent(n, e)
	}
	if out.Decision != nil {
		w.noteDecision(n, out.Decision)
	}
	if out.Acquire != nil {
		w.acquire(n, *out.Acquire)
	}
	if out.Release {
		w.release(n)
	}
	for _, id := range out.Quarantine {
		n.quarantined[id] = true
	}
	if out.StartExiting {
		w.after(time.Duration(w.rand.IntN(2000))*time.Millisecond, func() { w.order(n, gossip.ExitDone{}) })
	}
	n.cutOff = out.CutOff
	if out.View != nil {
		old := n.view
		n.view = out.View
		w.checkView(n, old)
	}
	w.checkSeen(n)
	if out.Stop != nil {
		w.stop(n, *out.Stop)
		return
	}
	w.checkOverlap(n)
	w.redial(n)
	w.planNext(n, n.global(out.Wake))
}

// stop ends a process that says goodbye, or has no time for it.
func (w *World) stop(n *node, s gossip.Stop) {
	w.notef("%s stops: %s: %s", n.id, s.Reason, s.Text)
	if s.Reason == gossip.Removed {
		w.sometimes("a removed node is told so")
	}
	if w.rand.IntN(2) == 0 {
		w.dies(n)
	}
	n.end = s.Reason.String()
}

// countStep counts, and notices nodes that keep each other busy without end. A
// vote goes from each node to each other one, so large clusters may do more.
func (w *World) countStep() {
	w.stats.Steps++
	if second := w.now.Truncate(time.Second); !second.Equal(w.second) {
		w.second, w.busy = second, 0
	}
	if w.busy++; w.busy > max(200, 4*len(w.nodes))*len(w.nodes) {
		w.failf("%d steps of %d nodes within one second", w.busy, len(w.nodes))
	}
}

// planNext plans when a node steps next. One that is never content is a fault.
func (w *World) planNext(n *node, at time.Time) {
	if at.IsZero() || at.After(w.now) {
		n.restless = 0
		w.plan(n, at)
		return
	}
	if n.restless++; n.restless > 1000 {
		w.failf("%s asks again and again to be woken at once", n.id)
	}
	w.plan(n, w.now.Add(time.Microsecond))
}

// small worlds encode each message, larger ones, in which that would be most of
// the work, each tenth.
const small = 20

// post sends a message of a node.
func (w *World) post(n *node, p gossip.Packet) {
	msg := p.Msg
	if w.Tamper != nil {
		if msg = w.Tamper(n.id, p.To, msg); msg == nil {
			return
		}
	}
	if n.quarantined[p.To] {
		return
	}
	w.checkVersion(n, msg)
	w.stats.Messages++
	sent := &packet{from: n.id, to: p.To, msg: msg}
	if len(w.nodes) <= small || w.stats.Messages%10 == 0 {
		var err error
		if sent.data, err = w.codec.Encode(msg); err != nil {
			w.failf("%s to %s: %v", n.id, p.To, err)
		}
	}
	if w.traffic != nil {
		if err := w.count(n, msg, sent.data); err != nil {
			w.failf("%s to %s: %v", n.id, p.To, err)
		}
	}
	w.send(sent)
}
