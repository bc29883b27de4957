package region

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// An arrival is the time in which a region obeys nobody, because it does not know
// yet what this node has said before it had joined the type: to a coordinator
// which asked what it hosts it has answered that it had not, and was counted as
// one that will obey no older term. So the region first asks all who may have been
// such a coordinator. They are in its view: a member comes Up only when all have
// seen it join.
type arrival struct {
	begun   bool        // this node is a member
	unheard []member.ID // sorted; they have not answered yet, and are members still
	due     time.Time
	gap     time.Duration
}

func (a *arrival) arrived() bool { return a.begun && len(a.unheard) == 0 }

// arrive begins the arrival with the first view that has this node, and does not
// wait for those who were removed. A proxy hosts nothing, and is there at once.
func (c *Core) arrive(now time.Time) {
	a := &c.link.arrival
	self, ok := c.view.SelfMember()
	switch {
	case a.begun:
		a.unheard = slices.DeleteFunc(a.unheard, func(id member.ID) bool {
			_, ok := c.view.Member(id)
			return !ok
		})
	case ok:
		*a = arrival{begun: true, due: now, gap: c.set.Retry / 8}
		if self.HasRole(c.set.Role) && !c.set.Own {
			a.unheard = c.reigned()
		}
	}
}

// reigned lists the other members that may have been a coordinator.
func (c *Core) reigned() []member.ID {
	var ids []member.ID
	for _, m := range c.view.Members {
		if m.ID != c.self && m.UpNumber != member.NeverUp && m.DataCenter == c.view.DataCenter && m.HasRole(c.set.Role) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// arriveAgain asks those who have not answered yet.
func (c *Core) arriveAgain(now time.Time) {
	a := &c.link.arrival
	if len(a.unheard) == 0 || now.Before(a.due) {
		return
	}
	a.due = now.Add(a.gap)
	a.gap = min(2*a.gap, c.set.Retry)
	for _, id := range a.unheard {
		if c.lives(id) {
			c.say(id, protocol.Arriving{})
		}
	}
}

// answered: that node has said what it had heard of, or has heard of nothing.
func (c *Core) answered(now time.Time, id member.ID) {
	a := &c.link.arrival
	before := len(a.unheard)
	a.unheard = slices.DeleteFunc(a.unheard, func(o member.ID) bool { return o == id })
	if before > 0 && a.arrived() {
		c.beatAt = now // the report is due
	}
}
