package actor

import (
	"context"
	"time"
)

// Loop makes an actor of a plain function that takes its messages from an inbox, on a goroutine of its own, for code
// that wants to wait in a straight line. All that is true of other actors holds: mailbox, timers, watches, supervision,
// children, cleanup. The actor ends when run returns; an error, or a panic, is a failure. Returning the ErrStopped that Next gave
// is not. A request is in the loop's hands until it asks for the next message: failing before means that it fails too.
func Loop[M any](run func(in *Inbox[M]) error) Start[M] {
	return func(c *Ctx[M]) (Behavior[M], error) {
		c.cell.owned().loop = &loop[M]{run: run, wake: make(chan struct{}, 1)}
		return func(*Ctx[M], M) error { return ErrUnhandled }, nil
	}
}

// loop is the cell's side of a Loop. While it runs, its goroutine is the cell's runner.
type loop[M any] struct {
	run      func(in *Inbox[M]) error
	wake     chan struct{} // one token: look again
	patient  bool          // will wait if there is nothing; the loop's own
	waiting  bool          // for a token; guarded by the cell's mutex, as is returned
	returned bool
}

// signal has a waiting loop look again; the cell's mutex is held. A token that is already there is as good.
func (l *loop[M]) signal() {
	if !l.waiting {
		return
	}
	l.waiting = false
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Inbox is a Loop's end of its mailbox, and its Ctx: timers, Go and the rest work as in a behavior. It belongs to the
// loop's goroutine.
type Inbox[M any] struct {
	*Ctx[M]
	loop  *loop[M]
	timer *time.Timer
}

// Next waits for the next message. The error is ErrStopped when the actor is to stop, after what was queued if it is being drained,
// and ctx's when that ends first; no message is lost then. After ErrStopped the function may still tell, and should return.
func (in *Inbox[M]) Next(ctx context.Context) (M, error) {
	m, ok, err := in.await(ctx.Done(), nil)
	if !ok && err == nil {
		err = ctx.Err()
	}
	return m, err
}

// NextWithin waits at most d; not ok, without an error, means that nothing came. With d ≤ 0 it only looks.
func (in *Inbox[M]) NextWithin(d time.Duration) (m M, ok bool, err error) {
	if d <= 0 {
		return in.poll(false)
	}
	if in.timer == nil {
		in.timer = time.NewTimer(d)
	} else {
		in.timer.Reset(d)
	}
	defer in.timer.Stop()
	return in.await(nil, in.timer.C)
}

// await polls until there is something or one of the channels says that it is enough; it looks once more then.
func (in *Inbox[M]) await(done <-chan struct{}, timeout <-chan time.Time) (m M, ok bool, err error) {
	for {
		if m, ok, err = in.poll(true); ok || err != nil {
			return m, ok, err
		}
		select {
		case <-in.loop.wake:
		case <-done:
			return in.poll(false)
		case <-timeout:
			return in.poll(false) // which finds out if the silence was the whole process's
		}
	}
}

// poll gives the next message if there is one; if not, whoever delivers one will send a token to a patient caller.
func (in *Inbox[M]) poll(patient bool) (m M, ok bool, err error) {
	in.loop.patient = patient
	c := in.cell
	c.done()
	for {
		switch {
		case c.failed(): // a Go function panicked
			return m, false, c.own.failure
		case c.stopReason() != Running:
			return m, false, ErrStopped
		case in.standBy():
			continue
		case c.hand == nil && c.fetch() == resting:
			return m, false, nil
		}
		s := c.next()
		if s == nil || s.note != nil && !c.admit(s) {
			continue
		}
		c.at = s
		return s.m, true, nil
	}
}

// standBy waits for a token if the loop must not act now; false means that it may. Whoever stops it sends one too, and so does
// what holds it when that is over.
func (in *Inbox[M]) standBy() bool {
	c := in.cell
	h := c.heldBy()
	if h == nil {
		return false
	}
	c.mu.Lock()
	wait := c.stopReason() == Running && h.on.Load()
	in.loop.waiting = wait
	c.mu.Unlock()
	if wait {
		<-in.loop.wake
	}
	return true
}

// loopOn is the loop's goroutine.
func (c *Cell[M]) loopOn(l *loop[M]) {
	defer func() {
		c.mu.Lock()
		l.returned = true
		ready := c.wake()
		c.mu.Unlock()
		c.enqueue(ready)
	}()
	defer c.catch()
	c.busy = true
	err := l.run(&Inbox[M]{Ctx: c.ctx, loop: l})
	c.busy = false
	switch {
	case c.failed():
	case err == nil:
		c.done()
	case c.obeys(err):
		c.giveUp(ReasonStopped, ErrNoReply)
	default:
		c.own.failure = err
	}
}

// loopReturned ends the incarnation of a Loop whose function has returned.
func (c *Cell[M]) loopReturned() {
	switch reason := c.stopReason(); {
	case c.failed():
		c.fail()
	case reason != Running:
		c.leave(reason)
	default:
		c.leave(Finished)
	}
}
