package owner

import (
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// A claim is this node's question to all others whether it may start.
type claim struct {
	term    Term
	since   time.Time
	granted map[member.ID]bool
	askAt   time.Time
	gap     time.Duration

	last    bool // only one grant was missing when it was asked for
	leasing bool // the lease has been asked for
	leased  bool
}

// advanceClaim claims while this node is the right one and has no tenure, and
// begins one when nobody else can have one.
func (c *Core) advanceClaim(now time.Time) {
	if c.tenure != nil || !c.isRight() {
		c.abandon()
		return
	}
	if c.claim == nil {
		self, _ := c.view.SelfMember()
		// Numbers are kept by those who hear them. One that died with its owner
		// is below the rank of age of a successor that nobody could tell of it.
		c.top = max(c.top+1, uint64(self.UpNumber))
		c.claim = &claim{
			term: Term{c.top, c.self}, since: now, granted: map[member.ID]bool{},
			askAt: now, gap: c.set.Retry / 8,
		}
	}
	cl := c.claim
	missing := c.missing(now)
	blind := now.Before(c.gone.BlindUntil())
	last := len(missing) == 1 && !blind
	if len(missing) > 0 && (!now.Before(cl.askAt) || last && !cl.last) {
		cl.askAt, cl.last = now.Add(cl.gap), last
		cl.gap = min(2*cl.gap, c.set.Retry)
		for _, id := range missing {
			c.say(id, Claim{cl.term, last, c.set.Agree})
		}
	}
	switch {
	case len(missing) > 0, blind:
	case !c.set.Lease || cl.leased:
		c.claim = nil
		c.begin(now)
	case !cl.leasing:
		cl.leasing = true
		c.do(Acquire{cl.term})
	}
}

// abandon ends the claim: no grant that was given for it counts any more.
func (c *Core) abandon() {
	if c.claim != nil && c.claim.leasing {
		c.do(Release{})
	}
	c.claim = nil
}

// missing are the nodes that may still run an instance, as far as this one knows:
// members that have not granted the claim, downed ones until they are removed, and
// removed ones until their margin has passed.
func (c *Core) missing(now time.Time) []member.ID {
	var ids []member.ID
	add := func(m member.Member) {
		if m.ID != c.self && c.mayHost(m) && !c.claim.granted[m.ID] {
			ids = append(ids, m.ID)
		}
	}
	for _, m := range c.view.Members {
		add(m)
	}
	for _, d := range c.gone.Gone() {
		if now.Before(d.Until) {
			add(d.Member)
		}
	}
	return ids
}

func (c *Core) granted(from member.ID, term Term) {
	if c.claim != nil && c.claim.term == term {
		c.claim.granted[from] = true
	}
}

// claimed keeps a rival's claim until it can be answered: at once, or when this
// node does not hold itself for the right one any more and its instance has ended. Of two
// rivals the right one is kept; the other asks again.
func (c *Core) claimed(from member.ID, m Claim) {
	c.hear(m.Term.N)
	if m.Term.Node != from {
		return
	}
	kept := c.rival.Term
	if right, _ := c.right(); kept.IsZero() || kept.Node == from || from == right || kept.Node != right {
		c.rival = m
	}
}

func (c *Core) answerRival() {
	switch term := c.rival.Term; {
	case term.IsZero():
	case !c.lives(term.Node):
		c.rival = Claim{}
	case c.tenure == nil && c.claim == nil:
		c.say(term.Node, Granted{term, c.top})
		c.rival = Claim{}
	}
}

func (c *Core) leaseHeld(term Term) {
	if c.claim != nil && c.claim.leasing && c.claim.term == term {
		c.claim.leased = true
	}
}
