package coordinator

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A move is a hand-over in progress.
type move struct {
	*Worker
	next     protocol.Epoch // names this attempt
	marked   nodes          // whose markers the host must wait for
	due      time.Time      // when what is unanswered is said again
	deadline time.Time      // of the stage
	slow     bool           // was reported as slow
}

// begin starts to hand a shard over, if there is anybody to get it.
func (c *Core) begin(now time.Time, s *shard) {
	h, ok := c.home(s)
	if !ok || !s.started || s.move != nil || !c.lives(h.Node) || len(c.candidates()) == 0 {
		return
	}
	var regions nodes
	for _, m := range c.view.Members {
		if p := c.reign.parties[m.ID]; p != nil && !p.absent && c.lives(m.ID) {
			regions = append(regions, m.ID)
		}
	}
	s.since = now
	s.move = &move{
		Worker: NewWorker(h.Node, regions), next: c.reign.epoch(),
		due: now.Add(c.set.Retry), deadline: now.Add(c.set.AckTimeout),
	}
	c.tell(Moving{Home: h, Next: s.move.next})
	for _, id := range regions {
		s.audience.add(id)
		c.announce(s, id)
	}
}

// announce tells a region to forget a shard. One that has not reported yet is
// told when it does.
func (c *Core) announce(s *shard, to member.ID) {
	h, ok := c.home(s)
	if p := c.reign.parties[to]; ok && p != nil && p.answered {
		c.say(to, protocol.BeginHandOff{
			Header: c.reign.head(),
			Moves:  []protocol.Move{{Tenure: h.Tenure, Host: h.Node, Next: s.move.next}},
		})
	}
}

func (c *Core) acked(now time.Time, from member.ID, a protocol.Ack) {
	s, ok := c.reign.shards[a.Shard]
	if !ok || s.move == nil || s.move.next != a.Next || s.move.Stage() != Announcing {
		return
	}
	if a.Marked {
		s.move.marked.add(from)
	}
	if s.move.Acked(from) {
		c.handOff(now, s)
	}
}

// notWaitedFor takes a region out of a hand-over. That of the host itself goes
// on until it is terminated: it may still run the shard.
func (c *Core) notWaitedFor(now time.Time, s *shard, id member.ID) {
	if s.move == nil || !slices.Contains(s.move.Waiting(), id) {
		return
	}
	if s.move.Terminated(id) {
		c.handOff(now, s)
	}
}

func (c *Core) withoutTheDead(now time.Time, s *shard) {
	if s.move == nil {
		return
	}
	for _, id := range slices.Clone(s.move.Waiting()) {
		if !c.lives(id) {
			c.notWaitedFor(now, s, id)
		}
	}
}

// handOff tells the host to stop the shard, now that nobody sends to it.
func (c *Core) handOff(now time.Time, s *shard) {
	s.since = now
	s.move.deadline = now.Add(c.set.HandOffTimeout)
	c.sayHandOff(now, s)
}

func (c *Core) sayHandOff(now time.Time, s *shard) {
	h, _ := c.home(s)
	s.move.due = now.Add(c.set.Retry)
	c.say(h.Node, protocol.HandOff{
		Header: c.reign.head(), From: slices.Clone(s.move.marked),
		Moves: []protocol.Leaving{{Tenure: h.Tenure, Next: s.move.next}},
	})
}

// evict begins a hand-over if the host cannot keep the shard: it leaves, it
// disagrees on what a shard is, or it does not run the shard any more.
func (c *Core) evict(now time.Time, s *shard) {
	if c.evicted(s) {
		c.begin(now, s)
	}
}

func (c *Core) evicted(s *shard) bool {
	h, ok := c.home(s)
	if !ok {
		return false
	}
	p := c.reign.parties[h.Node]
	return s.ending || p != nil && (p.leaving || p.disagrees)
}

// moveOn begins what must be, repeats what a hand-over waits for, and ends its
// first stage in time.
func (c *Core) moveOn(now time.Time, s *shard) {
	m := s.move
	if m == nil {
		c.evict(now, s)
		return
	}
	late := !now.Before(m.deadline)
	switch {
	case m.Stage() == Announcing && late:
		c.withoutTheSilent(now, s)
	case m.Stage() == Stopping && late && !m.slow:
		h, _ := c.home(s)
		m.slow = true
		c.tell(Slow{Home: h, Since: s.since})
	}
	if s.move == nil || now.Before(m.due) {
		return
	}
	if m.Stage() == Stopping {
		c.sayHandOff(now, s)
		return
	}
	m.due = now.Add(c.set.Retry)
	for _, id := range m.Waiting() {
		c.announce(s, id)
	}
}

// withoutTheSilent ends the wait for acknowledgements. A shard that could stay
// stays; the regions that did acknowledge hear that it does. One whose host
// leaves, or has stopped it already, moves all the same.
func (c *Core) withoutTheSilent(now time.Time, s *shard) {
	h, _ := c.home(s)
	silent := slices.Clone(s.move.Waiting())
	if !c.evicted(s) {
		s.move.TimedOut()
		s.move, s.since = nil, now
		c.tell(Kept{Home: h, Silent: silent})
		c.publish(s)
		return
	}
	c.tell(GoneAhead{Home: h, Silent: silent})
	for _, id := range silent {
		c.notWaitedFor(now, s, id)
	}
}

// stopped takes in that a tenure is over at a region. If this coordinator did
// not ask for that, the shard is handed over as if it had.
func (c *Core) stopped(now time.Time, from member.ID, t protocol.Tenure) {
	r := c.reign
	there := protocol.Home{Tenure: t, Node: from}
	r.copies = slices.DeleteFunc(r.copies, func(d doublet) bool { return d.Home == there })
	if !c.set.Exists(t.Shard) {
		return
	}
	s := r.shard(t.Shard)
	h, ok := c.home(s)
	switch {
	case !ok || h != there:
		c.released(now, from, t)
	case !s.started: // refused: what is to be carried over is still at the home before
		r.apply(ShardDeallocated{s.name})
		c.place(now, s, c.candidates())
	case s.move == nil:
		s.ending = true
		c.begin(now, s)
	default:
		s.ending = true
		s.move.Stopped()
		if s.move.Stage() == Moved {
			c.moved(now, s, there)
		}
	}
}

// moved places a shard anew whose host has let it go. All who were told to
// forget it wait to hear where it is now.
func (c *Core) moved(now time.Time, s *shard, from protocol.Home) {
	s.move, s.previous, s.since = nil, from, now
	s.audience.add(from.Node)
	c.reign.apply(ShardDeallocated{s.name})
	c.place(now, s, c.candidates())
}

// relieve hands over all that a leaving region hosts, at once.
func (c *Core) relieve(now time.Time, id member.ID) {
	for _, name := range slices.Clone(c.reign.state.Shards(id)) {
		c.evict(now, c.reign.shard(name))
	}
}
