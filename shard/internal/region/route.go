package region

import (
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// Home is where this node sends a shard's messages; ok is false while they wait.
func (c *Core) Home(name string) (home member.ID, ok bool) {
	s, ok := c.shards[name]
	if !ok || s.home.IsZero() {
		return member.ID{}, false
	}
	return s.home, true
}

// want notes that messages wait for a home. A home that was learnt while the
// input was on its way is said again.
func (c *Core) want(now time.Time, s *shard) {
	switch {
	case s.home.IsZero() && c.link.disagrees:
		return // nobody will name one
	case s.home.IsZero():
		if !s.wanted {
			s.since = now
		}
		s.wanted, s.askDue = true, now
		c.ask(now, s)
	case s.home == c.self && s.tenancy != nil && !s.tenancy.await.IsZero():
		s.flushing = true // held until the previous host has carried all over
	default:
		s.flushing = true
		c.do(Route{Shard: s.name, Home: s.home, Epoch: s.sent.Epoch, Mark: s.owed})
	}
}

func (c *Core) ask(now time.Time, s *shard) {
	if s.wanted && c.Registered() && !now.Before(s.askDue) {
		s.askDue = now.Add(c.set.Retry)
		c.say(c.link.obeyed, protocol.GetShardHomes{Shards: []string{s.name}})
	}
}

// learn takes in where a shard lives.
func (c *Core) learn(now time.Time, h protocol.Home) {
	s := c.shard(h.Shard)
	switch {
	case h.Epoch.Less(s.known):
		return // from before something that is known
	case h.Node == c.self && (s.tenancy == nil || s.tenancy.epoch != h.Epoch || s.tenancy.stage >= draining):
		c.deny(h.Tenure)
		return
	case h.Node != c.self && !c.lives(h.Node):
		s.askDue = now.Add(c.set.Retry / 8) // our view is behind, or the coordinator's
		return
	}
	s.hear(h.Epoch)
	s.next = nil // over, or given up
	if s.home == h.Node && s.sent.Epoch == h.Epoch {
		return
	}
	s.home, s.sent = h.Node, h
	s.flushing = s.flushing || s.wanted || s.owed
	s.wanted = false
	c.do(Route{Shard: s.name, Home: h.Node, Epoch: h.Epoch, Mark: s.owed})
}

// deny tells the coordinator that a tenure which it believes in is not here, and
// never will be. In a ring the next owner follows one that it takes for real, and waits
// for what it has to carry over: so it must be told, behind what waits here, that
// this was all.
func (c *Core) deny(t protocol.Tenure) {
	s := c.shard(t.Shard)
	if s.tenancy != nil && s.tenancy.epoch == t.Epoch {
		return
	}
	s.ended = later(s.ended, t.Epoch)
	s.owed = s.owed || c.set.Own && s.tenancy == nil && s.home.IsZero()
	c.say(c.link.obeyed, protocol.ShardsStopped{Shards: []protocol.Tenure{t}})
}

// begin is the first step of a hand-over: nothing more goes to the host, and a
// marker follows the last that went. A region that never sent there has none.
//
// A host that waits for what this region carries over must get it before it is
// relieved: it would go to the next host otherwise, which does not wait for it
// from here, and come there behind what is newer. So the acknowledgement waits, as
// long as the coordinator waits for that.
func (c *Core) begin(now time.Time, m protocol.Move) {
	s := c.shard(m.Shard)
	if s.owed && m.Host != c.self {
		c.learn(now, protocol.Home{Tenure: m.Tenure, Node: m.Host})
		if s.sent == (protocol.Home{Tenure: m.Tenure, Node: m.Host}) && !s.home.IsZero() {
			s.next = &m
			return
		}
	}
	if s.move.Less(m.Next) {
		s.move, s.marked = m.Next, s.sent == protocol.Home{Tenure: m.Tenure, Node: m.Host}
		s.hear(m.Epoch)
		switch {
		case s.marked:
			c.unroute(now, s, m.Host, m.Next)
		case s.sent.Epoch.Less(m.Epoch):
			c.unroute(now, s, member.ID{}, protocol.Epoch{})
		}
	}
	if s.move == m.Next {
		c.say(c.link.obeyed, protocol.BeginHandOffAck{Acks: []protocol.Ack{{Shard: s.name, Next: m.Next, Marked: s.marked}}})
	}
}

// unroute stops sending. What had not gone out yet waits for the next home.
func (c *Core) unroute(now time.Time, s *shard, markTo member.ID, next protocol.Epoch) {
	if s.home.IsZero() && markTo.IsZero() {
		return
	}
	s.home = member.ID{}
	if s.flushing {
		s.wanted, s.flushing, s.askDue, s.since = !c.link.disagrees, false, now, now
	}
	c.do(Buffer{Shard: s.name, MarkTo: markTo, Epoch: next})
}

// forgetTheDead drops routes to all who were downed or removed, and waits for
// those who crashed.
func (c *Core) forgetTheDead(now time.Time, dead []member.ID) {
	for _, s := range c.sorted() {
		if !s.home.IsZero() && s.home != c.self && !c.lives(s.home) {
			c.unroute(now, s, member.ID{}, protocol.Epoch{})
		}
		if s.tenancy != nil {
			c.outlive(now, s, dead)
		}
	}
}

// staleAt is another region's word that our route to it leads nowhere.
func (c *Core) staleAt(now time.Time, from member.ID, m protocol.StaleRoute) {
	s, ok := c.shards[m.Shard]
	if ok && s.home == from && !m.Epoch.Less(s.sent.Epoch) {
		c.unroute(now, s, member.ID{}, protocol.Epoch{})
	}
}

// strayed handles a message that came here by a route which is not, or no more,
// or not yet known to be true.
func (c *Core) strayed(now time.Time, in StaleRoute) {
	s := c.shard(in.Shard)
	told := stray{Tenure: s.at(in.Epoch), from: in.From}
	again := s.stray.Tenure == told.Tenure && s.stray.from == told.from && now.Before(s.stray.at.Add(c.set.Retry/8))
	if in.From == c.self || again {
		return
	}
	told.at = now
	s.stray = told
	c.say(in.From, protocol.StaleRoute{Shard: in.Shard, Epoch: in.Epoch})
	// A route is told only after its host has confirmed to host, so what is not
	// hosted here by now has ended, and its coordinator does not know.
	if c.Registered() && !in.Epoch.Less(s.known) && s.ended.Less(in.Epoch) {
		c.deny(s.at(in.Epoch))
	}
}

func (c *Core) emptied(now time.Time, in Emptied) {
	s := c.shard(in.Shard)
	if s.home.IsZero() || s.sent.Epoch != in.Epoch {
		return // buffered again meanwhile, or routed elsewhere
	}
	s.flushing, s.owed = false, false
	if m := s.next; m != nil {
		s.next = nil
		c.begin(now, *m)
	}
}
