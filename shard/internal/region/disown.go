package region

import "time"

// disowned ends a tenure that the store does not let write any more: another
// node owns the shard by a higher epoch, whether or not its authority has said so
// here. What its entities leave goes on to the next home like any carry.
//
// An epoch of a higher term than that of the obeyed coordinator is one whose
// coordinator nobody here has heard of, such as that of the cluster's life before
// all nodes were stopped. No term below it can own anything, so the coordinator is
// told, and claims a higher one.
func (c *Core) disowned(now time.Time, in Disowned) {
	s := c.shard(in.Shard)
	t := s.tenancy
	if t == nil || t.epoch != in.Epoch || t.stage == killed {
		return
	}
	s.hear(in.Highest)
	c.tell(TenureDenied(in))
	c.kill(now, s)
	c.link.floor = max(c.link.floor, in.Highest.Term)
	c.refuseLow()
}

// refuseLow tells the obeyed coordinator, if its term is below one that the store
// has heard of, to take a higher one. It is told again whenever that coordinator
// gives what can be nobody's.
func (c *Core) refuseLow() {
	if c.link.term < c.link.floor {
		c.say(c.link.obeyed, c.refusal())
	}
}
