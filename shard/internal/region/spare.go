package region

import (
	"time"

	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// spare begins or ends a time in which this node hosts nothing and goes on
// routing. It is asked to be relieved until it has nothing; and when that is over, to
// get shards again until that is confirmed.
func (c *Core) spare(now time.Time, on bool) {
	if c.spared == on {
		return
	}
	c.spared, c.staying = on, !on
	c.leaveDue, c.beatAt = now, now
}

func (c *Core) hosts() bool {
	for _, s := range c.shards { // any order: only whether there is one
		if s.tenancy != nil {
			return true
		}
	}
	return false
}

// askRelief asks the coordinator to have all handed over.
func (c *Core) askRelief(now time.Time) {
	if c.Registered() && !now.Before(c.leaveDue) {
		c.leaveDue = now.Add(c.set.Retry)
		c.say(c.link.obeyed, protocol.GracefulShutdown{})
	}
}

func (c *Core) stayAgain(now time.Time) {
	if c.Registered() && !now.Before(c.leaveDue) {
		c.leaveDue = now.Add(c.set.Retry)
		c.say(c.link.obeyed, protocol.Staying{})
	}
}
