package actor

import (
	"fmt"
	"time"
)

// note is one of the actor's own messages while the actor waits for it: a timer's tick, a death notice, a result. It
// is checked when it is taken out of the mailbox, so what was cancelled or belongs to a former incarnation is never delivered,
// however long it has been queued there.
type note[M any] struct {
	life   *Ctx[M] // the incarnation that waits
	msg    M
	undo   func() // takes it back from its source; nil for results
	gone   bool   // taken back
	result bool   // of a Go function
	err    error  // the Go function panicked

	timer  *time.Timer
	key    string
	keyed  bool
	period time.Duration // of a ticker
	due    time.Time     // when a ticker's tick is to come
}

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
	if o == nil || o.keyed[key] == nil {
		return false
	}
	c.cell.undo(o.keyed[key])
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
		o := c.owned()
		if o.keyed == nil {
			o.keyed = make(map[string]*note[M])
		}
		o.keyed[n.key] = n
	}
	if n.period > 0 {
		n.due = time.Now().Add(d)
	}
	c.arm(n, d, func() {
		if c.sys.pass() {
			c.post(n, 0)
		}
	})
	return nil
}

// arm starts the timer of a note; fire runs on a goroutine of its own.
func (c *Cell[M]) arm(n *note[M], d time.Duration, fire func()) {
	n.timer = time.AfterFunc(d, fire)
	n.undo = func() { n.timer.Stop() }
	c.await(n)
}

// await remembers what the incarnation waits for.
func (c *Cell[M]) await(n *note[M]) {
	o := c.owned()
	if o.notes == nil {
		o.notes = make(map[*note[M]]struct{})
	}
	o.notes[n] = struct{}{}
}

// undo takes one note back.
func (c *Cell[M]) undo(n *note[M]) {
	n.gone = true
	n.undo()
	c.settled(n)
}

// settled forgets a note.
func (c *Cell[M]) settled(n *note[M]) {
	delete(c.own.notes, n)
	if n.keyed {
		delete(c.own.keyed, n.key)
	}
}

// takeBack takes back all that an incarnation waited for.
func (c *Cell[M]) takeBack() {
	for n := range c.own.notes {
		c.undo(n)
	}
}

// admit looks at one of the actor's own messages when it is due, and puts the message into its slot; false drops it.
func (c *Cell[M]) admit(s *slot[M]) bool {
	n := s.note
	switch {
	case n.life != c.ctx && n.result:
		c.tooLate(n, ReasonRestarted)
		return false
	case n.life != c.ctx || n.gone:
		return false
	case n.err != nil:
		c.owned().failure = n.err
		return false
	case n.period > 0:
		now := time.Now()
		wait := n.period - now.Sub(n.due)%n.period
		n.due = now.Add(wait)
		n.timer.Reset(wait)
	case !n.result:
		c.settled(n)
	}
	s.m, s.note = n.msg, nil
	return true
}
