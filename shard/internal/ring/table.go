package ring

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A table is what was last read in the store.
type table struct {
	at     time.Time // zero: never
	asked  time.Time // what happened later it does not know
	seats  []taken   // by token
	misfit *Note     // of who decides what all must agree on, if this node does not
	homes  []member.ID
}

// A taken seat has a note that can be read.
type taken struct {
	Note
	token uint64
}

// A tenure is what this node knows of the newest one of a shard.
type tenure struct {
	epoch   protocol.Epoch // zero: of none
	node    member.ID
	carries member.ID // who carries over from it: node, unless it was over before anything was hosted; zero for nobody
	token   uint64    // of its seat; 0 when only heard of
	state   state
	heard   time.Time // from that node; a table that was asked for before does not count
}

// hear takes in where a node says that it has the shard.
func (s *shard) hear(now time.Time, h protocol.Home) {
	if h.Epoch != s.latest.epoch {
		s.latest = tenure{epoch: h.Epoch, node: h.Node}
	}
	s.latest.carries, s.latest.heard = h.Node, now
}

// see takes in the lock of another node that is in a table.
func (s *shard) see(l Lock, node member.ID) {
	if l.Epoch != s.latest.epoch {
		s.latest = tenure{epoch: l.Epoch, carries: node}
	}
	s.latest.node, s.latest.token, s.latest.state = node, l.Token, held
}

type state uint8

const (
	held  state = iota
	given       // its owner has given the lock back, and may carry something over
	lost        // its owner has lost the seat, or is gone
)

// read takes in the table, and sets out for what it says.
func (c *Core) read(now time.Time, in Table) {
	if _, ok := c.answered(now).(Look); !ok {
		return
	}
	c.table.at, c.table.asked = now, c.desk.lookedAt
	c.table.seats = c.table.seats[:0]
	for _, s := range in.Seats {
		if n, err := ParseNote(s.Note); err == nil && n.Node.String() == s.Runner {
			c.table.seats = append(c.table.seats, taken{n, s.Token})
		}
	}
	slices.SortFunc(c.table.seats, func(a, b taken) int { return cmp.Compare(a.token, b.token) })
	c.agree(in.Locks)
	c.compare(now, in.Locks)
	c.assign()
	c.pursue()
	c.giveAway(now)
	if c.wish().Sit || c.waited() {
		c.lookAt(now.Add(c.set.Poll))
	}
}

// agree finds whether this node has the settings that count: those of the oldest
// seat of the ones that have locks, or of all while none has. One that is wrong
// thus keeps itself out, and nobody else.
func (c *Core) agree(locks []Lock) {
	working := map[uint64]bool{}
	for _, l := range locks {
		working[l.Token] = true
	}
	var first *Note
	for i := range c.table.seats {
		s := &c.table.seats[i]
		if working[s.token] || len(working) == 0 {
			first = &s.Note
			break
		}
	}
	switch {
	case !c.meeting.met: // seats do not count, as long as there may be a coordinator
	case first == nil, first.Agree == c.set.Agree:
		c.agreed()
	default:
		c.disagree(*first)
	}
}

// compare brings what is known of each shard up to the table. It was read after
// the answers to all requests before it, so that it knows of every lock of this node.
func (c *Core) compare(now time.Time, locks []Lock) {
	nodes := map[uint64]member.ID{}
	for _, s := range c.table.seats {
		nodes[s.token] = s.Node
	}
	locked := map[string]bool{}
	for _, l := range locks {
		if !c.set.Exists(l.Shard) {
			continue
		}
		s := c.shard(l.Shard)
		if l.Epoch.Less(s.latest.epoch) {
			continue // another had it since: this one is given back in a moment
		}
		locked[l.Shard] = true
		switch {
		case l.Token == c.seat.token && l.Epoch != s.lock:
			c.stray(now, s, l)
		case l.Token != c.seat.token:
			s.see(l, nodes[l.Token])
		}
	}
	for _, s := range c.sorted {
		if locked[s.name] {
			continue
		}
		if _, giving := c.desk.giving[s.name]; !s.lock.IsZero() && !giving {
			c.void(now, s)
		}
		if s.latest.state == held && !s.latest.epoch.IsZero() && s.lock.IsZero() && !s.latest.heard.After(c.table.asked) {
			s.latest.state = c.howEnded(s.latest)
		}
	}
}

// howEnded tells of a tenure whose lock is there no more whether that was in good
// order: its owner still sits where it sat.
func (c *Core) howEnded(t tenure) state {
	for _, s := range c.table.seats {
		if s.token == t.token || t.token == 0 && s.Node == t.node {
			return given
		}
	}
	return lost
}

// stray is a lock of this node that it did not know of: a request was carried out
// without an answer. It is given back, unless it is being asked for again.
func (c *Core) stray(now time.Time, s *shard, l Lock) {
	if _, taking := c.desk.taking[s.name]; taking {
		return
	}
	c.void(now, s)
	before := s.latest
	s.lock = l.Epoch
	c.inherit(s, before)
	c.giveBack(s)
}

// void forgets a lock that this node does not have any more, and has the region end
// what hangs on it.
func (c *Core) void(now time.Time, s *shard) {
	c.desk.drop(s)
	c.endMove(s)
	s.spent, s.lock = later(s.spent, s.lock), protocol.Epoch{}
	s.wished, s.wish, s.rest, s.due = false, member.ID{}, time.Time{}, now
	c.stopAgain(now, s)
}

// assign computes where each shard should live.
func (c *Core) assign() {
	index := map[member.Address]member.ID{}
	var runners []placement.Runner
	for _, s := range c.table.seats { // by token: of two at an address the newer one counts
		leaving := s.Leaving || s.Node == c.self && c.leaving
		if leaving || c.table.misfit != nil || s.Agree != c.set.Agree {
			continue
		}
		if _, ok := index[s.Node.Address]; !ok {
			runners = append(runners, s.runner())
		}
		index[s.Node.Address] = s.Node
	}
	holders := make([]member.Address, len(c.names))
	for n, name := range c.names {
		if s, ok := c.shards[name]; ok && s.latest.state == held {
			holders[n] = s.latest.node.Address
		}
	}
	homes := c.set.Assign.Assign(placement.Group{Name: c.set.Group, Shards: c.set.Shards}, runners, holders)
	c.table.homes = make([]member.ID, len(homes))
	for n, a := range homes {
		c.table.homes[n] = index[a]
	}
}

// assigned is the node that should have a shard; zero for nobody.
func (c *Core) assigned(s *shard) member.ID {
	if s.number >= len(c.table.homes) {
		return member.ID{} // never read
	}
	return c.table.homes[s.number]
}

// pursue takes up what is assigned to this node and free, asks for what is waited
// for here, and turns away those who have asked this node in error.
func (c *Core) pursue() {
	if !c.set.Lazy {
		for n, home := range c.table.homes {
			if home == c.self {
				c.shard(c.names[n])
			}
		}
	}
	for _, s := range c.sorted {
		mine := c.assigned(s) == c.self
		_, taking := c.desk.taking[s.name]
		if mine && s.free() && (!c.set.Lazy || s.always || s.wanted || len(s.audience) > 0) {
			c.takeUp(s)
		}
		c.seek(s)
		if !mine && !taking && s.lock.IsZero() {
			for _, id := range s.audience {
				c.say(id, protocol.Elsewhere{Shards: []string{s.name}})
			}
			s.audience = nil
		}
	}
}

// free tells whether nobody has the lock of s, as far as is known.
func (s *shard) free() bool {
	return s.lock.IsZero() && (s.latest.epoch.IsZero() || s.latest.state != held)
}

// waited tells whether messages wait here for a home.
func (c *Core) waited() bool {
	for _, s := range c.sorted {
		if s.wanted {
			return true
		}
	}
	return false
}

// Home is who has the lock of a shard, as far as this node knows.
func (c *Core) Home(name string) (home protocol.Home, ok bool) {
	s, ok := c.shards[name]
	if !ok || s.latest.epoch.IsZero() || s.latest.state != held {
		return protocol.Home{}, false
	}
	return protocol.Home{Tenure: s.at(s.latest.epoch), Node: s.latest.node}, true
}

// Assigned is the node that should have a shard, as far as this node knows.
func (c *Core) Assigned(name string) (node member.ID, ok bool) {
	node = c.assigned(&shard{name: name, number: c.number(name)})
	return node, !node.IsZero()
}

// Seats are the nodes that have one, from the oldest to the newest.
func (c *Core) Seats() []Note {
	notes := make([]Note, len(c.table.seats))
	for i, s := range c.table.seats {
		notes[i] = s.Note
	}
	return notes
}

func nameOf(number int) string { return strconv.Itoa(number) }

// number is what a shard is assigned by. A shard function may give negative ones,
// as the JVM's does; each goes where its absolute value does.
func (c *Core) number(name string) int {
	n, err := strconv.Atoi(name)
	if err != nil || c.set.Shards == 0 {
		return 0
	}
	if n %= c.set.Shards; n < 0 {
		n = -n
	}
	return n
}

func later(a, b protocol.Epoch) protocol.Epoch {
	if a.Less(b) {
		return b
	}
	return a
}
