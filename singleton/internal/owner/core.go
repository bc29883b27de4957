package owner

import (
	"time"

	"github.com/troupe-go/troupe/internal/margin"
	"github.com/troupe-go/troupe/internal/member"
)

// Core is one node's part in a singleton.
type Core struct {
	self    member.ID
	set     Settings
	view    *member.View // nil before the first
	leaving bool

	heard  map[member.ID]bool // members that have said that they have the singleton
	absent map[member.ID]bool // members that have said that they have not
	top    uint64             // the highest number that was heard of

	claim  *claim  // nil while this node does not ask to start
	tenure *tenure // nil while it has no instance
	rival  Claim   // another node's, that waits for an answer; zero for none

	owner  Term // where messages go; zero: nowhere
	closed Term // the last owner that asked to send nothing more
	seekAt time.Time

	gone margin.Watch // who was removed and may still run the instance

	out Output
}

// New makes the part of a node.
func New(self member.ID, set Settings) *Core {
	return &Core{self: self, set: set, heard: map[member.ID]bool{}, absent: map[member.ID]bool{}, gone: margin.NewWatch(set.Margin)}
}

// Step feeds one input to the machine and returns what the shell must do.
func (c *Core) Step(now time.Time, in Input) Output {
	c.out = Output{}
	switch in := in.(type) {
	case ViewChanged:
		c.viewChanged(now, in.View)
	case Received:
		c.received(now, in.From, in.Msg)
	case NoPort:
		c.noPort(in.From)
	case Marked:
		c.marked(in)
	case Stray:
		c.stray(now, in.From)
	case Ended:
		c.ended(now, in.Term)
	case LeaseHeld:
		c.leaseHeld(in.Claim)
	case LeaseLost:
		c.leaseLost()
	case Leave:
		c.leaving = true
	case Tick: // below is all there is
	}
	if c.view != nil {
		c.gone.Settle(now)
		c.advanceTenure(now)
		c.advanceClaim(now)
		c.answerRival()
		c.seek(now)
		c.out.Wake = c.wake(now)
	}
	return c.out
}

func (c *Core) viewChanged(now time.Time, v *member.View) {
	before := c.view
	c.view = v
	c.gone.See(now, before, v)
	for id := range c.heard { // any order: only forgets
		if _, ok := v.Member(id); !ok {
			delete(c.heard, id)
		}
	}
	for id := range c.absent { // any order: only forgets
		if _, ok := v.Member(id); !ok {
			delete(c.absent, id)
		}
	}
	if !c.owner.IsZero() && c.owner.Node != c.self && !c.stays(c.owner.Node) {
		c.owner = Term{}
		c.do(Hold{})
	}
	if c.claim != nil {
		c.claim.askAt = now // there may be somebody new to ask
	}
	c.seekAt = now
	c.greet(now, before)
}

// greet tells new members what they would have to ask for: who owns the singleton,
// and that this node has it.
func (c *Core) greet(now time.Time, before *member.View) {
	_, in := c.view.SelfMember()
	var known bool
	if before != nil {
		_, known = before.SelfMember()
	}
	for _, m := range c.view.Members {
		if m.DataCenter != c.view.DataCenter {
			continue
		}
		if in && !known {
			c.say(m.ID, Hello{c.set.Agree})
			continue
		}
		if before == nil {
			continue
		}
		if _, old := before.Member(m.ID); !old {
			c.tellOwner(m.ID)
			if t := c.tenure; t != nil && t.stage == closing { // somebody else may have told it
				t.unmarked, t.askAt = append(t.unmarked, m.ID), now
			}
		}
	}
}

func (c *Core) received(now time.Time, from member.ID, m Message) {
	if !c.lives(from) {
		return // it asks again, or its view is not ours any more
	}
	if c.absent[from] {
		delete(c.absent, from)
	}
	c.heard[from] = true
	switch m := m.(type) {
	case Hello:
		c.compare(from, m.Agree)
		c.tellOwner(from)
	case Here:
		c.here(m.Term)
	case Claim:
		c.compare(from, m.Agree)
		c.claimed(from, m)
	case Granted:
		c.hear(m.Top)
		c.granted(from, m.Claim)
	case Close:
		c.close(now, m.Term)
	}
}

func (c *Core) compare(from member.ID, theirs string) {
	if theirs != c.set.Agree {
		c.tell(Disagrees{Node: from, Theirs: theirs, Ours: c.set.Agree})
	}
}

// noPort takes in that a node does not have the singleton: it runs nothing, and
// before it does it asks this node. The word of one that has been heard of is old.
func (c *Core) noPort(from member.ID) {
	if c.view == nil || !c.lives(from) || c.heard[from] {
		return
	}
	c.absent[from] = true
	if c.claim != nil {
		c.claim.granted[from] = true
	}
	if t := c.tenure; t != nil {
		t.silent(from)
	}
}

func (c *Core) hear(n uint64) { c.top = max(c.top, n) }

// lives tells whether id is a member that was not downed.
func (c *Core) lives(id member.ID) bool {
	if c.view == nil {
		return false
	}
	m, ok := c.view.Member(id)
	return ok && m.Status != member.Down && m.Status != member.Removed
}

// stays tells whether id lives and is not on its way out. An owner that leaves hands
// over, whether or not it can ask this node to stop sending.
func (c *Core) stays(id member.ID) bool {
	m, _ := c.view.Member(id)
	return c.lives(id) && m.Status != member.Leaving && m.Status != member.Exiting
}

// isRight tells whether this node holds itself for the one that should own it.
func (c *Core) isRight() bool {
	id, ok := c.right()
	return ok && id == c.self && !c.leaving
}

// goes tells whether this node is on its way out.
func (c *Core) goes() bool {
	self, ok := c.view.SelfMember()
	return c.leaving || ok && (self.Status == member.Leaving || self.Status == member.Exiting)
}

func (c *Core) do(a Action)  { c.out.Do = append(c.out.Do, a) }
func (c *Core) tell(e Event) { c.out.Events = append(c.out.Events, e) }

// say sends best effort; nothing is said to the dead, nor to this node.
func (c *Core) say(to member.ID, m Message) {
	if to != c.self && c.lives(to) {
		c.out.Send = append(c.out.Send, Packet{to, m})
	}
}

// wake is when something is due by the clock. What was due by now has been done.
func (c *Core) wake(now time.Time) time.Time {
	var next time.Time
	at := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if t := c.tenure; t != nil {
		at(t.due())
	}
	if c.claim != nil {
		at(c.claim.askAt)
		at(c.gone.BlindUntil())
		for _, d := range c.gone.Gone() {
			at(d.Until)
		}
	}
	if _, seeks := c.sought(); seeks {
		at(c.seekAt)
	}
	return next
}
