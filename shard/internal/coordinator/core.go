package coordinator

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/margin"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// Core is one node's readiness to coordinate one type. Only one goroutine may
// use it.
type Core struct {
	self member.ID
	set  Settings
	view *member.View // nil before the first

	heard   uint64        // the highest term that was spoken of
	reign   *reign        // nil when this node is not the coordinator
	gone    margin.Watch  // who was removed and may still run what it hosted
	claimAt time.Time     // when a refused coordinator claims again; zero when none is
	yields  member.ID     // to whom it yields until then; zero for nobody
	gap     time.Duration // how long it waits the next time
	beatAt  time.Time
	raising raising
	saving  saving
	retired nodes // leaving members that have ended their part, for a later reign too

	box    protocol.Outbox
	events []Event
}

// New makes the machine of a node. The zero fields of set get their defaults.
func New(self member.ID, set Settings) *Core {
	set = set.withDefaults()
	return &Core{self: self, set: set, gone: margin.NewWatch(set.Margin)}
}

// Term is that of the present reign; zero when this node is not the coordinator.
func (c *Core) Term() uint64 {
	if c.reign == nil {
		return 0
	}
	return c.reign.term
}

// Coordinator is the node that coordinates by this node's view of the membership;
// zero for nobody.
func (c *Core) Coordinator() member.ID {
	if c.view == nil {
		return member.ID{}
	}
	oldest, _ := c.view.Oldest(c.set.Role, member.Up)
	return oldest.ID
}

// Step feeds one input to the machine and returns what the shell must do. Time
// must not run backwards.
func (c *Core) Step(now time.Time, in Input) Output {
	var refused error
	switch in := in.(type) {
	case ViewChanged:
		c.viewChanged(now, in.View)
	case Received:
		c.received(now, in.From, in.Msg)
	case NoPort:
		c.noPort(now, in.From)
	case Wish:
		refused = c.wished(now, in)
	case Release:
		refused = c.release(now, in.Shard)
	case Raised:
		c.raised(now, in)
	case Saved:
		c.saved(now, in)
	case Tick: // beat does all there is
	}
	c.settle(now)
	c.beat(now)
	out := Output{Send: c.box.Take(), Events: c.events, Wake: c.wake(), Raise: c.raising.take(), Refused: refused, Save: c.save(now)}
	c.events = nil
	return out
}

func (c *Core) viewChanged(now time.Time, v *member.View) {
	c.gone.See(now, c.view, v) // for a later reign too: the next coordinator may be made by the same removal
	c.view = v
	c.retired = slices.DeleteFunc(c.retired, func(id member.ID) bool { return !c.lives(id) })
	oldest, ok := v.Oldest(c.set.Role, member.Up)
	switch reigns := ok && oldest.ID == c.self; {
	case !reigns && c.reign != nil:
		c.tell(Resigned{Term: c.reign.term})
		fallthrough
	case !reigns:
		c.reign, c.claimAt, c.yields, c.gap = nil, time.Time{}, member.ID{}, 0
		c.raising.stop()
	case c.reign != nil:
		c.meet(now)
	case c.raising.on:
	case c.claimAt.IsZero(), !c.yields.IsZero() && !c.lives(c.yields):
		c.crown(now)
	}
}

// settle lets go of removed nodes whose margin has passed.
func (c *Core) settle(now time.Time) {
	over := c.gone.Settle(now)
	if c.reign == nil || len(over) == 0 {
		return
	}
	for _, d := range over {
		c.terminate(now, d.ID)
	}
	c.survey(now)
	c.placeAll(now)
}

func (c *Core) received(now time.Time, from member.ID, msg protocol.Message) {
	word, ok := msg.(protocol.Word)
	if !ok {
		return
	}
	c.hear(word)
	if _, ok := word.(protocol.Arriving); ok && c.view != nil {
		c.say(from, protocol.HighestTerm{Term: c.heard})
	}
	if c.reign == nil || !c.lives(from) || !c.listens(from, word) {
		return
	}
	switch m := word.(type) {
	case protocol.Report:
		c.reported(now, from, m)
	case protocol.Refused:
		if m.Highest >= c.reign.term {
			c.supersede(now, m.Coordinator)
		}
	case protocol.GetShardHomes:
		each(m.Shards, func(name string) { c.asked(now, from, name) })
	case protocol.ShardsStarted:
		each(m.Shards, func(t protocol.Tenure) { c.started(now, from, t) })
	case protocol.BeginHandOffAck:
		each(m.Acks, func(a protocol.Ack) { c.acked(now, from, a) })
	case protocol.ShardsStopped:
		each(m.Shards, func(t protocol.Tenure) { c.stopped(now, from, t) })
	case protocol.GracefulShutdown:
		c.reign.parties[from].leaving = true
		c.relieve(now, from)
	case protocol.Staying:
		c.stays(from)
	case protocol.WishesKept:
		each(m.Kept, func(t protocol.Tenure) { c.wishKept(from, t) })
	case protocol.Loads:
		each(m.Loads, func(l protocol.Load) { c.measured(from, l) })
	case protocol.Arriving: // every node has answered, coordinator or not
	}
}

// listens tells whether a word counts: before its report a region is not heard
// on anything else, for the claim to it is repeated. One that disagrees may say
// what it lets go of, and wants nothing: its shards are not ours.
func (c *Core) listens(from member.ID, word protocol.Word) bool {
	p := c.reign.parties[from]
	switch word.(type) {
	case protocol.Report, protocol.Refused:
		return true
	case protocol.BeginHandOffAck, protocol.ShardsStopped:
		return p != nil && p.answered
	default:
		return p != nil && p.answered && !p.disagrees
	}
}

func each[E any](list []E, do func(E)) {
	for _, e := range list {
		do(e)
	}
}

// hear keeps the highest term, whoever speaks of it: the next one of this node
// must be above it.
func (c *Core) hear(word protocol.Word) {
	if m, ok := word.(protocol.Report); ok {
		c.heard = max(c.heard, m.Term)
	}
	if m, ok := word.(protocol.Refused); ok {
		c.heard = max(c.heard, m.Highest)
	}
}

// beat looks at all that waits, a few times per Retry and not more often.
func (c *Core) beat(now time.Time) {
	if !c.claimAt.IsZero() && !now.Before(c.claimAt) {
		c.crown(now)
	}
	c.raiseAgain(now)
	if c.reign == nil || now.Before(c.beatAt) {
		return
	}
	c.beatAt = now.Add(c.set.Retry / 8)
	c.claimAgain(now)
	c.survey(now)
	for _, s := range c.reign.sorted() {
		c.hostAgain(now, s)
		c.moveOn(now, s)
	}
	c.stopAgain(now)
	c.tellWishes(now)
	c.placeAll(now)
	c.rebalance(now)
}

func (c *Core) wake() time.Time {
	wake := c.raising.wake()
	for _, t := range [...]time.Time{c.claimAt, c.reignWake(), c.saveWake()} {
		if !t.IsZero() && (wake.IsZero() || t.Before(wake)) {
			wake = t
		}
	}
	return wake
}

func (c *Core) reignWake() time.Time {
	switch {
	case c.reign == nil:
		return time.Time{}
	case c.pending():
		return c.beatAt
	case c.set.RebalanceEvery > 0:
		if c.reign.rebalanceAt.Before(c.beatAt) {
			return c.beatAt // not before the next beat, which is what rebalances
		}
		return c.reign.rebalanceAt
	}
	return time.Time{}
}

// pending tells whether the next beat has anything to do but to rebalance.
func (c *Core) pending() bool {
	r := c.reign
	if !r.surveyed || len(c.gone.Gone()) > 0 || len(r.copies) > 0 || len(r.wanted) > 0 || len(r.state.orphans) > 0 || r.unkept() {
		return true
	}
	for id, p := range r.parties { // any order: only whether there is one
		if p.leaving || p.disagrees && len(r.state.Shards(id)) > 0 || !p.answered && !p.absent && c.lives(id) {
			return true
		}
	}
	for _, s := range r.shards { // any order: only whether there is one
		if _, allocated := r.state.Home(s.name); allocated && (!s.started || s.ending || s.move != nil) {
			return true
		}
	}
	return false
}

// lives tells whether id is a member that was not downed.
func (c *Core) lives(id member.ID) bool {
	m, ok := c.view.Member(id)
	return ok && m.Status != member.Down && m.Status != member.Removed
}

func (c *Core) tell(e Event) { c.events = append(c.events, e) }

// say sends best effort; nothing is said to the dead.
func (c *Core) say(to member.ID, m protocol.Message) {
	if c.lives(to) {
		c.box.Add(to, m)
	}
}
