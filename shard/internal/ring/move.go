package ring

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A move is a hand-over by this node. Everybody must have forgotten the shard
// before the region is told to stop it.
type move struct {
	next     protocol.Epoch // names this attempt
	to       member.ID
	waiting  nodes     // whose acknowledgement is missing
	marked   nodes     // whose markers the region must wait for
	stopping bool      // the region was told
	due      time.Time // when what is unanswered is said again
	deadline time.Time // of the stage
	slow     bool      // was reported as slow
}

// attemptBits of the N of a hand-over's name are for the attempts of one tenure: so
// many cannot be made, with a wait of AckTimeout each, and no shard is ever locked
// so often that the rest does not suffice.
const attemptBits = 20

// attempt names the newest hand-over of the present tenure: above all before it.
func (s *shard) attempt() protocol.Epoch {
	return protocol.Epoch{Term: s.lock.Term, N: s.lock.N<<attemptBits | s.attempts}
}

// release gives a shard away because an operator wants it.
func (c *Core) release(now time.Time, in Release) {
	if s, ok := c.shards[in.Shard]; ok && s.settled() && (in.To.IsZero() || c.takes(in.To)) {
		s.wished, s.wish = true, in.To
		c.begin(now, s)
	}
}

// misplaced tells whether a shard that is here should be somewhere else. Whoever
// gave it here may have read a newer table, so only one that knows of this lock
// counts: otherwise the two would give it to each other in turn.
func (c *Core) misplaced(s *shard) bool {
	to := c.heir(s)
	return s.wished || !to.IsZero() && to != c.self && (c.leaving || s.got.Before(c.table.asked))
}

// heir is the node that should have a shard next.
func (c *Core) heir(s *shard) member.ID {
	if !s.wish.IsZero() {
		return s.wish
	}
	return c.assigned(s)
}

// giveAway begins the hand-overs of all that should be somewhere else, some at a
// time.
func (c *Core) giveAway(now time.Time) {
	for _, s := range c.sorted {
		c.begin(now, s)
	}
}

// begin starts to hand a shard over, if there is anybody to get it.
func (c *Core) begin(now time.Time, s *shard) {
	if !s.settled() || !c.misplaced(s) || now.Before(s.patient) || !c.takes(c.heir(s)) {
		return
	}
	if !c.leaving && c.moving >= c.set.Moves {
		return
	}
	s.since = now
	s.attempts++
	c.moving++
	s.move = &move{
		next: s.attempt(), to: c.heir(s), waiting: c.others(),
		due: now.Add(c.set.Retry), deadline: now.Add(c.set.AckTimeout),
	}
	c.tell(Moving{Home: c.here(s), To: s.move.to})
	for _, id := range s.move.waiting {
		c.announce(s, id)
	}
}

// takes tells whether a node can be given a shard now.
func (c *Core) takes(id member.ID) bool {
	m, ok := c.view.Member(id)
	return ok && m.Status == member.Up && c.view.Reachable(id) && slices.ContainsFunc(c.table.seats, func(s taken) bool {
		return s.Node == id && !s.Leaving
	})
}

func (c *Core) endMove(s *shard) {
	if s.move != nil {
		s.move = nil
		c.moving--
	}
}

func (c *Core) announce(s *shard, to member.ID) {
	if to == c.self {
		c.order(protocol.BeginHandOff{
			Header: c.link.head(),
			Moves:  []protocol.Move{{Tenure: s.at(s.lock), Host: c.self, Next: s.move.next}},
		})
		return
	}
	c.say(to, protocol.Handing{Moves: []protocol.Leaving{{Tenure: s.at(s.lock), Next: s.move.next}}})
}

// A handing is a hand-over by another node that the region is to acknowledge.
type handing struct {
	from member.ID
	next protocol.Epoch
}

// relay has the region forget a shard that another node is about to give away.
func (c *Core) relay(now time.Time, from member.ID, l protocol.Leaving) {
	if !c.set.Exists(l.Shard) {
		return
	}
	s := c.shard(l.Shard)
	if l.Epoch.Less(s.latest.epoch) {
		return // overtaken: another had it since
	}
	s.hear(now, protocol.Home{Tenure: l.Tenure, Node: from})
	s.handing, s.forgotten = handing{from: from, next: l.Next}, later(s.forgotten, l.Next)
	c.order(protocol.BeginHandOff{
		Header: c.link.head(),
		Moves:  []protocol.Move{{Tenure: l.Tenure, Host: from, Next: l.Next}},
	})
}

// forgot takes in the region's acknowledgement, for this node or another.
func (c *Core) forgot(now time.Time, a protocol.Ack) {
	s, ok := c.shards[a.Shard]
	switch {
	case !ok:
	case s.handing.next == a.Next:
		c.say(s.handing.from, protocol.Handed{Acks: []protocol.Ack{a}})
	default:
		c.acked(now, c.self, a)
	}
}

func (c *Core) acked(now time.Time, from member.ID, a protocol.Ack) {
	s, ok := c.shards[a.Shard]
	if !ok || s.move == nil || s.move.next != a.Next || s.move.stopping {
		return
	}
	if a.Marked {
		s.move.marked.add(from)
	}
	if s.move.waiting.remove(from); len(s.move.waiting) == 0 {
		c.handOff(now, s)
	}
}

// notWaitedFor takes a node out of all hand-overs.
func (c *Core) notWaitedFor(now time.Time, id member.ID) {
	for _, s := range c.sorted {
		s.audience.remove(id)
		if m := s.move; m != nil && m.waiting.remove(id) && len(m.waiting) == 0 && !m.stopping {
			c.handOff(now, s)
		}
	}
}

// handOff tells the region to stop a shard, now that nobody sends to it.
func (c *Core) handOff(now time.Time, s *shard) {
	s.since = now
	s.move.stopping, s.move.deadline = true, now.Add(c.set.HandOffTimeout)
	c.sayHandOff(now, s)
}

func (c *Core) sayHandOff(now time.Time, s *shard) {
	s.move.due = now.Add(c.set.Retry)
	c.order(protocol.HandOff{
		Header: c.link.head(), From: slices.Clone(s.move.marked),
		Moves: []protocol.Leaving{{Tenure: s.at(s.lock), Next: s.move.next}},
	})
}

// moveOn repeats what a hand-over waits for, and ends its first stage in time.
func (c *Core) moveOn(now time.Time, s *shard) {
	m := s.move
	if m == nil {
		return
	}
	late := !now.Before(m.deadline)
	switch {
	case !m.stopping && late:
		c.withoutTheSilent(now, s)
		return
	case late && !m.slow:
		m.slow = true
		c.tell(Slow{Home: c.here(s), Since: s.since})
	}
	switch {
	case now.Before(m.due):
	case m.stopping:
		c.sayHandOff(now, s)
	default:
		m.due = now.Add(c.set.Retry)
		for _, id := range m.waiting {
			c.announce(s, id)
		}
	}
}

// withoutTheSilent ends the wait for acknowledgements. A shard that could stay
// stays, and all who forgot it hear that it does; one of a node that leaves moves
// all the same.
func (c *Core) withoutTheSilent(now time.Time, s *shard) {
	silent := slices.Clone(s.move.waiting)
	if c.leaving {
		c.tell(GoneAhead{Home: c.here(s), Silent: silent})
		c.handOff(now, s)
		return
	}
	c.endMove(s)
	s.since, s.patient = now, now.Add(c.set.AckTimeout)
	s.wished, s.wish = false, member.ID{}
	c.tell(Kept{Home: c.here(s), Silent: silent})
	s.audience = c.others()
	c.publish(s)
	c.order(protocol.ShardHomes{Header: c.link.head(), Homes: []protocol.Home{c.here(s)}})
}

// giveUnused gives back a lock that the region was not told of.
func (c *Core) giveUnused(s *shard) {
	if !s.lock.IsZero() && s.told.IsZero() {
		c.giveBack(s)
	}
}

// bequeath offers a shard whose lock is free again to its next owner.
func (c *Core) bequeath(s *shard) {
	to := c.heir(s)
	s.wished, s.wish, s.asking, s.audience = false, member.ID{}, member.ID{}, nil
	c.tell(Gave{Home: protocol.Home{Tenure: s.at(s.latest.epoch), Node: c.self}, To: to})
	if to == c.self {
		c.takeUp(s)
		return
	}
	s.asking = to
	c.say(to, s.released())
}

// released says of the newest tenure, which was this node's, that it is over.
func (s *shard) released() protocol.Released {
	return protocol.Released{Shards: []protocol.Assignment{{Tenure: s.at(s.latest.epoch), Previous: s.latest.carries}}}
}
