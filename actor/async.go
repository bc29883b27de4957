package actor

import (
	"context"
	"runtime/debug"
)

// Go runs f on a goroutine of its own and has its result told to the actor, behind what is in the mailbox then. Here an actor
// waits: for an ask, a disk, a timer of somebody else. ctx is done when the incarnation is to end, and f must return then: the
// actor does not end, nor restart, before it has. An actor that is being drained waits for the result too. A result that comes too late for its incarnation is a dead letter. A panic in
// f is a failure of the actor. Of c, f may use only what ctx has. How many functions run at a time is for the actor to bound.
func (c *Ctx[M]) Go(f func(ctx context.Context) M) {
	cell := c.cell
	cell.mu.Lock()
	cell.aside++
	cell.mu.Unlock()
	go func() {
		n := &note[M]{life: c, result: true}
		returned := false
		defer func() {
			if p := recover(); !returned {
				n.err = &panicked{p, debug.Stack()}
			}
			cell.post(n, 1)
		}()
		n.msg = f(c)
		returned = true
	}()
}

// tooLate deals with a result whose incarnation has ended.
func (c *Cell[M]) tooLate(n *note[M], reason Reason) {
	if n.err != nil {
		c.ctx.Log().Error("actor's Go function failed", attributes(n.err)...)
		return
	}
	c.sys.drop(DeadLetter{c.path(), n.msg, reason}, ErrNoReply)
}
