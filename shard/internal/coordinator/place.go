package coordinator

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A shard is what a reign knows of one shard besides its home in the State.
type shard struct {
	name     string
	epoch    protocol.Epoch // of the present or the last home; zero when none is known
	started  bool           // the home has confirmed that it hosts it
	ending   bool           // the home does not run it any longer, or not for long: it must move
	move     *move          // not nil while the home hands it over
	previous protocol.Home  // who may have something to carry over; zero for nobody
	audience nodes          // who must hear of the next home
	shuns    member.ID      // who should not get it again, if there is anybody else
	hostDue  time.Time      // when the home is told again to host it
	since    time.Time      // of the present state, for Why
}

// nodes is a sorted set.
type nodes []member.ID

func (n *nodes) add(id member.ID) {
	if i, ok := slices.BinarySearchFunc(*n, id, member.ID.Compare); !ok {
		*n = slices.Insert(*n, i, id)
	}
}

func (n *nodes) remove(id member.ID) {
	if i, ok := slices.BinarySearchFunc(*n, id, member.ID.Compare); ok {
		*n = slices.Delete(*n, i, i+1)
	}
}

// A doublet is a copy of what another node owns by a higher epoch, or of what is
// no shard at all.
type doublet struct {
	protocol.Home
	due time.Time
}

// home is where a shard lives by the State; ok is false when nowhere.
func (c *Core) home(s *shard) (h protocol.Home, ok bool) {
	id, ok := c.reign.state.Home(s.name)
	return protocol.Home{Tenure: protocol.Tenure{Shard: s.name, Epoch: s.epoch}, Node: id}, ok
}

// settled tells whether s has a home that can be told to those who ask.
func (c *Core) settled(s *shard) (protocol.Home, bool) {
	h, ok := c.home(s)
	return h, ok && s.started && !s.ending && s.move == nil && c.lives(h.Node)
}

// asked answers where a shard lives, or notes who wants to know and sees to it
// that it gets a home.
func (c *Core) asked(now time.Time, from member.ID, name string) {
	if !c.set.Exists(name) {
		return
	}
	s := c.reign.shard(name)
	if h, ok := c.settled(s); ok {
		c.say(from, protocol.ShardHomes{Header: c.reign.head(), Homes: []protocol.Home{h}})
		return
	}
	s.audience.add(from)
	c.want(now, s)
}

// want has a shard placed if it has no home.
func (c *Core) want(now time.Time, s *shard) {
	if _, ok := c.home(s); ok {
		return
	}
	if _, ok := c.reign.wanted[s.name]; !ok {
		c.reign.wanted[s.name], s.since = struct{}{}, now
	}
	c.place(now, s, c.candidates())
}

// wantAlways wants all shards that need not be asked for and are nowhere.
func (c *Core) wantAlways(now time.Time) {
	for _, name := range c.set.Always {
		s := c.reign.shard(name)
		_, wanted := c.reign.wanted[name]
		if _, ok := c.home(s); !ok && !wanted {
			c.reign.wanted[name], s.since = struct{}{}, now
		}
	}
}

// placeAll gives homes to all that were asked for, need not be, or lost theirs.
func (c *Core) placeAll(now time.Time) {
	r := c.reign
	c.wantAlways(now)
	homeless := slices.Sorted(maps.Keys(r.wanted))
	homeless = append(homeless, r.state.Orphans()...)
	for _, name := range homeless {
		c.place(now, r.shard(name), c.candidates())
	}
}

// place gives a homeless shard to a region. Before the survey is over only those
// may be given that this reign has seen hosted: nobody else can have them.
func (c *Core) place(now time.Time, s *shard, candidates []placement.Region) {
	r := c.reign
	_, allocated := c.home(s)
	if allocated || !r.surveyed && s.epoch.IsZero() || len(candidates) == 0 {
		return
	}
	if others := without(candidates, s.shuns); len(others) > 0 {
		candidates = others
	}
	state := c.placementState(candidates)
	id, ok := c.strategy(state).Allocate(state, s.name)
	if !ok || !slices.ContainsFunc(candidates, func(r placement.Region) bool { return r.ID == id }) {
		return
	}
	s.epoch = r.epoch()
	s.started, s.ending, s.hostDue, s.since, s.shuns = false, false, now, now, member.ID{}
	r.unmeasure(s.name)
	delete(r.wanted, s.name)
	r.apply(ShardAllocated{Shard: s.name, Region: id})
	c.hostAgain(now, s)
}

func without(regions []placement.Region, id member.ID) []placement.Region {
	return slices.DeleteFunc(slices.Clone(regions), func(r placement.Region) bool { return r.ID == id })
}

// candidates are the regions that may get a shard (SHD-10).
func (c *Core) candidates() []placement.Region {
	return slices.DeleteFunc(c.reign.state.Regions(), func(r placement.Region) bool { return c.unfit(r.ID) != "" })
}

// unfit tells why a node gets no shard, or nothing when it may get one: it is
// Up, reachable, registered, of the same settings and not leaving.
func (c *Core) unfit(id member.ID) string {
	m, in := c.view.Member(id)
	p := c.reign.parties[id]
	switch {
	case !in:
		return "is no member"
	case !m.HasRole(c.set.Role):
		return "has not the role " + strconv.Quote(c.set.Role)
	case m.Status != member.Up:
		return "is " + m.Status.String()
	case !c.view.Reachable(id):
		return "cannot be reached"
	case p == nil, !p.answered && !p.absent:
		return "has not registered yet"
	case p.absent:
		return "has not joined the type"
	case p.proxy:
		return "only routes"
	case p.leaving:
		return "is giving away its shards"
	case p.disagrees:
		return "declares the type differently"
	}
	return ""
}

func (c *Core) placementState(regions []placement.Region) placement.State {
	return placement.State{
		Regions: regions, Members: c.view.Members,
		Unreachable: c.view.Unreachable, DataCenter: c.view.DataCenter,
		Homes: c.reign.homes, Loads: c.reign.loads,
	}
}

// hostAgain tells the new home of a shard to host it, until it confirms.
func (c *Core) hostAgain(now time.Time, s *shard) {
	h, ok := c.home(s)
	if !ok || s.started || now.Before(s.hostDue) {
		return
	}
	s.hostDue = now.Add(c.set.ShardStartTimeout)
	c.say(h.Node, protocol.HostShards{
		Header: c.reign.head(),
		Shards: []protocol.Assignment{{Tenure: h.Tenure, Previous: s.previous.Node}},
	})
}

func (c *Core) started(now time.Time, from member.ID, t protocol.Tenure) {
	s, ok := c.reign.shards[t.Shard]
	if !ok {
		return
	}
	h, ok := c.home(s)
	if !ok || h != (protocol.Home{Tenure: t, Node: from}) || s.started {
		return
	}
	s.started, s.since = true, now
	c.tell(Placed{Home: h})
	c.publish(s)
	c.evict(now, s)
}

// publish tells the home of a settled shard at once to all who wait for it.
func (c *Core) publish(s *shard) {
	h, ok := c.settled(s)
	if !ok {
		return
	}
	for _, id := range s.audience {
		c.say(id, protocol.ShardHomes{Header: c.reign.head(), Homes: []protocol.Home{h}})
	}
	s.audience = nil
}

// found takes in a shard that a region reports to host: it stays there with its
// epoch, unless another has it by a higher one. What is no shard here is stopped.
func (c *Core) found(now time.Time, from member.ID, hosted protocol.Hosted) {
	r := c.reign
	here := protocol.Home{Tenure: hosted.Tenure, Node: from}
	if !c.set.Exists(hosted.Shard) {
		c.stop(now, here)
		return
	}
	s := r.shard(hosted.Shard)
	if other, ok := c.home(s); ok {
		if other.Node == from {
			return // said twice
		}
		if !other.Epoch.Less(here.Epoch) {
			c.stopCopy(now, other, here)
			return
		}
		c.stopCopy(now, here, other)
		r.apply(ShardDeallocated{s.name})
	}
	delete(r.wanted, s.name)
	r.apply(ShardAllocated{Shard: s.name, Region: from})
	s.epoch, s.started, s.ending, s.move, s.since = here.Epoch, true, hosted.Draining, nil, now
	c.publish(s)
	c.evict(now, s)
}

// released takes in a shard that has ended at a region which still has something
// to carry over: to the home that it has or will get.
func (c *Core) released(now time.Time, from member.ID, t protocol.Tenure) {
	if !c.set.Exists(t.Shard) {
		return
	}
	s := c.reign.shard(t.Shard)
	if s.previous.Epoch.Less(t.Epoch) && !t.Epoch.Less(s.epoch) {
		s.previous = protocol.Home{Tenure: t, Node: from}
	}
	s.audience.add(from)
	c.publish(s)
	c.want(now, s)
}

// stopCopy has one of two owners stopped.
func (c *Core) stopCopy(now time.Time, stays, stops protocol.Home) {
	c.tell(DoubleHosted{Stays: stays, Stops: stops})
	c.stop(now, stops)
}

// stop has a tenure ended that must not be, until its end is confirmed.
func (c *Core) stop(now time.Time, h protocol.Home) {
	c.reign.copies = append(c.reign.copies, doublet{Home: h, due: now})
	c.stopAgain(now)
}

func (c *Core) stopAgain(now time.Time) {
	for i := range c.reign.copies {
		d := &c.reign.copies[i]
		if !now.Before(d.due) {
			d.due = now.Add(c.set.Retry)
			c.say(d.Node, protocol.StopShards{Header: c.reign.head(), Shards: []protocol.Tenure{d.Tenure}})
		}
	}
}
