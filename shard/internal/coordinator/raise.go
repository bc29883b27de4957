package coordinator

import "time"

// Raising a term in the store before it is claimed makes sure that no two reigns
// have one term, also if nobody lives who has heard of the earlier one, and that
// the terms of coordinators and of a ring are one order. The store is asked until
// it answers. After RaiseWithin the reign begins without it, by what this node has
// heard, for a store that is away must not stop what needs none: its epochs are
// then kept apart from those of any other reign that might have the same term by
// counting from a number of this node's own. As soon as the store answers, a reign
// by its term follows; no shard moves for that.

// raising is how far that is.
type raising struct {
	on    bool      // the reign waits for it
	least uint64    // what is asked for; zero when nothing has to be raised
	until time.Time // when the reign begins without it
	asked bool      // the store has not answered yet
	due   time.Time // when it is asked again
	out   uint64    // for Output.Raise
}

func (r *raising) begin(least uint64, until time.Time) {
	asked := r.asked
	*r = raising{on: true, least: least, until: until, asked: asked}
	r.ask()
}

func (r *raising) stop() { *r = raising{asked: r.asked} }

// ask puts the question, unless one is still out: that one's answer may do.
func (r *raising) ask() {
	if !r.asked {
		r.asked, r.due, r.out = true, time.Time{}, r.least
	}
}

func (r *raising) take() uint64 {
	out := r.out
	r.out = 0
	return out
}

func (r *raising) wake() time.Time {
	if r.on && (r.due.IsZero() || r.until.Before(r.due)) {
		return r.until
	}
	return r.due
}

// raised is the store's answer. A term that is not above all that was heard of by
// now does not help.
func (c *Core) raised(now time.Time, in Raised) {
	r, term := &c.raising, in.Term
	r.asked = false
	switch {
	case r.least == 0: // this node does not reign any more
	case term == 0:
		r.due = now.Add(c.set.Retry / 4)
	case term < r.least, c.heard > r.least && term <= c.heard:
		r.least = c.heard + 1
		r.ask()
	default:
		c.heard = term
		r.stop()
		c.begins(now, 0)
		c.recall(now, in.Wishes)
	}
}

// raiseAgain asks a store again that could not answer, and begins without it when
// the time is over.
func (c *Core) raiseAgain(now time.Time) {
	r := &c.raising
	if r.on && !now.Before(r.until) {
		r.on = false
		c.heard = max(c.heard, r.least)
		c.tell(Unraised{Term: c.heard})
		c.begins(now, uint64(c.self.UID)<<33>>1) // 31 bits of its own, 32 to count
		r.least = c.heard + 1
	}
	if !r.due.IsZero() && !now.Before(r.due) {
		r.ask()
	}
}
