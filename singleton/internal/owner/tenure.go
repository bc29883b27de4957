package owner

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// A tenure is the time in which the instance may run here.
type tenure struct {
	term  Term
	stage stage
	since time.Time // of the stage

	lives  bool          // the instance has been started and has not ended
	killed bool          // it was told to end at once
	born   time.Time     // its last start
	gap    time.Duration // before the next start, if it ends by itself
	again  time.Time     // when that is

	unmarked []member.ID // who may still send something, while it closes
	askAt    time.Time
	until    time.Time // then the rest is not waited for
}

type stage uint8

const (
	running  stage = iota
	closing        // others are asked to stop sending
	stopping       // the instance works off what it has, or was told to end
)

// An instance that ends by itself starts again after 200 ms, twice as long each
// time, up to half a minute; one that lived for that long has recovered.
const (
	firstGap = 200 * time.Millisecond
	lastGap  = 30 * time.Second
)

func (c *Core) begin(now time.Time) {
	c.top++
	c.tenure = &tenure{term: Term{c.top, c.self}, since: now, again: now, gap: firstGap}
	c.owner = c.tenure.term
	c.tell(Began{c.owner})
	c.do(Route{c.owner})
	c.startAgain(now)
	for _, m := range c.view.Members {
		if m.DataCenter == c.view.DataCenter {
			c.say(m.ID, Here{c.owner})
		}
	}
}

func (c *Core) startAgain(now time.Time) {
	c.tenure.lives, c.tenure.born = true, now
	c.do(Start{c.tenure.term})
}

// advanceTenure ends the tenure when another should have it and waits for nothing else,
// when this node leaves, and at once when it is no member any more.
func (c *Core) advanceTenure(now time.Time) {
	t := c.tenure
	if t == nil {
		return
	}
	if !c.lives(c.self) {
		c.kill()
		return
	}
	switch t.stage {
	case running:
		right, _ := c.right()
		switch {
		case c.goes(), c.rival.Last && c.rival.Term.Node == right && right != c.self:
			c.beginClosing(now)
			c.goOnClosing(now)
		case !t.lives && !now.Before(t.again):
			c.startAgain(now)
		}
	case closing:
		c.goOnClosing(now)
	case stopping: // the shell sees to it that it ends
	}
}

func (c *Core) beginClosing(now time.Time) {
	t := c.tenure
	t.stage, t.since, t.askAt, t.until = closing, now, now, now.Add(c.set.CloseWithin)
	for _, m := range c.view.Members {
		if m.ID != c.self && m.DataCenter == c.view.DataCenter && c.lives(m.ID) {
			t.unmarked = append(t.unmarked, m.ID)
		}
	}
	c.tell(HandsOver{t.term, c.rival.Term.Node})
	c.owner, c.closed = Term{}, t.term
	c.do(Hold{})
}

func (c *Core) goOnClosing(now time.Time) {
	t := c.tenure
	t.unmarked = slices.DeleteFunc(t.unmarked, func(id member.ID) bool { return !c.lives(id) })
	if len(t.unmarked) > 0 && now.Before(t.until) {
		if !now.Before(t.askAt) {
			t.askAt = now.Add(c.set.Retry / 4)
			for _, id := range t.unmarked {
				c.say(id, Close{t.term})
			}
		}
		return
	}
	if len(t.unmarked) > 0 {
		c.tell(Unmarked{t.unmarked})
	}
	if !t.lives {
		c.cease()
		return
	}
	t.stage, t.since = stopping, now
	c.do(Drain{t.term})
}

// kill ends the instance without a word to anybody.
func (c *Core) kill() {
	t := c.tenure
	if !t.lives {
		c.cease()
		return
	}
	if t.killed {
		return
	}
	t.stage, t.killed = stopping, true
	c.lose()
	c.do(Kill{t.term})
}

// lose takes it that nothing can be sent to this node any more.
func (c *Core) lose() {
	if c.owner == c.tenure.term {
		c.owner, c.closed = Term{}, c.tenure.term
		c.do(Hold{})
	}
}

func (c *Core) cease() {
	c.tell(Ceased{c.tenure.term})
	c.lose()
	if c.set.Lease {
		c.do(Release{})
	}
	c.tenure = nil
}

func (c *Core) ended(now time.Time, term Term) {
	t := c.tenure
	if t == nil || t.term != term {
		return
	}
	t.lives = false
	switch t.stage {
	case stopping:
		c.cease()
	case closing: // it ceases when nobody sends any more
	case running:
		if now.Sub(t.born) >= lastGap {
			t.gap = firstGap
		}
		t.again = now.Add(t.gap)
		t.gap = min(2*t.gap, lastGap)
		c.tell(Failed{t.again})
	}
}

// leaseLost ends the tenure at once. If this node is still the right one it asks
// for everything anew.
func (c *Core) leaseLost() {
	if c.claim != nil && c.claim.leasing {
		c.claim.leasing, c.claim.leased = false, false
	}
	if c.tenure != nil {
		c.tell(Lost{c.tenure.term})
		c.kill()
	}
}

func (c *Core) marked(in Marked) {
	if t := c.tenure; t != nil && t.term == in.Term {
		t.silent(in.From)
	}
}

// silent notes that nothing more comes from a node.
func (t *tenure) silent(id member.ID) {
	t.unmarked = slices.DeleteFunc(t.unmarked, func(o member.ID) bool { return o == id })
}

func (t *tenure) due() time.Time {
	switch {
	case t.stage == closing && t.askAt.Before(t.until):
		return t.askAt
	case t.stage == closing:
		return t.until
	case t.stage == running && !t.lives:
		return t.again
	}
	return time.Time{}
}
