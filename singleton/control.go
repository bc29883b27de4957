package singleton

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/internal/wake"
	"github.com/troupe-go/troupe/singleton/internal/owner"
)

// A control is the one goroutine that steps the core of a singleton on this node and
// has carried out what that decides.
type control struct {
	name   string
	core   *owner.Core
	hands  hands
	paused func() bool

	inputs  chan owner.Input // of other nodes
	views   *wake.Latest[troupe.View]
	posts   *wake.List[owner.Input] // of this node
	leaves  chan time.Time
	queries chan func()

	leaveBy           time.Time     // until then messages may wait for a successor; zero unless it leaves
	left              chan struct{} // closed when a leave is complete
	stopping, stopped chan struct{}
}

// hands do what the core decided, and what is due by the clock. They are used by
// the loop alone, but for waiting.
type hands interface {
	do(a owner.Action)
	say(p owner.Packet)
	tell(e owner.Event)
	housekeep(now time.Time) (again time.Time)
	waiting() int
}

const (
	inboxSize   = 1024
	againAfter  = 10 * time.Millisecond  // until a full lane or mailbox is tried again
	pausedEvery = 100 * time.Millisecond // a paused node looks whether it may go on
)

func newControl(name string, core *owner.Core, h hands, paused func() bool) *control {
	return &control{
		name: name, core: core, hands: h, paused: paused,
		inputs: make(chan owner.Input, inboxSize),
		views:  wake.NewLatest[troupe.View](),
		posts:  wake.NewList[owner.Input](),
		leaves: make(chan time.Time, 1), queries: make(chan func()),
		left: make(chan struct{}), stopping: make(chan struct{}), stopped: make(chan struct{}),
	}
}

// run is the loop, until stop is called.
func (c *control) run() {
	defer close(c.stopped)
	timer := time.NewTimer(wake.Until(time.Now()))
	defer timer.Stop()
	var again time.Time // zero: not for the machine's sake
	for {
		batch := []owner.Input{owner.Tick{}}
		select {
		case <-c.stopping:
			return
		case in := <-c.inputs:
			batch[0] = in
		case <-c.views.Changed():
			batch[0] = owner.ViewChanged{View: c.views.Load()}
		case <-c.posts.Ready():
			batch = c.posts.Take()
		case c.leaveBy = <-c.leaves:
			batch = c.leaving()
		case ask := <-c.queries:
			ask()
			continue
		case <-timer.C:
		}
		if !c.mayAct() {
			return
		}
		now := time.Now()
		for _, in := range batch {
			again = c.step(now, in)
		}
		timer.Reset(wake.Until(c.next(now, again)))
	}
}

// leaving begins a leave, behind the newest view: one that did not know who has just
// come would let go of what is for them.
func (c *control) leaving() []owner.Input {
	select {
	case <-c.views.Changed():
		return []owner.Input{owner.ViewChanged{View: c.views.Load()}, owner.Leave{}}
	default:
		return []owner.Input{owner.Leave{}}
	}
}

// mayAct waits while the node is paused: what has been decided for it may be
// another node's by now. It is false when the node ends.
func (c *control) mayAct() bool {
	for c.paused() {
		select {
		case <-c.stopping:
			return false
		case ask := <-c.queries:
			ask()
		case <-time.After(pausedEvery):
		}
	}
	return true
}

func (c *control) step(now time.Time, in owner.Input) (wake time.Time) {
	out := c.core.Step(now, in)
	for _, e := range out.Events {
		c.hands.tell(e)
	}
	for _, a := range out.Do {
		c.hands.do(a)
	}
	for _, p := range out.Send {
		c.hands.say(p)
	}
	return out.Wake
}

// next is when the loop has something to do by the clock.
func (c *control) next(now, wake time.Time) time.Time {
	next := now.Add(time.Hour)
	for _, t := range [...]time.Time{wake, c.hands.housekeep(now), c.hasLeft(now)} {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	return next
}

// hasLeft ends a leave when nothing is left here that another could get, or time is up.
func (c *control) hasLeft(now time.Time) (again time.Time) {
	if c.leaveBy.IsZero() {
		return time.Time{}
	}
	if !c.core.Done() || c.hands.waiting() > 0 && !c.core.Alone() && now.Before(c.leaveBy) {
		return now.Add(againAfter)
	}
	select {
	case <-c.left:
	default:
		close(c.left)
	}
	return time.Time{}
}

// The rest is for other goroutines.

// take takes what another node says in the control lane, unless too much waits: it is
// said again if it must be.
func (c *control) take(in owner.Input) bool {
	select {
	case c.inputs <- in:
		return true
	default:
		return false
	}
}

// mark takes a mark from the lane of messages, which waits with it.
func (c *control) mark(in owner.Input) {
	select {
	case c.inputs <- in:
	case <-c.stopping:
	case <-c.stopped:
	}
}

// leave hands over what runs here and waits until that is done. Half of its time is for
// a successor to take the messages that wait here.
func (c *control) leave(ctx context.Context) error {
	by := time.Now()
	if deadline, ok := ctx.Deadline(); ok {
		by = by.Add(time.Until(deadline) / 2)
	}
	c.leaves <- by
	select {
	case <-c.left:
		return nil
	case <-c.stopped:
		return ErrEnded
	case <-ctx.Done():
		return fmt.Errorf("hand over singleton %s: %w", c.name, context.Cause(ctx))
	}
}

func (c *control) stop() {
	close(c.stopping)
	<-c.stopped
}

// why asks the core what is waited for.
func (c *control) why() (waits []troupe.Wait) {
	ran := make(chan struct{})
	select {
	case c.queries <- func() { waits = c.core.Why(time.Now()); close(ran) }:
		<-ran
	case <-c.stopped:
	}
	return waits
}

// logEvent tells the operator what the core decided.
func logEvent(log *slog.Logger, e owner.Event) {
	switch e := e.(type) {
	case owner.Began:
		log.Info("this node runs the singleton", slog.Uint64("term", e.Term.N))
	case owner.HandsOver:
		to := "whoever claims it"
		if !e.To.IsZero() {
			to = e.To.String()
		}
		log.Info("this node hands the singleton over", slog.Uint64("term", e.Term.N), slog.String("to", to))
	case owner.Unmarked:
		log.Warn("the instance stops without the last word of other nodes; what they still send may come late", slog.Any("nodes", e.Silent))
	case owner.Ceased:
		log.Info("this node does not run the singleton any more", slog.Uint64("term", e.Term.N))
	case owner.Lost:
		log.Warn("the lease is lost, and the instance is stopped", slog.Uint64("term", e.Term.N))
	case owner.Failed:
		log.Warn("the instance ended by itself; it starts again", slog.Time("at", e.Again))
	case owner.Disagrees:
		log.Warn("another node declares the singleton differently; hand-overs may wait until they agree",
			slog.Any("other", e.Node), slog.String("there", e.Theirs), slog.String("here", e.Ours))
	}
}
