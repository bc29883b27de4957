package region

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A tenancy is a shard that is hosted here.
type tenancy struct {
	epoch protocol.Epoch
	stage stage
	since time.Time // of the stage

	await      member.ID // the previous host, until it has carried all over; zero when open
	awaitUntil time.Time

	next   protocol.Epoch // the newest hand-over that anybody spoke of
	marks  []member.ID    // whose markers for it have come
	expect []member.ID    // whose markers must still come
	until  time.Time      // how long they are waited for
}

type stage uint8

const (
	hosting  stage = iota
	marking        // told to hand off; waits for the markers of those that sent messages here
	draining       // entities end gracefully; nothing undoes this
	killed         // entities end at once
)

func (t *tenancy) waits() bool {
	return t != nil && (!t.await.IsZero() || t.stage == marking)
}

// Hosted lists what is hosted here, sorted by shard.
func (c *Core) Hosted() []protocol.Hosted {
	var hosted []protocol.Hosted
	for _, s := range c.sorted() {
		if t := s.tenancy; t != nil {
			hosted = append(hosted, protocol.Hosted{Tenure: s.at(t.epoch), Draining: t.stage >= draining})
		}
	}
	return hosted
}

// host begins a tenure, unless this node is on its way out.
func (c *Core) host(now time.Time, a protocol.Assignment) {
	s := c.shard(a.Shard)
	switch self, _ := c.view.SelfMember(); {
	case s.tenancy != nil && s.tenancy.epoch == a.Epoch:
		c.say(c.link.obeyed, protocol.ShardsStarted{Shards: []protocol.Tenure{a.Tenure}})
		return
	case s.tenancy != nil:
		return // its end must come first
	case !s.ended.Less(a.Epoch), a.Epoch.Less(s.known), c.leaving, c.spared, !self.HasRole(c.set.Role), !c.set.Exists(a.Shard):
		if c.leaving || c.spared {
			c.say(c.link.obeyed, protocol.GracefulShutdown{})
		}
		c.refuseLow()
		c.deny(a.Tenure)
		return
	}
	t := &tenancy{epoch: a.Epoch, since: now}
	if a.Previous != c.self && c.lives(a.Previous) {
		t.await, t.awaitUntil = a.Previous, now.Add(c.set.CarryTimeout)
	}
	s.tenancy = t
	s.hear(a.Epoch)
	s.home, s.sent = c.self, protocol.Home{Tenure: a.Tenure, Node: c.self}
	s.flushing = s.flushing || s.wanted || s.owed
	s.wanted, s.owed = false, false
	c.do(Host{Shard: s.name, Epoch: a.Epoch, Await: t.await})
	c.say(c.link.obeyed, protocol.ShardsStarted{Shards: []protocol.Tenure{a.Tenure}})
}

func (c *Core) carryDone(now time.Time, in CarryDone) {
	s := c.shard(in.Shard)
	if t := s.tenancy; t != nil && t.epoch == in.Epoch && t.await == in.From {
		c.open(now, s)
	}
}

func (c *Core) open(now time.Time, s *shard) {
	if s.tenancy.await.IsZero() {
		return
	}
	s.tenancy.await = member.ID{}
	c.do(Open{Shard: s.name, Epoch: s.tenancy.epoch})
	c.drainIfReady(now, s)
}

// handOff is the second step of a hand-over, at the host.
func (c *Core) handOff(now time.Time, l protocol.Leaving, from []member.ID) {
	s := c.shard(l.Shard)
	t := s.tenancy
	switch {
	case t == nil, t.epoch != l.Epoch:
		c.deny(l.Tenure)
		return
	case t.stage != hosting:
		return
	}
	t.follow(l.Next)
	t.stage, t.since, t.until = marking, now, now.Add(c.set.MarkTimeout)
	t.expect = slices.DeleteFunc(slices.Clone(from), func(id member.ID) bool {
		return slices.Contains(t.marks, id) || !c.lives(id)
	})
	c.drainIfReady(now, s)
}

// follow turns to a newer hand-over: markers of an abandoned one say nothing.
func (t *tenancy) follow(next protocol.Epoch) {
	if t.next.Less(next) {
		t.next, t.marks = next, nil
	}
}

func (c *Core) markedBy(now time.Time, in Marked) {
	s := c.shard(in.Shard)
	t := s.tenancy
	if t == nil {
		return
	}
	t.follow(in.Epoch)
	if t.next != in.Epoch || slices.Contains(t.marks, in.From) {
		return
	}
	t.marks = append(t.marks, in.From)
	t.expect = slices.DeleteFunc(t.expect, func(id member.ID) bool { return id == in.From })
	c.drainIfReady(now, s)
}

// drainIfReady stops the entities once all that was sent to them is here.
func (c *Core) drainIfReady(now time.Time, s *shard) {
	if t := s.tenancy; t.stage == marking && len(t.expect) == 0 && t.await.IsZero() {
		c.drain(now, s)
	}
}

func (c *Core) drain(now time.Time, s *shard) {
	c.leaveHere(now, s)
	s.tenancy.stage, s.tenancy.since = draining, now
	s.tenancy.until = now.Add(c.set.HandOffTimeout)
	c.do(Drain{Shard: s.name, Epoch: s.tenancy.epoch, Deadline: s.tenancy.until})
}

// leaveHere makes this node's own messages for a shard wait for its next home.
func (c *Core) leaveHere(now time.Time, s *shard) {
	if s.home == c.self {
		c.unroute(now, s, member.ID{}, protocol.Epoch{})
	}
}

// stop ends a copy of what another node owns by a higher epoch.
func (c *Core) stop(now time.Time, tenure protocol.Tenure) {
	s := c.shard(tenure.Shard)
	switch t := s.tenancy; {
	case t == nil, t.epoch != tenure.Epoch:
		c.deny(tenure)
	case t.stage != killed:
		c.kill(now, s)
	}
}

// kill ends a tenure that is not this node's any more.
func (c *Core) kill(now time.Time, s *shard) {
	c.leaveHere(now, s)
	t := s.tenancy
	t.stage, t.since, t.await = killed, now, member.ID{}
	c.do(Kill{Shard: s.name})
}

func (c *Core) drained(now time.Time, in Drained) {
	s := c.shard(in.Shard)
	if t := s.tenancy; t == nil || t.epoch != in.Epoch || t.stage < draining {
		return
	}
	s.tenancy = nil
	s.ended, s.owed = later(s.ended, in.Epoch), true
	s.stopDue, s.since = now, now
	if !s.home.IsZero() { // a copy was stopped whose true home is known
		s.flushing = true
		c.do(Route{Shard: s.name, Home: s.home, Epoch: s.sent.Epoch, Mark: true})
	}
	c.tellStopped(now, s)
}

func (c *Core) tellStopped(now time.Time, s *shard) {
	if s.owed && s.home.IsZero() && c.Registered() && !now.Before(s.stopDue) {
		s.stopDue = now.Add(c.set.Retry)
		c.say(c.link.obeyed, protocol.ShardsStopped{Shards: []protocol.Tenure{s.at(s.ended)}})
	}
}

// outwait ends the waits of a hosted shard whose time is up.
func (c *Core) outwait(now time.Time, s *shard) {
	t := s.tenancy
	if t == nil {
		return
	}
	if t.stage == marking && len(t.expect) > 0 && !now.Before(t.until) {
		c.tell(MarkersMissing{Shard: s.name, From: t.expect})
		t.expect = nil
		c.drainIfReady(now, s)
	}
	if !t.await.IsZero() && !now.Before(t.awaitUntil) {
		c.tell(CarryMissing{Shard: s.name, From: t.await})
		c.open(now, s)
	}
}

// outlive ends the waits of a hosted shard for nodes that crashed.
func (c *Core) outlive(now time.Time, s *shard, dead []member.ID) {
	t := s.tenancy
	t.expect = slices.DeleteFunc(t.expect, func(id member.ID) bool { return slices.Contains(dead, id) })
	if slices.Contains(dead, t.await) {
		c.open(now, s)
	}
	c.drainIfReady(now, s)
}

func (c *Core) leave(now time.Time) {
	if !c.leaving {
		c.leaving, c.leftAt = true, now
	}
}

// giveAway is what a leaving node does until it is clear: it asks to be relieved
// of its shards, or ends them itself where there is nobody to take them.
func (c *Core) giveAway(now time.Time) {
	if !c.alone(now) {
		c.askRelief(now)
		return
	}
	for _, s := range c.sorted() {
		if t := s.tenancy; t != nil && t.stage < draining {
			t.stage, t.expect = marking, nil // nobody is asked for a marker
			c.open(now, s)
			c.drainIfReady(now, s)
		}
	}
}

// alone tells whether no other member could host now or soon what is here.
func (c *Core) alone(now time.Time) bool {
	patient := c.patience.IsZero() || now.Before(c.patience)
	if c.view == nil || c.link.disagrees || c.uncoordinated(now) {
		return true
	}
	return !slices.ContainsFunc(c.view.Members, func(m member.Member) bool {
		takes := m.Status == member.Joining || m.Status == member.WeaklyUp || m.Status == member.Up
		return takes && m.ID != c.self && m.DataCenter == c.view.DataCenter && m.HasRole(c.set.Role) && (patient || c.view.Reachable(m.ID))
	})
}
