package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/margin"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A reign is all that a coordinator knows in one term. It starts empty: a new
// term asks everybody anew.
type reign struct {
	term  uint64
	n     uint64 // of the newest epoch drawn
	seq   uint64 // of the newest message
	since time.Time

	parties map[member.ID]*party
	state   *State
	shards  map[string]*shard
	wanted  map[string]struct{} // asked for, and in nobody's report yet
	copies  []doublet
	wishes  map[string]*wish
	homes   map[string]member.Address // of the wishes that are for an address
	loads   map[string]placement.Load // what was measured of shards at their homes

	surveyed    bool // everybody who can host has answered, once
	rebalanceAt time.Time
	unrest
}

// A party is a node that may have a region of the type.
type party struct {
	answered  bool // its report of this term is in
	absent    bool // it has not joined the type
	proxy     bool
	leaving   bool
	disagrees bool

	claimDue time.Time
	claimGap time.Duration
}

// crown begins a reign above all terms that were heard of. Terms are kept by
// those who obey them, so a coordinator that dies before anybody has heard it
// takes its term along; but its successor is younger, and the rank of age is a
// number that such a term cannot have reached. With a store, it must raise the
// term first: see raise.go.
func (c *Core) crown(now time.Time) {
	self, _ := c.view.SelfMember()
	c.heard = max(c.heard+1, uint64(self.UpNumber))
	c.claimAt, c.yields = time.Time{}, member.ID{}
	if c.set.Stored {
		c.raising.begin(c.heard, now.Add(c.set.RaiseWithin))
		return
	}
	c.begins(now, 0)
}

// begins is the first moment of a reign by the highest term. Its epochs count from
// n.
func (c *Core) begins(now time.Time, n uint64) {
	c.beatAt = now
	c.reign = &reign{
		term: c.heard, n: n, since: now,
		parties: map[member.ID]*party{},
		state:   NewState(true),
		shards:  map[string]*shard{},
		wanted:  map[string]struct{}{},
		wishes:  map[string]*wish{},
		homes:   map[string]member.Address{},
		loads:   map[string]placement.Load{},
	}
	if c.set.RebalanceEvery > 0 {
		c.reign.rebalanceAt = now.Add(c.set.RebalanceEvery)
	}
	c.tell(Reigning{Term: c.heard})
	c.meet(now)
}

// supersede ends a reign that some region does not obey, for another coordinator
// if that is known. The first time this node claims again at once; if two go on
// like that, after ever longer gaps, for the membership will soon know only one of
// them.
//
// A younger member reigns only when all older ones are on their way out, which
// nothing takes back, so this node will soon hear the same of itself. Until then,
// and that is not longer than the margin, it must not claim: nobody might ever
// hear of what it gives by the new term, and it would come to be below a
// successor's.
func (c *Core) supersede(now time.Time, by member.ID) {
	c.tell(Superseded{Term: c.reign.term, By: c.heard})
	c.reign, c.claimAt = nil, now.Add(c.gap)
	c.raising.stop()
	c.gap = min(max(2*c.gap, c.set.Retry/8), c.set.Retry)
	self, _ := c.view.SelfMember()
	if m, ok := c.view.Member(by); ok && self.CompareAge(m) < 0 {
		c.yields = by
		c.claimAt = now.Add(max(c.set.Margin(len(c.view.Members)), c.set.Retry))
	}
}

func (r *reign) head() protocol.Header {
	r.seq++
	return protocol.Header{Term: r.term, Seq: r.seq}
}

// epoch draws the next one; the order of drawing is the order of owners.
func (r *reign) epoch() protocol.Epoch {
	r.n++
	return protocol.Epoch{Term: r.term, N: r.n}
}

func (r *reign) shard(name string) *shard {
	s, ok := r.shards[name]
	if !ok {
		s = &shard{name: name}
		r.shards[name] = s
	}
	return s
}

func (r *reign) sorted() []*shard {
	shards := make([]*shard, 0, len(r.shards))
	for _, name := range slices.Sorted(maps.Keys(r.shards)) {
		shards = append(shards, r.shards[name])
	}
	return shards
}

// apply changes the allocation. An event that is refused is a mistake in this
// package, which must not be lived with.
func (r *reign) apply(e StateEvent) {
	if err := r.state.Apply(e); err != nil {
		panic(err)
	}
}

// meet takes in a new view: new members are asked for their report, and those
// that were downed or removed are not waited for.
func (c *Core) meet(now time.Time) {
	r := c.reign
	for _, m := range c.view.Members {
		if m.DataCenter != c.view.DataCenter || !c.lives(m.ID) {
			continue
		}
		p, ok := r.parties[m.ID]
		if !ok {
			p = &party{claimDue: now, claimGap: c.set.Retry / 8, absent: slices.Contains(c.retired, m.ID)}
			r.parties[m.ID] = p
		}
		p.leaving = p.leaving || m.Status == member.Leaving || m.Status == member.Exiting
	}
	for _, s := range r.sorted() {
		c.withoutTheDead(now, s)
	}
	c.notice(now)
	c.beatAt = now // claims are due, leaving nodes to be relieved, orphans to be placed
	c.survey(now)
}

// claimAgain asks those for their report who have not answered.
func (c *Core) claimAgain(now time.Time) {
	for _, m := range c.view.Members {
		p := c.reign.parties[m.ID]
		if p == nil || p.answered || p.absent || !c.lives(m.ID) || now.Before(p.claimDue) {
			continue
		}
		p.claimDue = now.Add(p.claimGap)
		p.claimGap = min(2*p.claimGap, c.set.Retry)
		c.say(m.ID, protocol.Claim{Header: c.reign.head()})
	}
}

// noPort hears that a node takes no part in the type.
func (c *Core) noPort(now time.Time, id member.ID) {
	if c.view == nil {
		return
	}
	if m, ok := c.view.Member(id); ok && (m.Status == member.Leaving || m.Status == member.Exiting) {
		c.retired.add(id)
	}
	if c.reign != nil {
		c.absent(now, id)
	}
}

// absent is a node's word that it takes no part in the type: it hosts nothing and
// sends nothing. One that did, and leaves, does not any more.
func (c *Core) absent(now time.Time, id member.ID) {
	p := c.reign.parties[id]
	if p == nil || p.answered && !p.leaving {
		return
	}
	p.absent = true
	for _, s := range c.reign.sorted() {
		c.notWaitedFor(now, s, id)
	}
	c.survey(now)
	c.placeAll(now)
}

func (c *Core) reported(now time.Time, from member.ID, m protocol.Report) {
	r := c.reign
	p := r.parties[from]
	switch {
	case p == nil:
		return // of another data center, or not in our view yet
	case m.Term > r.term, m.Term == r.term && m.Coordinator != c.self:
		c.supersede(now, m.Coordinator)
		return
	case m.Term < r.term:
		c.say(from, protocol.Claim{Header: r.head()})
		return
	}
	first := !p.answered
	p.answered, p.absent = true, false
	p.leaving = p.leaving || m.Leaving
	if first {
		c.register(now, from, p, m)
		c.preload(from, p)
	}
	c.welcome(from, p)
	if first {
		c.survey(now)
		c.placeAll(now)
	}
	if p.leaving {
		c.relieve(now, from)
	}
}

// register takes in a region's first report of the term. Later ones may be late
// copies; whatever has changed since is this coordinator's own doing.
func (c *Core) register(now time.Time, from member.ID, p *party, m protocol.Report) {
	r := c.reign
	p.proxy = m.Proxy
	for _, s := range r.sorted() { // what began before it was known
		if s.move != nil && slices.Contains(s.move.Waiting(), from) {
			c.announce(s, from)
		}
	}
	if p.disagrees = m.Agree != c.set.Agree; p.disagrees {
		c.tell(Disagrees{Region: from, Theirs: m.Agree, Ours: c.set.Agree})
	}
	if p.proxy {
		r.apply(ProxyRegistered{from})
	} else {
		r.apply(RegionRegistered{from})
		each(m.Hosted, func(h protocol.Hosted) { c.found(now, from, h) })
	}
	each(m.Released, func(t protocol.Tenure) { c.released(now, from, t) })
	c.learnWishes(now, from, m.Wishes)
}

// preload tells a region that joins a settled reign where all shards live, before
// it counts as registered: traffic that comes then need not ask. Those that join
// while this coordinator is new know their homes from the one before.
func (c *Core) preload(to member.ID, p *party) {
	if !c.reign.surveyed || p.disagrees {
		return
	}
	for _, s := range c.reign.sorted() {
		if h, ok := c.settled(s); ok {
			c.say(to, protocol.ShardHomes{Header: c.reign.head(), Homes: []protocol.Home{h}})
		}
	}
}

func (c *Core) welcome(to member.ID, p *party) {
	if p.disagrees {
		c.say(to, protocol.Mismatch{Header: c.reign.head(), Agree: c.set.Agree})
		return
	}
	c.say(to, protocol.Registered{Header: c.reign.head()})
}

// survey notes the moment from which a shard that nobody has named is nobody's:
// every member that can host has answered this term, so that none will obey an
// older one, or has been removed for longer than its margin, also if that was
// before this node could see it. Who joins later has nothing that this reign did
// not give.
func (c *Core) survey(now time.Time) {
	r := c.reign
	if r.surveyed || now.Before(c.gone.BlindUntil()) || slices.ContainsFunc(c.view.Members, c.unheard) {
		return
	}
	if slices.ContainsFunc(c.gone.Gone(), func(d margin.Departure) bool { return now.Before(d.Until) && c.unheard(d.Member) }) {
		return
	}
	r.surveyed, c.gap = true, 0
	c.tell(Surveyed{Term: r.term, Shards: len(r.state.homes)})
}

// unheard tells whether m may host something that this reign does not know of.
func (c *Core) unheard(m member.Member) bool {
	if m.DataCenter != c.view.DataCenter || !m.HasRole(c.set.Role) {
		return false
	}
	p := c.reign.parties[m.ID]
	return p == nil || !p.answered && !p.absent
}

// terminate forgets a node that is certain to run nothing any more.
func (c *Core) terminate(now time.Time, id member.ID) {
	r := c.reign
	for _, s := range r.sorted() {
		c.notWaitedFor(now, s, id)
		s.audience.remove(id)
		if s.previous.Node == id {
			s.previous = protocol.Home{}
		}
	}
	r.copies = slices.DeleteFunc(r.copies, func(d doublet) bool { return d.Node == id })
	p := r.parties[id]
	delete(r.parties, id)
	switch {
	case p == nil || !p.answered:
	case p.proxy:
		r.apply(ProxyTerminated{id})
	default:
		for _, name := range r.state.Shards(id) {
			s := r.shards[name]
			if s.started { // what came before has arrived, or died, there
				s.previous = protocol.Home{}
			}
			s.started, s.move, s.since = false, nil, now
		}
		r.apply(RegionTerminated{id})
	}
}
