package actor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// quantum is how many messages an actor handles before others have their turn.
const quantum = 64

// run does the next thing in the cell's life and tells whether there is another.
func (c *Cell[M]) run() (again bool) {
	switch c.phase {
	case starting:
		c.begin()
	case running:
		if again = c.batch(); !again || c.phase != unwinding {
			return again
		}
		c.unwind() // at once: nobody holds it up
	case looping:
		c.loopReturned()
	case unwinding:
		c.unwind()
	case backingOff:
		c.resume()
	case ended, told:
	}
	return c.settle()
}

// settle lets go of the cell, unless something is due.
func (c *Cell[M]) settle() (again bool) {
	c.mu.Lock()
	again = c.due()
	c.queued = again
	c.mu.Unlock()
	return again
}

// due tells whether a runner has something to do; mu is held, and there is no other runner.
func (c *Cell[M]) due() bool {
	switch c.phase {
	case starting:
		return true
	case running:
		return c.box.first != nil || c.hand != nil || c.drainedLocked() || c.stopReason() != Running
	case looping:
		return c.own.loop.returned
	case unwinding:
		return c.alone() && c.aside == 0
	case backingOff:
		return c.own.elapsed || c.stopReason() != Running
	case ended, told:
	}
	return false
}

// launch runs the first Start on the goroutine of Spawn.
func (c *Cell[M]) launch() error {
	defer func() { // deferred, because Start may call runtime.Goexit
		c.enqueue(c.settle())
	}()
	c.begin()
	switch {
	case c.phase != unwinding:
		return nil
	case c.reason == Failed:
		return fmt.Errorf("%s: %w", c.path(), c.own.cause)
	default:
		return &refusal{to: &c.core, err: ErrStopped}
	}
}

// begin starts an incarnation.
func (c *Cell[M]) begin() {
	if reason := c.stopReason(); reason != Running {
		c.leave(reason)
		return
	}
	if !c.failed() {
		c.makeBehavior()
	}
	if c.failed() {
		c.fail()
		return
	}
	next := running
	if c.own != nil && c.own.loop != nil {
		next = looping
	}
	c.mu.Lock()
	c.phase = next
	c.mu.Unlock()
	if next == looping {
		go c.loopOn(c.own.loop)
	}
}

func (c *Cell[M]) makeBehavior() {
	defer c.catch()
	c.busy = true
	b, err := c.start(c.ctx)
	c.busy = false
	if err == nil && b == nil {
		err = ErrNoBehavior
	}
	if err != nil {
		c.owned().failure = err
	}
	c.behavior = b
}

// catch is deferred around the user's code: it records a panic, or a runtime.Goexit, as a failure.
func (c *Cell[M]) catch() {
	p := recover()
	if !c.busy {
		return
	}
	c.busy = false
	c.owned().failure = &panicked{p, debug.Stack()}
}

func (c *Cell[M]) failed() bool { return c.own != nil && c.own.failure != nil }

// batch handles up to a quantum of messages, then sees whether the actor is to stop.
func (c *Cell[M]) batch() (again bool) {
	for budget := quantum; budget > 0 && !c.failed() && c.stopReason() == Running; {
		if c.hand == nil && c.fetch() == resting {
			return false
		}
		budget = c.handle(budget)
	}
	switch reason := c.stopReason(); {
	case c.failed():
		c.fail()
	case reason != Running:
		c.leave(reason)
	}
	return c.settle()
}

// fetched is what came of looking into the mailbox.
type fetched uint8

const (
	taken   fetched = iota // there is something in hand
	drained                // none is there and none will come: a stop was asked for
	resting                // none is there; whoever delivers the next will wake the cell, or the loop that waits
)

// fetch takes the first chunk out of the mailbox. A behavior without one rests, which ends the caller's time as its runner;
// a loop, being its own, says whether it will wait.
func (c *Cell[M]) fetch() fetched {
	c.mu.Lock()
	k := c.box.take()
	switch {
	case k != nil:
		c.waiting -= k.told
		if c.crowded {
			c.callLine()
		}
		c.mu.Unlock()
		c.hand = k
		if c.owner != nil {
			c.owner.saw(c.sys)
		}
		return taken
	case c.drainedLocked() || c.stopReason() != Running:
		c.mu.Unlock()
		c.end(Requested)
		return drained
	case c.phase == looping:
		c.own.loop.waiting = c.own.loop.patient
	default:
		c.queued = false
	}
	c.mu.Unlock()
	return resting
}

// drainedLocked tells whether a cell that is being drained has nothing to wait for but what is in its mailbox; mu is held.
func (c *Cell[M]) drainedLocked() bool { return c.draining && c.aside == 0 }

// next gives the next message in hand, nil when there is none.
func (c *Cell[M]) next() *slot[M] {
	for k := c.hand; k != nil; k = c.turn() {
		if k.r < k.w {
			s := &k.slots[k.r]
			k.r++
			return s
		}
	}
	return nil
}

// turn lets go of the first chunk in hand, which is worked off, and gives the next.
func (c *Cell[M]) turn() *chunk[M] {
	k := c.hand
	c.hand = k.next
	c.kind.chunks.put(k)
	return c.hand
}

// handle gives the messages in hand to the behavior and returns what is left of the budget.
func (c *Cell[M]) handle(budget int) int {
	defer c.catch()
	for ; budget > 0 && c.stopReason() == Running; budget-- {
		s := c.next()
		if s == nil {
			break
		}
		if s.note != nil && !c.admit(s) {
			if c.failed() {
				break
			}
			continue
		}
		c.at = s
		c.busy = true
		err := c.behavior(c.ctx, s.m)
		c.busy = false
		if err != nil && !c.forgiven(err) {
			break
		}
		c.done()
	}
	return budget
}

// forgiven deals with an error of the message in hand; false means that it is a failure.
func (c *Cell[M]) forgiven(err error) bool {
	if _, ok := err.(*unsent); ok { //nolint:errorlint // a failure that is joined with it remains one
		return true
	}
	switch {
	case errors.Is(err, ErrUnhandled):
		c.giveUp(ReasonUnhandled, ErrUnhandled)
		return true
	case c.obeys(err):
		c.giveUp(ReasonStopped, ErrNoReply)
		return true
	}
	c.owned().failure = err
	return false
}

// obeys tells whether an error only passes on that the actor is to stop.
func (c *Cell[M]) obeys(err error) bool {
	return c.stopReason() != Running && (errors.Is(err, ErrStopped) || errors.Is(err, context.Canceled))
}

// fail acts upon a recorded failure: it is told to the log once, the message in hand is dropped, and the incarnation ends.
func (c *Cell[M]) fail() {
	o := c.own
	err := o.failure
	o.failure, o.cause = nil, err
	launching := c.at == nil && c.phase == starting && c.owner == nil && len(o.restarts) == 0
	if !launching && c.stopReason() == Running {
		now := time.Now()
		o.delay, o.restarts, o.again = c.kind.restart.decide(o.restarts, now, c.sys.jitter())
		if o.again {
			o.restarts = append(o.restarts, now)
		}
	}
	message := "none"
	if c.at != nil {
		message = fmt.Sprintf("%T", c.at.m)
	}
	if !launching { // whoever spawns is told by Spawn
		c.ctx.Log().With("message", message, "restart", o.again).Error("actor failed", attributes(err)...)
	}
	c.giveUp(ReasonFailed, err)
	c.leave(Failed)
}

// giveUp makes the message in hand, if there is one, a dead letter; a stashed one is still to come.
func (c *Cell[M]) giveUp(reason Reason, err error) {
	s := c.at
	if s == nil {
		return
	}
	if s.note != c.kind.stashed {
		c.sys.drop(DeadLetter{c.path(), s.m, reason}, Fated(err, Handled))
	}
	c.done()
}
