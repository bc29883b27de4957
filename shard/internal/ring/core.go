package ring

import (
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// Core is one node's part in the ring of one type. Only one goroutine may use it.
type Core struct {
	self  member.ID
	set   Settings
	names []string     // of the shards, by number
	view  *member.View // nil before the first

	staying, going []byte // the notes of this node

	over    bool // this node is down or removed: it owns nothing any more
	leaving bool
	ending  bool // so is the whole cluster: nothing is placed or moved any more
	meeting meeting
	link    link
	seat    seat
	table   table
	desk    desk

	shards  map[string]*shard
	sorted  []*shard  // by name
	moving  int       // how many are given away
	retired nodes     // leaving members that have ended their part
	ended   bool      // the seat was lost in this step
	busy    bool      // something may be pending
	beatAt  time.Time // when that is looked at next

	box protocol.Outbox
	out Output
}

// New makes the machine of a node. The zero fields of set get their defaults.
func New(self member.ID, set Settings) *Core {
	c := &Core{self: self, set: set.withDefaults(), link: link{term: 1}, shards: map[string]*shard{}}
	note := Note{Node: self, Agree: set.Agree, Weight: set.Weight, Groups: set.Groups}
	c.staying = note.Append(nil)
	note.Leaving = true
	c.going = note.Append(nil)
	c.desk.giving, c.desk.taking = map[string]*shard{}, map[string]*shard{}
	for n := range c.set.Shards {
		c.names = append(c.names, nameOf(n))
	}
	for _, name := range c.set.Always {
		c.shard(name).always = true
	}
	return c
}

// Step feeds one input to the machine and returns what the shell must do. Time
// must not run backwards.
func (c *Core) Step(now time.Time, in Input) Output {
	if c.over {
		return Output{Seat: c.wish()}
	}
	c.expire(now)
	if _, tick := in.(Tick); !tick {
		c.busy = true // the next beat sees whether it is
	}
	switch in := in.(type) {
	case ViewChanged:
		c.viewChanged(now, in.View)
	case Received:
		c.received(now, in.From, in.Msg)
	case NoPort:
		c.noPort(now, in.From)
	case Seated:
		c.seated(now, in)
	case SeatLost:
		c.lose(now, in.Cause)
	case Table:
		c.read(now, in)
	case Taken:
		c.taken(now, in)
	case Given:
		c.given(now)
	case Failed:
		c.failed(now, in.Cause)
	case Release:
		c.release(now, in)
	case Leave:
		c.leave(now)
	case Tick: // beat does all there is
	}
	c.beat(now)
	return c.output(now)
}

func (c *Core) received(now time.Time, from member.ID, msg protocol.Message) {
	switch m := msg.(type) {
	case protocol.Word:
		switch {
		case from == c.self:
			c.heard(now, m)
		case c.lives(from):
			c.addressed(now, from, m)
		}
	case protocol.Peer:
		if from != c.self && c.lives(from) {
			c.metBy(now, from)
			c.answer(now, from, m)
		}
	case protocol.Order:
		if from != c.self && c.lives(from) {
			c.claimed(now, from)
		}
	}
}

// answer takes in what the core of another node says.
func (c *Core) answer(now time.Time, from member.ID, msg protocol.Peer) {
	switch m := msg.(type) {
	case protocol.Look:
		c.look(now)
	case protocol.WhereIs:
		each(m.Shards, func(name string) { c.asked(now, from, name) })
	case protocol.Housed:
		each(m.Shards, func(l protocol.Leaving) { c.learn(now, from, l) })
	case protocol.Elsewhere:
		each(m.Shards, func(name string) { c.mistaken(now, from, name) })
	case protocol.Handing:
		each(m.Moves, func(l protocol.Leaving) { c.relay(now, from, l) })
	case protocol.Handed:
		each(m.Acks, func(a protocol.Ack) { c.acked(now, from, a) })
	case protocol.Released:
		each(m.Shards, func(a protocol.Assignment) { c.offered(now, from, a) })
	}
}

func each[E any](list []E, do func(E)) {
	for _, e := range list {
		do(e)
	}
}

// viewChanged takes in who there is to talk to. Who may have a shard is the
// table's to say.
func (c *Core) viewChanged(now time.Time, v *member.View) {
	before := c.view
	c.view = v
	c.ending = slices.ContainsFunc(v.Members, func(m member.Member) bool {
		return m.Status == member.PreparingForShutdown || m.Status == member.ReadyForShutdown
	})
	self, ok := v.SelfMember()
	if self.Status == member.Down || !ok && before != nil && isMember(before, c.self) {
		c.over = true
		return
	}
	if self.Status == member.Leaving || self.Status == member.Exiting {
		c.leave(now)
	}
	c.meet(now)
	if before != nil {
		for _, m := range before.Members {
			if !c.lives(m.ID) {
				c.notWaitedFor(now, m.ID)
				c.retired.remove(m.ID)
			}
		}
	}
	c.look(now)
	c.beatAt = now // somebody may have come to whom shards can go
}

func isMember(v *member.View, id member.ID) bool {
	_, ok := v.Member(id)
	return ok
}

// lives tells whether id is a member that was not downed.
func (c *Core) lives(id member.ID) bool {
	if c.view == nil {
		return false
	}
	m, ok := c.view.Member(id)
	return ok && m.Status != member.Down && m.Status != member.Removed
}

// noPort hears that a node takes no part. One that leaves will never again.
func (c *Core) noPort(now time.Time, id member.ID) {
	if c.view == nil {
		return
	}
	if m, ok := c.view.Member(id); ok && (m.Status == member.Leaving || m.Status == member.Exiting) {
		c.retired.add(id)
	}
	c.metBy(now, id)
	c.notWaitedFor(now, id)
}

// others are all who may send messages to a shard, this node included.
func (c *Core) others() nodes {
	var ids nodes
	for _, m := range c.view.Members {
		if m.DataCenter == c.view.DataCenter && c.lives(m.ID) && !slices.Contains(c.retired, m.ID) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// beat looks at all that waits, a few times per Retry and not more often.
func (c *Core) beat(now time.Time) {
	if c.view == nil || c.over || now.Before(c.beatAt) {
		return
	}
	c.beatAt = now.Add(c.finest())
	c.meetAgain(now)
	for _, s := range c.sorted {
		c.host(now, s)
		c.stopAgain(now, s)
		c.moveOn(now, s)
	}
	c.giveAway(now)
	c.busy = c.pending()
}

// finest is the shortest time after which anything is tried again.
func (c *Core) finest() time.Duration { return c.set.Retry / 8 }

func (c *Core) output(now time.Time) Output {
	out := c.out
	c.out = Output{}
	out.Seat = c.wish()
	if c.over {
		return out
	}
	out.Send = c.box.Take()
	out.Ask = c.next(now)
	out.OwnedUntil, out.Wake = c.seat.until, c.wake()
	if c.ended { // what hung on the seat before is stopped before any is owned by the next
		out.OwnedUntil, out.Wake, c.ended = time.Time{}, now, false
	}
	return out
}

func (c *Core) wake() time.Time {
	wake := c.seat.until
	sooner := func(t time.Time) {
		if !t.IsZero() && (wake.IsZero() || t.Before(wake)) {
			wake = t
		}
	}
	sooner(c.desk.wake())
	if c.busy {
		sooner(c.beatAt)
	}
	return wake
}

// pending tells whether the next beat has anything to do.
func (c *Core) pending() bool {
	if !c.meeting.met && c.meeting.by.IsZero() {
		return true
	}
	for _, s := range c.sorted {
		if s.move != nil || s.told != s.lock || s.told != (protocol.Epoch{}) && (!s.started || c.misplaced(s)) {
			return true
		}
	}
	return false
}

// A shard is what this node knows and has of one shard.
type shard struct {
	name   string
	number int    // by which it is assigned
	always bool   // it need not be asked for
	latest tenure // the newest that is known, anywhere

	lock     protocol.Epoch // that this node has; zero for none
	heirOf   member.ID      // who carries over to this tenure; zero for nobody
	carrier  member.ID      // who carries over to the next one: this node, once it has hosted anything
	got      time.Time      // when that was
	rest     time.Time      // the one before is unknown, and may yet say that it has something to carry over
	told     protocol.Epoch // what the region was told to host and has not ended yet; zero for nothing
	newest   protocol.Epoch // the newest that it was told to host
	started  bool           // it has confirmed that it hosts it
	due      time.Time      // when it is told again
	move     *move          // not nil while the shard is given away
	attempts uint64         // at that
	wish     member.ID      // to whom an operator wants it to go; zero for nobody
	wished   bool           // an operator wants it to go
	patient  time.Time      // a hand-over was given up; the next one is not before
	spent    protocol.Epoch // locks up to this one are given back or lost, and never used again

	wanted    bool           // the region has messages that wait for its home
	asking    member.ID      // who was asked for it; zero for nobody since something has changed
	audience  nodes          // who asked this node
	forgotten protocol.Epoch // the newest hand-over by another node that was heard of
	handing   handing        // the hand-over of another node that the region is to acknowledge
	since     time.Time      // of the present wait, for Why
}

func (c *Core) shard(name string) *shard {
	s, ok := c.shards[name]
	if !ok {
		s = &shard{name: name, number: c.number(name)}
		c.shards[name] = s
		i, _ := slices.BinarySearchFunc(c.sorted, name, func(s *shard, name string) int { return strings.Compare(s.name, name) })
		c.sorted = slices.Insert(c.sorted, i, s)
	}
	return s
}

func (s *shard) at(e protocol.Epoch) protocol.Tenure { return protocol.Tenure{Shard: s.name, Epoch: e} }

func (c *Core) here(s *shard) protocol.Home {
	return protocol.Home{Tenure: s.at(s.lock), Node: c.self}
}

// settled tells whether the shard lives here and stays, as far as is known.
func (s *shard) settled() bool {
	return s.started && s.told == s.lock && s.move == nil && !s.lock.IsZero()
}

func (c *Core) tell(e Event) { c.out.Events = append(c.out.Events, e) }

// say sends best effort; nothing is said to the dead.
func (c *Core) say(to member.ID, m protocol.Message) {
	if c.lives(to) {
		c.box.Add(to, m)
	}
}

// nodes is a sorted set.
type nodes []member.ID

func (n *nodes) add(id member.ID) {
	if i, ok := slices.BinarySearchFunc(*n, id, member.ID.Compare); !ok {
		*n = slices.Insert(*n, i, id)
	}
}

func (n *nodes) remove(id member.ID) bool {
	i, ok := slices.BinarySearchFunc(*n, id, member.ID.Compare)
	if ok {
		*n = slices.Delete(*n, i, i+1)
	}
	return ok
}
