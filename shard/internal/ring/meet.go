package ring

import (
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A node that declares the type with a coordinator and one that declares it with a
// ring know nothing of each other's shards, and must not host side by side. The
// oldest member that can host decides which it is. So this node tells that one what
// it declares, and takes no seat before it has an answer: a ring's core answers with
// Look, a coordinator with a claim. One that comes into that position later, or
// joins the type later, claims as well. A node that is overruled stays so as long as
// one of the others is left that hosts something.
type meeting struct {
	with  member.ID // the oldest; zero when that is this node, or nobody
	met   bool      // there is no coordinator, as far as is known
	until time.Time // how long an answer is waited for
	by    member.ID // who overrules this node; zero for nobody
}

// declares stands for what the settings of such a node are, which it does not tell.
const declares = "a coordinator, no ring"

// meet looks who is the oldest, and turns to it.
func (c *Core) meet(now time.Time) {
	m := &c.meeting
	if !isMember(c.view, c.self) {
		return // it knows of nobody yet
	}
	with, _ := c.view.Oldest(c.set.Role, member.Up)
	if with.ID == c.self {
		with.ID = member.ID{}
	}
	if !m.by.IsZero() && !c.lives(m.by) {
		m.by, m.until = member.ID{}, now.Add(c.set.Retry)
	} else if with.ID.IsZero() && m.by.IsZero() && m.until.IsZero() {
		c.unopposed(now)
	}
	if with.ID != m.with && !with.ID.IsZero() {
		m.until = now.Add(c.set.Retry)
		c.introduce(with.ID)
	}
	m.with = with.ID
}

// introduce tells a node what this one declares, in the words of a region.
func (c *Core) introduce(to member.ID) {
	c.say(to, protocol.Report{Coordinator: c.self, Agree: c.set.Agree, Proxy: true})
}

// meetAgain asks for the answer, and goes on without one when the time is over.
func (c *Core) meetAgain(now time.Time) {
	switch m := &c.meeting; {
	case m.met || !m.by.IsZero():
	case !now.Before(m.until):
		c.unopposed(now)
	case !m.with.IsZero():
		c.introduce(m.with)
	}
}

// addressed answers another node that takes this one for a coordinator, or wants to
// know what it is.
func (c *Core) addressed(now time.Time, from member.ID, word protocol.Word) {
	switch w := word.(type) {
	case protocol.Arriving:
		c.say(from, protocol.HighestTerm{})
	case protocol.Report:
		if !c.meeting.met && len(w.Hosted) > 0 {
			c.overruled(now, from)
			return
		}
		h := c.link.head()
		switch w.Coordinator {
		case from:
			c.say(from, protocol.Look{})
		case c.self:
			c.say(from, protocol.Mismatch{Header: protocol.Header{Term: w.Term, Seq: h.Seq}, Agree: c.set.Agree})
		default:
			c.say(from, protocol.Claim{Header: protocol.Header{Term: w.Term + 1, Seq: h.Seq}})
		}
	default: // what a coordinator would have to know
	}
}

// metBy notes that the oldest has a ring too, or nothing of the type.
func (c *Core) metBy(now time.Time, node member.ID) {
	if m := &c.meeting; node == m.with && (m.by.IsZero() || m.by == node) {
		c.unopposed(now)
	}
}

// claimed: another node takes itself for the coordinator. It is right if it is the oldest.
func (c *Core) claimed(now time.Time, by member.ID) {
	if by == c.meeting.with {
		c.overruled(now, by)
	}
}

func (c *Core) overruled(now time.Time, by member.ID) {
	c.meeting.by, c.meeting.met = by, false
	c.lose(now, "another node has the type with a coordinator")
	c.disagree(Note{Node: by, Agree: declares})
}

// unopposed: nobody overrules this node, or nobody does any more.
func (c *Core) unopposed(now time.Time) {
	m := &c.meeting
	if m.met {
		return
	}
	m.met, m.by = true, member.ID{}
	c.agreed()
	c.look(now)
}

func (c *Core) disagree(with Note) {
	before := c.table.misfit
	c.table.misfit = &with
	if before == nil || before.Node != with.Node {
		c.tell(Disagrees{With: with.Node, Theirs: with.Agree, Ours: c.set.Agree})
		c.order(protocol.Mismatch{Header: c.link.head(), Agree: with.Agree})
	}
}

func (c *Core) agreed() {
	if c.table.misfit != nil {
		c.table.misfit = nil
		c.order(protocol.Registered{Header: c.link.head()})
	}
}
