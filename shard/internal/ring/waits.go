package ring

import (
	"maps"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// Waits lists all that this node waits for, what is about the whole type first, then
// the shards in order.
func (c *Core) Waits() []protocol.Waiting {
	var waits []protocol.Waiting
	if !c.desk.failing.IsZero() {
		waits = append(waits, protocol.Waiting{Wait: member.Wait{
			What: member.WaitStore, Why: "the store does not answer: " + c.desk.cause,
			Since: c.desk.failing, Act: "see to the database, or to the way there",
		}})
	}
	for _, name := range slices.Sorted(maps.Keys(c.shards)) {
		for _, w := range c.Why(name) {
			if w.What != member.WaitStore { // said once
				waits = append(waits, protocol.Waiting{Shard: name, Wait: w})
			}
		}
	}
	return waits
}

// stay takes back what a drain began: this node takes part again.
func (c *Core) stay(now time.Time) {
	if c.view == nil {
		return
	}
	if self, _ := c.view.SelfMember(); c.leaving && self.Status == member.Up {
		c.leaving = false
		c.assign()
		c.look(now)
	}
	c.order(protocol.Registered{Header: c.link.head()})
}

// Alone tells whether this node leaves and no other has a seat that could take what
// is here.
func (c *Core) Alone() bool {
	if !c.leaving || c.table.at.IsZero() {
		return false
	}
	for _, s := range c.table.seats {
		if s.Node != c.self && !s.Leaving && s.Agree == c.set.Agree && c.lives(s.Node) {
			return false
		}
	}
	return true
}
