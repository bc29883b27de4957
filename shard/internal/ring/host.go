package ring

import (
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A link is this node's way to its own region, which obeys no other authority.
// What the two say to each other is never lost and never overtaken.
type link struct {
	term, seq uint64
}

func (l *link) head() protocol.Header {
	l.seq++
	return protocol.Header{Term: l.term, Seq: l.seq}
}

func (c *Core) order(m protocol.Order) { c.box.Add(c.self, m) }

// heard takes in what the region says.
func (c *Core) heard(now time.Time, word protocol.Word) {
	switch m := word.(type) {
	case protocol.Report:
		c.reported(m)
	case protocol.Refused:
		if m.Coordinator != c.self && m.Highest >= c.link.term {
			c.claim(m.Highest + 1)
		}
	case protocol.GetShardHomes:
		each(m.Shards, func(name string) { c.want(now, name) })
	case protocol.ShardsStarted:
		each(m.Shards, func(t protocol.Tenure) { c.started(now, t) })
	case protocol.BeginHandOffAck:
		each(m.Acks, func(a protocol.Ack) { c.forgot(now, a) })
	case protocol.ShardsStopped:
		each(m.Shards, func(t protocol.Tenure) { c.stopped(now, t) })
	case protocol.GracefulShutdown:
		c.leave(now)
	case protocol.Staying:
		c.stay(now)
	default: // what only a coordinator has to know
	}
}

// reported: the region waits for somebody to claim it, or has just been claimed.
// What it hosts is known: nobody else has ever told it to.
func (c *Core) reported(r protocol.Report) {
	if r.Coordinator != c.self || r.Term != c.link.term {
		c.claim(r.Term + 1)
		return
	}
	if m := c.table.misfit; m != nil {
		c.order(protocol.Mismatch{Header: c.link.head(), Agree: m.Agree})
		return
	}
	c.order(protocol.Registered{Header: c.link.head()})
}

// claim speaks to the region by a term at least so high. It drops what was on its
// way for the one before; the beat says that again.
func (c *Core) claim(term uint64) {
	c.link.term = max(c.link.term, term)
	c.order(protocol.Claim{Header: c.link.head()})
}

// locked begins a tenure of this node.
func (c *Core) locked(now time.Time, s *shard, epoch protocol.Epoch) {
	if epoch == s.lock {
		return // had before
	}
	c.void(now, s)
	before := s.latest
	s.lock, s.got, s.since, s.attempts = epoch, now, now, 0
	known := c.inherit(s, before)
	if !s.spent.Less(epoch) || c.leaving {
		c.giveBack(s)
		return
	}
	s.latest = tenure{epoch: epoch, node: c.self, carries: c.self, token: c.seat.token, heard: now}
	if !known && len(c.table.seats) > 1 {
		s.rest = now.Add(c.finest())
	}
	c.host(now, s)
}

// inherit notes who carries over to the lock that this node has, from the tenure
// before. Not known tells that somebody may yet say that it is another.
func (c *Core) inherit(s *shard, before tenure) (known bool) {
	s.heirOf, known = before.carrier(s.lock)
	s.carrier = s.heirOf
	if !known {
		s.carrier = c.self // who hears of that waits for a marker, as of any tenure
	}
	if before.state == lost || before.carries != before.node {
		s.audience = c.others() // they may still send to a node of long ago, which may live and do so itself
	}
	return known
}

// carrier is the node that carries over to the tenure after t, if that has the
// epoch. It is known for sure when that node has said so, or can carry nothing over;
// a table does not tell whether anything was hosted.
func (t tenure) carrier(epoch protocol.Epoch) (node member.ID, known bool) {
	switch {
	case epoch.N == 1:
		return member.ID{}, true // the first ever
	case t.epoch.N+1 != epoch.N:
		return member.ID{}, false
	case t.state == lost:
		return member.ID{}, true
	}
	return t.carries, !t.heard.IsZero()
}

// host tells the region to host what this node has the lock of, once what it had
// before is over.
func (c *Core) host(now time.Time, s *shard) {
	_, giving := c.desk.giving[s.name]
	switch {
	case s.lock.IsZero() || giving || now.Before(s.rest):
		return
	case s.told.IsZero():
		s.told, s.newest, s.started, s.rest = s.lock, s.lock, false, time.Time{}
	case s.told != s.lock || s.started || now.Before(s.due):
		return
	}
	s.due = now.Add(c.set.Retry)
	c.order(protocol.HostShards{
		Header: c.link.head(),
		Shards: []protocol.Assignment{{Tenure: s.at(s.lock), Previous: s.heirOf}},
	})
}

// started: the region hosts it. All who may wait for it hear so: those who have
// asked, and everybody if the one before had told them to wait.
func (c *Core) started(now time.Time, t protocol.Tenure) {
	s, ok := c.shards[t.Shard]
	if !ok || s.told != t.Epoch || s.lock != t.Epoch || s.started {
		return
	}
	s.started, s.carrier, s.wanted, s.asking, s.since = true, c.self, false, member.ID{}, now
	c.tell(Hosting{Home: c.here(s), Previous: s.heirOf})
	if !s.heirOf.IsZero() {
		s.audience = c.others()
	}
	c.publish(s)
	c.begin(now, s)
}

// publish tells those who wait that the shard is here.
func (c *Core) publish(s *shard) {
	for _, id := range s.audience {
		if id != c.self {
			c.say(id, s.housed())
		}
	}
	s.audience = nil
}

func (s *shard) housed() protocol.Housed {
	return protocol.Housed{Shards: []protocol.Leaving{{Tenure: s.at(s.lock), Next: s.attempt()}}}
}

// stopAgain has the region end what hangs on no lock, until it confirms.
func (c *Core) stopAgain(now time.Time, s *shard) {
	if s.told.IsZero() || s.told == s.lock || now.Before(s.due) {
		return
	}
	s.due = now.Add(c.set.Retry)
	c.order(protocol.StopShards{Header: c.link.head(), Shards: []protocol.Tenure{s.at(s.told)}})
}

// stopped: that tenure is over at the region, asked for or not, or never began.
// Its lock is of no use any more, and what was left over waits for the next home.
func (c *Core) stopped(now time.Time, t protocol.Tenure) {
	if !c.set.Exists(t.Shard) {
		return
	}
	s := c.shard(t.Shard)
	if s.told == t.Epoch && !s.told.IsZero() {
		s.told, s.started, s.since = protocol.Epoch{}, false, now
		if s.move != nil {
			s.wish = s.move.to
			c.endMove(s)
		}
		if s.lock == t.Epoch {
			c.giveBack(s)
		}
		c.host(now, s)
	}
	c.want(now, t.Shard)
}
