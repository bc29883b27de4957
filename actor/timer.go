package actor

import (
	"fmt"
	"time"
)

// After has m told to the actor once, after d. Zero is as soon as possible. A timer that has not fired ends with the incarnation. The errors
// are ErrBadDuration, and ErrStopped when the incarnation is ending.
func (c *Ctx[M]) After(d time.Duration, m M) error {
	return c.cell.time(&note[M]{life: c, msg: m}, d)
}

// Schedule is After with a name: it replaces the timer or ticker with that key, whose message is not delivered any more even if it
// is already in the mailbox.
func (c *Ctx[M]) Schedule(key string, d time.Duration, m M) error {
	return c.cell.time(&note[M]{life: c, msg: m, key: key, keyed: true}, d)
}

// Every has m told after each d, which must be more than 0, until the key is cancelled, replaced, or the incarnation ends. At most one tick
// is in the mailbox: an actor that is late misses ticks, and keeps the beat.
func (c *Ctx[M]) Every(key string, d time.Duration, m M) error {
	if d == 0 {
		return fmt.Errorf("every 0s: %w", ErrBadDuration)
	}
	return c.cell.time(&note[M]{life: c, msg: m, key: key, keyed: true, period: d}, d)
}

// Cancel ends the timer or ticker with that key; its message is not delivered any more even if it is already in the
// mailbox. It tells whether there was one.
func (c *Ctx[M]) Cancel(key string) bool {
	o := c.cell.own
	if o == nil {
		return false
	}
	n := o.notes.keyed(key)
	if n == nil {
		return false
	}
	c.cell.undo(n)
	return true
}

func (c *Cell[M]) time(n *note[M], d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("timer of %v: %w", d, ErrBadDuration)
	}
	if c.phase >= unwinding {
		return &refusal{to: &c.core, err: ErrStopped}
	}
	if n.keyed {
		n.life.Cancel(n.key)
	}
	if n.period > 0 {
		n.due = c.sys.now() + d
	}
	c.arm(n, d, func() {
		if c := n.life.cell; c.pass() {
			c.post(n, 0)
		}
	})
	return nil
}

// arm starts the timer of a note; fire runs on a goroutine of its own.
func (c *Cell[M]) arm(n *note[M], d time.Duration, fire func()) {
	n.timer = time.AfterFunc(d, fire)
	c.owned().notes.add(n)
}

// again starts a ticker's timer for the next beat after now.
func (n *note[M]) again(now time.Duration) {
	wait := n.period - (now-n.due)%n.period
	n.due = now + wait
	n.timer.Reset(wait)
}
