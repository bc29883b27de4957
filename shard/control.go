package shard

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/internal/wake"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
	"github.com/troupe-go/troupe/transport"
)

// A control is the one goroutine that steps a type's cores on this node, the
// region's and the authority's, and has carried out what they decide.
//
// What other nodes send waits in two bounded inboxes. When the one for markers is
// full their lanes wait with it, for none may be lost. When the one for control
// messages is full they are dropped, for they share their lane with heartbeats,
// and the protocol repeats what needs an answer. What this node itself has to say waits in a list that is
// bounded by what can be said, a few words per shard, so that saying it blocks no
// teller.
type control struct {
	port     port
	hands    hands
	self     troupe.ID
	log      *slog.Logger
	counts   *counts
	complain *complaints

	region    *region.Core
	authority authority
	toSelf    []word // what the cores of this node say to each other
	settling  bool   // it is being worked off
	alone     bool   // the region knows that nobody will take what it has

	markers  chan region.Input
	words    chan word
	views    *wake.Latest[troupe.View]
	posts    *wake.List[region.Input]
	queries  chan func()
	retrying atomic.Bool // a lane or mailbox was full
	againAt  time.Time

	role       string
	hosts      atomic.Bool // this node has the role
	registered atomic.Bool
	disagrees  atomic.Bool   // the coordinator declares the type differently: what waits here can go nowhere
	left       chan struct{} // closed when a leave is complete
	hasLeft    bool
	stopping   chan struct{}
	stopped    chan struct{}

	regionWake, authorityWake time.Time

	watch   *watch
	trouble atomic.Pointer[[]Trouble]
	overdue atomic.Uint64
	observe func(Trouble) // hears of each trouble once
}

// hands do what the cores decided, and what is due by the clock. They are used
// by the loop alone.
type hands interface {
	// do carries out one action.
	do(now time.Time, a region.Action)
	// again goes on with what a full lane or mailbox had stopped.
	again(now time.Time)
	// giveUp lets go of what waits for homes, since nobody will name any.
	giveUp()
	// housekeep does what is due by now; due tells when that is next.
	housekeep(now time.Time)
	due() time.Time
	// waits tells what the hands themselves wait for.
	waits() []protocol.Waiting
	// settle confirms what entities have handled.
	settle()
}

// A word is a control message and who says it; none at all if that node has not
// joined the type.
type word struct {
	from troupe.ID
	msg  protocol.Message
}

const (
	inboxSize  = 1024
	againAfter = 10 * time.Millisecond // until a full lane or mailbox is tried again
)

// newControl makes a loop that does not run yet, without its authority.
func newControl(self troupe.ID, h hands, set region.Settings) *control {
	return &control{
		hands: h, self: self,
		region:   region.New(self, set),
		markers:  make(chan region.Input, inboxSize),
		words:    make(chan word, inboxSize),
		views:    wake.NewLatest[troupe.View](),
		posts:    wake.NewList[region.Input](),
		queries:  make(chan func()),
		left:     make(chan struct{}),
		stopping: make(chan struct{}), stopped: make(chan struct{}),
	}
}

// run is the loop, until stop is called or the node is done.
func (c *control) run(nodeDone <-chan struct{}) {
	defer close(c.stopped)
	timer := time.NewTimer(wake.Until(time.Now()))
	defer timer.Stop()
	for {
		select {
		case <-c.stopping:
			return
		case <-nodeDone:
			return
		case w := <-c.words:
			c.hear(time.Now(), w)
		case in := <-c.markers:
			c.stepRegion(time.Now(), in)
		case <-c.views.Changed():
			c.view(time.Now(), c.views.Load())
		case <-c.posts.Ready():
			c.see()
			for _, in := range c.posts.Take() {
				c.stepRegion(time.Now(), in)
				if _, leaves := in.(region.Leave); leaves {
					c.say(time.Now(), c.authority.leave(time.Now()))
				}
			}
		case step := <-c.authority.reports():
			now := time.Now()
			c.say(now, step(now))
		case ask := <-c.queries:
			c.see()
			ask()
		case <-timer.C:
			c.tick(time.Now())
		}
		c.look(time.Now())
		timer.Reset(wake.Until(c.wake(time.Now())))
	}
}

// see takes in the newest view before what was said or asked after it: a leave that
// did not know who has just come would let go of what is for them.
func (c *control) see() {
	select {
	case <-c.views.Changed():
		c.view(time.Now(), c.views.Load())
	default:
	}
}

func (c *control) view(now time.Time, v *troupe.View) {
	if m, ok := v.SelfMember(); ok {
		c.hosts.Store(m.HasRole(c.role))
	}
	c.stepRegion(now, region.ViewChanged{View: v})
	c.say(now, c.authority.view(now, v))
}

// hear steps the core that a control message is for.
func (c *control) hear(now time.Time, w word) {
	switch w.msg.(type) {
	case nil:
		c.stepRegion(now, region.NoPort{From: w.from})
		c.say(now, c.authority.absent(now, w.from))
	case protocol.Order, protocol.StaleRoute, protocol.HighestTerm:
		c.stepRegion(now, region.Received{From: w.from, Msg: w.msg})
		if _, order := w.msg.(protocol.Order); order && w.from != c.self {
			c.say(now, c.authority.hear(now, w.from, w.msg)) // who else gives any?
		}
	default:
		c.say(now, c.authority.hear(now, w.from, w.msg))
	}
}

func (c *control) stepRegion(now time.Time, in region.Input) {
	if _, over := in.(region.Drained); over {
		c.hands.settle() // before others hear of it, so that they do not send again what was handled here
	}
	out := c.region.Step(now, in)
	for _, a := range out.Do {
		c.hands.do(now, a)
	}
	for _, e := range out.Events {
		c.logRegion(e)
	}
	c.regionWake = out.Wake
	c.registered.Store(c.region.Registered())
	if d := c.region.Disagrees(); c.disagrees.Swap(d) != d && d {
		c.hands.giveUp()
	}
	if out.Left && !c.hasLeft {
		c.hasLeft = true
		close(c.left)
	}
	c.sendAll(now, out.Send)
}

// say sends what came of a step of the authority.
func (c *control) say(now time.Time, s said) {
	c.authorityWake = s.wake
	c.sendAll(now, s.send)
	if s.alone != c.alone {
		c.alone = s.alone
		c.stepRegion(now, region.Alone{On: s.alone})
	}
}

// sendAll sends packets; those to this node are stepped before anything else,
// in order.
func (c *control) sendAll(now time.Time, packets []protocol.Packet) {
	for _, p := range packets {
		if p.To == c.self {
			c.toSelf = append(c.toSelf, word{c.self, p.Msg})
			continue
		}
		frame := protocol.Append([]byte{frameControl}, p.Msg)
		if err := c.port.Send(p.To, transport.Control, frame); err != nil {
			c.counts.add(DropLane) // the protocol repeats what needs an answer
			c.complain.warn("control message not sent", string(DropLane), slog.Any("to", p.To), slog.Any("error", err))
		}
	}
	if c.settling {
		return // the caller further up goes on with them
	}
	c.settling = true
	for len(c.toSelf) > 0 {
		w := c.toSelf[0]
		c.toSelf = c.toSelf[1:]
		c.hear(now, w)
	}
	c.settling = false
}

// wake is when the loop has something to do by the clock.
func (c *control) wake(now time.Time) time.Time {
	if c.retrying.Load() && c.againAt.IsZero() {
		c.againAt = now.Add(againAfter)
	}
	next := now.Add(time.Hour)
	for _, t := range [...]time.Time{c.regionWake, c.authorityWake, c.againAt, c.hands.due(), c.watch.wake()} {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	return next
}

func (c *control) tick(now time.Time) {
	if due(c.regionWake, now) {
		c.stepRegion(now, region.Tick{})
	}
	if due(c.authorityWake, now) {
		c.say(now, c.authority.tick(now))
	}
	if due(c.againAt, now) {
		c.againAt = time.Time{}
		c.retrying.Store(false)
		c.hands.again(now)
	}
	if due(c.hands.due(), now) {
		c.hands.housekeep(now)
	}
}

func due(t, now time.Time) bool { return !t.IsZero() && !now.Before(t) }

// The rest is for other goroutines.

// mark takes a marker from a lane of messages; it waits while too many wait.
func (c *control) mark(in region.Input) {
	select {
	case c.markers <- in:
	case <-c.stopping:
	case <-c.stopped:
	}
}

// take takes a word, unless too many wait: it is said again if it must be.
func (c *control) take(w word) {
	select {
	case c.words <- w:
	default:
		c.counts.add(DropBusy)
	}
}

func (c *control) receive(from troupe.ID, frame []byte) {
	msg, err := protocol.Decode(frame)
	if err != nil {
		c.counts.add(DropControl)
		c.complain.warn("control message dropped", string(DropControl), slog.Any("from", from), slog.Any("error", err))
		return
	}
	c.take(word{from, msg})
}

// note tells the core of a stale route, unless too much waits: the next message
// that comes by it tells again.
func (c *control) note(in region.StaleRoute) {
	select {
	case c.markers <- in:
	default:
		c.counts.add(DropStaleNote)
	}
}

// post takes what this node has to say. It never blocks.
func (c *control) post(in region.Input) { c.posts.Add(in) }

// retry has the loop come back soon to what a full lane or mailbox stopped.
func (c *control) retry() {
	if c.retrying.CompareAndSwap(false, true) {
		c.posts.Signal()
	}
}

// leave hands over all that is hosted here and waits until that is done. Half of
// its time is for others to become reachable who could take it; the rest is for
// the entities to end if nobody does.
func (c *control) leave(ctx context.Context) error {
	var in region.Leave
	if deadline, ok := ctx.Deadline(); ok {
		in.Until = time.Now().Add(time.Until(deadline) / 2)
	}
	c.post(in)
	select {
	case <-c.left:
		return nil
	case <-c.stopped:
		return ErrEnded
	case <-ctx.Done():
		return fmt.Errorf("hand over shards: %w", context.Cause(ctx))
	}
}

// stop ends the loop and waits for it.
func (c *control) stop() {
	close(c.stopping)
	<-c.stopped
}

// ask runs f on the loop, where it may use the cores; false when the loop has
// ended. It must not be called from the loop.
func (c *control) ask(f func(now time.Time)) bool {
	ran := make(chan struct{})
	select {
	case c.queries <- func() { defer close(ran); f(time.Now()) }:
		<-ran
		return true
	case <-c.stopped:
		return false
	}
}
