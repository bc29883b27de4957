package owner

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// here takes in who owns the singleton. News of an owner that is older than one
// who still lives, or has closed, is old.
func (c *Core) here(term Term) {
	c.hear(term.N)
	switch {
	case term.Node == c.self, !c.stays(term.Node), term == c.closed:
		return
	case !c.owner.IsZero() && term.Compare(c.owner) <= 0: // it lives: see viewChanged
		return
	case term.N < c.closed.N && c.lives(c.closed.Node):
		return
	}
	c.owner = term
	c.do(Route{term})
}

// close stops sending to an owner that asks for it. It is asked again until the
// mark has come, so each question gets one.
func (c *Core) close(now time.Time, term Term) {
	c.hear(term.N)
	if c.owner.Node == term.Node && c.owner.Compare(term) <= 0 { // news of its last tenure may have been missed
		c.owner = Term{}
		c.do(Hold{})
		c.seekAt = now.Add(c.set.Retry) // the next one will tell
	}
	if term.Compare(c.closed) > 0 || !c.lives(c.closed.Node) {
		c.closed = term
	}
	c.do(Mark{term})
}

// stray hears that an owner has returned what was sent to it.
func (c *Core) stray(now time.Time, from member.ID) {
	if c.owner.Node == from && from != c.self {
		c.closed, c.owner = c.owner, Term{}
		c.do(Hold{})
		c.seekAt = now
	}
}

func (c *Core) tellOwner(to member.ID) {
	if !c.owner.IsZero() && c.owner.Node != to {
		c.say(to, Here{c.owner})
	}
}

// sought is whom this node asks where the singleton is, or whether it has it at
// all: the one that should own it, until that is who does. So no news that was
// missed is missed for ever.
func (c *Core) sought() (member.ID, bool) {
	if _, in := c.view.SelfMember(); !in {
		return member.ID{}, false
	}
	right, ok := c.right()
	return right, ok && right != c.self && c.tenure == nil && (c.owner.Node != right || !c.heard[right])
}

func (c *Core) seek(now time.Time) {
	if id, seeks := c.sought(); seeks && !now.Before(c.seekAt) {
		c.seekAt = now.Add(c.set.Retry)
		c.say(id, Hello{c.set.Agree})
	}
}

// Done tells whether a node that leaves neither has a tenure nor will have one.
func (c *Core) Done() bool { return c.leaving && c.tenure == nil && c.claim == nil }

// Alone tells whether no other member could own the singleton.
func (c *Core) Alone() bool {
	if c.view == nil {
		return true
	}
	return !slices.ContainsFunc(c.ranked(), func(m member.Member) bool { return m.ID != c.self && !c.absent[m.ID] })
}
