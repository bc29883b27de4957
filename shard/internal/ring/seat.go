package ring

import (
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A seat is this node's place in the ring.
type seat struct {
	token uint64    // zero for none
	until time.Time // how long it may be trusted; zero for none
	spent uint64    // seats up to this one are over
}

// Seated tells whether this node has a seat, and by which token.
func (c *Core) Seated() (token uint64, ok bool) { return c.seat.token, c.seat.token != 0 }

func (c *Core) seated(now time.Time, in Seated) {
	if in.Token < c.seat.token || in.Token <= c.seat.spent || !now.Before(in.Until) {
		return // of a seat that is over
	}
	if in.Token == c.seat.token {
		c.seat.until = in.Until
		return
	}
	c.lose(now, "the store has given this node another seat")
	c.seat.token, c.seat.until = in.Token, in.Until
	c.desk.retryAt = time.Time{} // the store answers
	c.tell(Sat{Token: in.Token})
	c.lookAround(now)
}

// lookAround has everybody read the table, for this node's part of it has changed.
func (c *Core) lookAround(now time.Time) {
	c.look(now)
	if c.view == nil {
		return
	}
	for _, id := range c.others() {
		if id != c.self {
			c.say(id, protocol.Look{})
		}
	}
}

// expire ends a seat that was not kept in time. Whatever the store may still say of
// it, others may have its shards from soon on.
func (c *Core) expire(now time.Time) {
	if c.seat.token != 0 && !now.Before(c.seat.until) {
		c.lose(now, "the store has not confirmed it in time")
	}
}

// lose ends the seat, and everything that hangs on it at once.
func (c *Core) lose(now time.Time, cause string) {
	if c.seat.token == 0 {
		return
	}
	had := 0
	for _, s := range c.sorted {
		if !s.lock.IsZero() {
			had++
			s.latest, s.since = tenure{epoch: s.lock, node: c.self, carries: c.self, token: c.seat.token, state: lost}, now
		}
		c.void(now, s)
	}
	c.tell(Unseated{Token: c.seat.token, Shards: had, Cause: cause})
	c.seat = seat{spent: c.seat.token}
	c.busy, c.ended = true, true
	c.look(now)
}

// leave gives away all that is here; the others must not give this node more.
func (c *Core) leave(now time.Time) {
	if c.leaving {
		return
	}
	c.leaving = true
	c.assign()
	for _, s := range c.sorted {
		delete(c.desk.taking, s.name)
		c.giveUnused(s)
	}
	c.giveAway(now)
}

// wish is whether this node should have a seat. One that leaves keeps it until
// nothing is here any more: who has a seat may still carry something over.
func (c *Core) wish() Wish {
	w := Wish{Spent: c.seat.spent, Note: c.staying}
	if c.leaving {
		w.Note = c.going
	}
	switch {
	case c.over:
		w.Sit = true // until the shell has ended what was hosted here
	case c.view == nil:
	case c.leaving:
		w.Sit = c.seat.token != 0 && !c.idle()
	case c.ending:
		w.Sit = c.seat.token != 0 // what is here goes on until this node leaves
	default:
		self, _ := c.view.SelfMember()
		w.Sit = self.Status == member.Up && self.HasRole(c.set.Role) && c.meeting.met
	}
	return w
}

// idle tells whether there is nothing left here.
func (c *Core) idle() bool {
	for _, s := range c.sorted {
		if s.wanted || !s.lock.IsZero() || !s.told.IsZero() {
			return false
		}
	}
	_, taking := c.desk.out.(Take)
	return !taking
}
