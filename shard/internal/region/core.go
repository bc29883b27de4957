package region

import (
	"maps"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// Core is one node's part in one type. Only one goroutine may use it.
type Core struct {
	self member.ID
	set  Settings
	view *member.View // nil before the first
	link link

	leaving  bool
	leftAt   time.Time // when that began
	spared   bool      // gives away what it has and goes on
	staying  bool      // is drained no more, and the coordinator has not confirmed that it knows
	over     bool      // this node is down or removed: it owns nothing any more
	leaveDue time.Time // when the coordinator is asked again to take all away
	patience time.Time // how long a leave waits for those who are unreachable; zero for ever

	shards map[string]*shard
	wishes map[string]protocol.Wish // of operators, kept for the next coordinator
	beatAt time.Time                // when what is pending is looked at next

	box protocol.Outbox
	out Output
}

// A shard is what this region knows and owes of one shard.
type shard struct {
	name  string
	known protocol.Epoch // the newest tenure heard of, anywhere
	ended protocol.Epoch // the newest that ended here or was refused

	home member.ID     // where its messages go; zero while they are buffered
	sent protocol.Home // the last route: a marker must follow what was sent there

	move   protocol.Epoch // the newest hand-over that was acknowledged
	marked bool           // and whether with a marker
	next   *protocol.Move // one that is acknowledged as soon as what is owed to its host has gone there

	wanted   bool      // messages wait for a home
	flushing bool      // a home is known, and the shell still works off what had waited
	askDue   time.Time // when the home is asked for again

	tenancy *tenancy  // not nil while hosted here
	owed    bool      // the last tenure here ended, and its carry has not left yet
	stopDue time.Time // when the end is told again

	since time.Time // of the present wait, for Why
	stray stray     // the last stale route that was told
}

type stray struct {
	protocol.Tenure
	from member.ID
	at   time.Time
}

// New makes the machine of a node. The zero fields of set get their defaults.
func New(self member.ID, set Settings) *Core {
	return &Core{self: self, set: set.withDefaults(), shards: map[string]*shard{}, wishes: map[string]protocol.Wish{}}
}

// Step feeds one input to the machine and returns what the shell must do. Time
// must not run backwards.
func (c *Core) Step(now time.Time, in Input) Output {
	if c.over {
		return Output{Left: true}
	}
	switch in := in.(type) {
	case ViewChanged:
		c.viewChanged(now, in.View)
	case Received:
		c.received(now, in.From, in.Msg)
	case NoPort:
		c.answered(now, in.From)
		c.link.absent(now, in.From)
	case Wanted:
		c.want(now, c.shard(in.Shard))
	case Marked:
		c.markedBy(now, in)
	case CarryDone:
		c.carryDone(now, in)
	case StaleRoute:
		c.strayed(now, in)
	case Disowned:
		c.disowned(now, in)
	case Drained:
		c.drained(now, in)
	case Emptied:
		c.emptied(now, in)
	case Leave:
		c.patience = in.Until
		c.leave(now)
	case Spare:
		c.spare(now, in.On)
	case Alone:
		c.link.deserted(now, in.On)
	case Measured:
		if c.Registered() && len(in.Loads) > 0 {
			c.say(c.link.obeyed, protocol.Loads{Loads: in.Loads})
		}
	case Tick: // beat does all there is
	}
	c.beat(now)
	return c.output(now)
}

func (c *Core) received(now time.Time, from member.ID, msg protocol.Message) {
	c.link.present(from, c.set.Own)
	switch m := msg.(type) {
	case protocol.StaleRoute:
		c.staleAt(now, from, m)
		return
	case protocol.HighestTerm:
		c.link.floor = max(c.link.floor, m.Term)
		c.answered(now, from)
		return
	}
	order, ok := msg.(protocol.Order)
	if !ok || !c.lives(from) || !c.obeys(now, from, order) {
		return
	}
	switch m := order.(type) {
	case protocol.Claim:
		c.report(now, from)
	case protocol.Registered:
		c.link.disagrees = false
		c.registered(now)
	case protocol.Mismatch:
		c.disagree()
		c.registered(now)
		c.tell(Disagrees{Coordinator: from, Ours: c.set.Agree, Coordinated: m.Agree})
	case protocol.ShardHomes:
		each(m.Homes, func(h protocol.Home) { c.learn(now, h) })
	case protocol.HostShards:
		each(m.Shards, func(a protocol.Assignment) { c.host(now, a) })
	case protocol.BeginHandOff:
		each(m.Moves, func(move protocol.Move) { c.begin(now, move) })
	case protocol.HandOff:
		each(m.Moves, func(l protocol.Leaving) { c.handOff(now, l, m.From) })
	case protocol.StopShards:
		each(m.Shards, func(t protocol.Tenure) { c.stop(now, t) })
	case protocol.Wishes:
		each(m.Wishes, c.keep)
	}
}

func each[E any](list []E, do func(E)) {
	for _, e := range list {
		do(e)
	}
}

// beat looks at all that waits, a few times per Retry and not more often.
func (c *Core) beat(now time.Time) {
	if c.view == nil || c.over || now.Before(c.beatAt) {
		return
	}
	c.beatAt = now.Add(c.set.Retry / 8)
	c.arriveAgain(now)
	c.reportAgain(now)
	for _, s := range c.sorted() {
		c.ask(now, s)
		c.tellStopped(now, s)
		c.outwait(now, s)
	}
	switch {
	case c.leaving:
		c.giveAway(now)
	case c.spared && c.hosts():
		c.askRelief(now)
	case c.staying:
		c.stayAgain(now)
	}
}

func (c *Core) output(now time.Time) Output {
	out := c.out
	c.out = Output{}
	out.Send = c.box.Take()
	if c.pending() && !c.over {
		out.Wake = c.beatAt
	}
	out.Left = c.over || c.leaving && c.clear(now)
	return out
}

// pending tells whether a later beat has anything to do.
func (c *Core) pending() bool {
	if c.leaving || c.spared && c.hosts() || c.staying || c.unregistered() || len(c.link.unheard) > 0 {
		return true
	}
	for _, s := range c.shards { // any order: only whether there is one
		if s.wanted || s.flushing || s.owed || s.tenancy.waits() {
			return true
		}
	}
	return false
}

// clear tells whether nothing is left here that another node should get.
func (c *Core) clear(now time.Time) bool {
	alone := c.alone(now)
	for _, s := range c.shards { // any order: only whether there is one
		if s.tenancy != nil || !alone && (s.owed || s.wanted || s.flushing) {
			return false
		}
	}
	return true
}

func (c *Core) shard(name string) *shard {
	s, ok := c.shards[name]
	if !ok {
		s = &shard{name: name}
		c.shards[name] = s
	}
	return s
}

func (c *Core) sorted() []*shard {
	shards := make([]*shard, 0, len(c.shards))
	for _, name := range slices.Sorted(maps.Keys(c.shards)) {
		shards = append(shards, c.shards[name])
	}
	return shards
}

func (c *Core) do(a Action)                          { c.out.Do = append(c.out.Do, a) }
func (c *Core) tell(e Event)                         { c.out.Events = append(c.out.Events, e) }
func (c *Core) say(to member.ID, m protocol.Message) { c.box.Add(to, m) }
func (s *shard) at(e protocol.Epoch) protocol.Tenure { return protocol.Tenure{Shard: s.name, Epoch: e} }
func (s *shard) hear(e protocol.Epoch)               { s.known = later(s.known, e) }
func later(a, b protocol.Epoch) protocol.Epoch {
	if a.Less(b) {
		return b
	}
	return a
}
