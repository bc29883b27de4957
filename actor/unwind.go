package actor

// leave begins the end of an incarnation: its context is done, what it waits for is taken back, its children end.
func (c *Cell[M]) leave(reason StopReason) {
	again := c.own != nil && c.own.again
	c.mu.Lock()
	c.phase = unwinding
	c.reason = reason
	if !again {
		c.closeLocked()
		c.ending.CompareAndSwap(uint32(Running), uint32(reason))
	}
	scope := c.ctx.overLocked()
	c.mu.Unlock()
	scope.close()
	for _, child := range c.children() {
		child.impl.end(Requested)
	}
	if c.own != nil {
		c.takeBack()
	}
}

// unwind runs when children and Go functions are gone.
func (c *Cell[M]) unwind() {
	if c.own != nil {
		c.cleanUp()
	}
	c.mu.Lock()
	pending := c.aside > 0 // begun by a cleanup function
	c.mu.Unlock()
	switch {
	case pending:
	case c.own != nil && c.own.again && c.stopReason() == Running:
		c.backOff()
	default:
		c.finish()
	}
}

// cleanUp runs the cleanup functions, last first. Each is taken off before it runs, so that none runs twice.
func (c *Cell[M]) cleanUp() {
	for o := c.own; len(o.cleanups) > 0; {
		last := len(o.cleanups) - 1
		f := o.cleanups[last]
		o.cleanups = o.cleanups[:last]
		c.guard(f)
		if err := o.failure; err != nil {
			o.failure = nil
			c.ctx.Log().Error("actor cleanup failed", attributes(err)...)
		}
	}
}

func (c *Cell[M]) guard(f func()) {
	defer c.catch()
	c.busy = true
	f()
	c.busy = false
}

// backOff waits before the next incarnation. The stash goes back before the mailbox: only what failed is lost.
func (c *Cell[M]) backOff() {
	o := c.own
	c.unstash()
	o.loop = nil
	o.again = false
	c.mu.Lock()
	c.phase = backingOff
	o.elapsed = o.delay == 0
	c.mu.Unlock()
	if o.delay > 0 {
		n := &note[M]{life: c.ctx}
		c.arm(n, o.delay, func() {
			c.mu.Lock()
			o.elapsed = true
			ready := c.wake()
			c.mu.Unlock()
			c.enqueue(ready)
		})
	}
}

// resume ends the waiting: with a new incarnation, or because a stop was asked for.
func (c *Cell[M]) resume() {
	c.takeBack()
	if reason := c.stopReason(); reason != Running {
		c.leave(reason)
		return
	}
	c.mu.Lock()
	c.phase = starting
	c.ctx = &Ctx[M]{cell: c}
	c.mu.Unlock()
}

// finish ends the cell. See the package comment for the order.
func (c *Cell[M]) finish() {
	var cause error
	if c.reason == Failed {
		cause = c.own.cause
	}
	c.unstash()
	c.mu.Lock()
	c.phase = ended
	rest := c.box
	c.box, c.waiting = mailbox[M]{}, 0
	c.mu.Unlock()
	left := c.leftover(rest)
	c.own, c.behavior = nil, nil
	if c.owner != nil && c.owner.ended != nil {
		c.owner.ended(left, c.reason, cause)
	} else {
		for _, l := range left {
			c.sys.drop(DeadLetter{c.path(), l.Message, ReasonStopped}, Fated(ErrNoReply, NotHandled))
			if l.Receipt != nil {
				l.Receipt.Handled()
			}
		}
	}
	c.release()
	c.announce()
	c.depart()
}

// leftover empties what is in hand and rest, in order. The actor's own messages are nobody else's: ticks and notices are
// taken back, results are dead letters.
func (c *Cell[M]) leftover(rest mailbox[M]) (left []Leftover[M]) {
	for {
		for s := c.next(); s != nil; s = c.next() {
			switch n := s.note; {
			case n == nil:
				left = append(left, Leftover[M]{Message: s.m})
			case n.receipt != nil:
				left = append(left, Leftover[M]{s.m, n.receipt})
			case n.result:
				c.tooLate(n, ReasonStopped)
			}
		}
		if c.hand = rest.take(); c.hand == nil {
			return left
		}
	}
}
