package owner

import (
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// WaitOwner is what a singleton waits for: somebody who runs it.
const WaitOwner member.WaitKind = "singleton"

// Owner is the node that messages go to; zero while there is none.
func (c *Core) Owner() Term { return c.owner }

// Why tells what the singleton waits for, as far as this node knows; nothing when
// it runs.
func (c *Core) Why(now time.Time) []member.Wait {
	w := member.Wait{What: WaitOwner}
	name := fmt.Sprintf("singleton %q ", c.set.Name)
	switch t, cl := c.tenure, c.claim; {
	case c.view == nil:
		w.Why = name + "has no owner: this node is no member yet"
	case t != nil && t.stage == closing:
		w.Why, w.Since, w.Until = name+"is handed over by this node: the others say that they have stopped sending to it", t.since, t.until
		w.On = holdups(t.unmarked, "has not said so")
	case t != nil && t.stage == stopping:
		w.Why, w.Since = name+"is handed over by this node: its instance ends", t.since
	case t != nil && !t.lives:
		w.Why, w.Until = name+"has ended by itself and starts again", t.again
	case t != nil:
		return nil
	case cl != nil:
		w.Since = cl.since
		c.whyClaim(now, &w, name)
	case c.owner.IsZero():
		w.Why = name + "has no owner that this node knows of"
		if right, ok := c.right(); ok {
			w.On = holdups([]member.ID{right}, "should own it")
		} else {
			w.Why += ": no member that is Up may own it"
			w.Act = fmt.Sprintf("start a node with the role %q, if it needs one", c.set.Role)
		}
	default:
		return nil
	}
	return []member.Wait{w}
}

// whyClaim tells what this node's claim waits for.
func (c *Core) whyClaim(now time.Time, w *member.Wait, name string) {
	missing := c.missing(now)
	switch {
	case c.claim.leasing:
		w.Why = name + "starts here when its lease is held"
	case len(missing) == 0:
		w.Why, w.Until = name+"starts here when the margin of nodes has passed that may have been removed before this one came", c.gone.BlindUntil()
	default:
		w.Why = name + "starts here when everybody who may run it has said that it does not"
	}
	for _, id := range missing {
		text := "has not said that it does not run it"
		switch _, member := c.view.Member(id); {
		case !member:
			text = "was removed and may not know it yet"
			w.Until = c.gone.Until(id)
		case !c.lives(id):
			text = "was downed and is not removed yet"
		case !c.view.Reachable(id):
			text = "cannot be reached, and has to come back or be removed"
		}
		w.On = append(w.On, member.Holdup{Node: id, Why: text})
	}
}

func holdups(ids []member.ID, why string) (on []member.Holdup) {
	for _, id := range ids {
		on = append(on, member.Holdup{Node: id, Why: why})
	}
	return on
}
