package ring

import (
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// want answers the region where a shard lives, or finds out.
func (c *Core) want(now time.Time, name string) {
	if !c.set.Exists(name) {
		return
	}
	s := c.shard(name)
	if s.settled() {
		c.order(protocol.ShardHomes{Header: c.link.head(), Homes: []protocol.Home{c.here(s)}})
		return
	}
	if !s.wanted {
		s.wanted, s.since = true, now
	}
	if now.Sub(c.table.at) >= c.set.Poll || c.table.at.IsZero() {
		c.look(now)
	}
	s.asking = member.ID{}
	c.seek(s)
}

// seek asks the node that has a wanted shard, or should have it: once, unless the
// region asks again or the answer to who that is has changed.
func (c *Core) seek(s *shard) {
	_, taking := c.desk.taking[s.name]
	if !s.wanted || taking || !s.lock.IsZero() || c.table.misfit != nil {
		return
	}
	switch who := c.holder(s); {
	case who.IsZero():
	case who == c.self:
		c.takeUp(s)
	case who != s.asking:
		s.asking = who
		if s.latest.node == c.self && s.latest.state == given {
			c.say(who, s.released())
			return
		}
		c.say(who, protocol.WhereIs{Shards: []string{s.name}})
	}
}

// holder is the node that has a shard, or should have it.
func (c *Core) holder(s *shard) member.ID {
	if !s.free() {
		return s.latest.node
	}
	return c.assigned(s)
}

// asked answers another node that has messages for a shard.
func (c *Core) asked(now time.Time, from member.ID, name string) {
	if !c.set.Exists(name) {
		return
	}
	s := c.shard(name)
	if s.settled() {
		c.say(from, s.housed())
		return
	}
	s.audience.add(from)
	switch {
	case !s.lock.IsZero():
	case c.assigned(s) == c.self && s.free():
		c.takeUp(s)
	default:
		c.look(now) // one of the two has an old table
	}
}

// mistaken: the node that was asked does not have the shard, and should not.
func (c *Core) mistaken(now time.Time, from member.ID, name string) {
	if s, ok := c.shards[name]; ok && s.wanted && s.asking == from {
		s.asking = member.ID{}
		if s.latest.node == from && s.latest.state == held {
			s.latest.state = given
		}
		c.look(now)
	}
}

// learn takes in where another node has a shard.
func (c *Core) learn(now time.Time, from member.ID, l protocol.Leaving) {
	if !c.set.Exists(l.Shard) {
		return
	}
	s, h := c.shard(l.Shard), protocol.Home{Tenure: l.Tenure, Node: from}
	if l.Next.Less(s.forgotten) || h.Epoch.Less(s.latest.epoch) || h.Epoch == s.latest.epoch && s.latest.node != from {
		return // from before something that is known
	}
	s.hear(now, h)
	s.wanted, s.asking, s.handing, s.since = false, member.ID{}, handing{}, now
	c.order(protocol.ShardHomes{Header: c.link.head(), Homes: []protocol.Home{h}})
}

// offered: another node has given the lock of a shard back for this one to take,
// and may carry something over.
func (c *Core) offered(now time.Time, from member.ID, a protocol.Assignment) {
	if !c.set.Exists(a.Shard) {
		return
	}
	s := c.shard(a.Shard)
	t := tenure{epoch: a.Epoch, node: from, carries: a.Previous, state: given, heard: now}
	switch {
	case s.latest.epoch.Less(a.Epoch), s.latest.epoch == a.Epoch && s.latest.node == from:
		s.latest = t
		s.audience.add(from)
		c.takeUp(s)
		c.look(now) // it may know of a change that this node does not
		return
	case !s.rest.IsZero() && a.Epoch.N+1 == s.lock.N:
		s.rest = time.Time{}
		c.inherit(s, t)
		c.host(now, s)
	}
	c.asked(now, from, a.Shard)
}
