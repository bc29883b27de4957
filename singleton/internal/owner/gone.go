package owner

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// A departure is a member that was removed and may still run its instance until
// then.
type departure struct {
	member.Member
	until time.Time
}

// open begins to watch. A node that was removed just before has left no trace, so
// this one waits as if there had been one; but there was none before the first member
// of all, which gives itself the first rank.
func (c *Core) open(now time.Time) {
	switch self, ok := c.view.SelfMember(); {
	case ok && self.UpNumber == 1:
		c.blind = now
	case ok && c.blind.IsZero():
		c.blind = now.Add(c.set.Margin(len(c.view.Members)))
	}
}

// rememberGone notes who was removed, and until when it may not know that.
func (c *Core) rememberGone(now time.Time, before, after *member.View) {
	if before == nil {
		return
	}
	// Those on the losing side still have all who were removed one after the other.
	margin := c.set.Margin(len(before.Members) + len(c.gone))
	for _, m := range before.Members {
		if _, still := after.Member(m.ID); still || m.ID == c.self || !c.mayHost(m) {
			continue
		}
		if exited(before, m) || slices.Contains(after.Crashed, m.ID) {
			continue // no process is left to go on
		}
		c.gone = append(c.gone, departure{m, now.Add(margin)})
	}
}

// exited tells of a removed member whether it has confirmed its own end. If it
// was unreachable then, somebody else may have confirmed it.
func exited(before *member.View, m member.Member) bool {
	return m.Status == member.Exiting && before.Reachable(m.ID)
}

// settle forgets removed nodes whose margin has passed.
func (c *Core) settle(now time.Time) {
	c.gone = slices.DeleteFunc(c.gone, func(d departure) bool { return !now.Before(d.until) })
}
