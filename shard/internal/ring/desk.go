package ring

import (
	"maps"
	"slices"
	"time"

	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// maxBatch bounds what one request is about.
const maxBatch = 1000

// A desk is where requests to the store wait: one is out at a time, for an answer
// says nothing about a request that may overtake it, and what comes together
// meanwhile goes together.
type desk struct {
	out    Request
	giving map[string]*shard // locks to give back
	taking map[string]*shard // locks to get

	lookDue  time.Time // when to read the table; zero for not at all
	lookedAt time.Time // when that was last asked
	retryAt  time.Time // after a failure, nothing is asked before
	failing  time.Time // since when; zero while the store answers
	away     bool      // for more than one request
	cause    string
	gap      time.Duration
}

func (d *desk) drop(s *shard) {
	delete(d.giving, s.name)
	delete(d.taking, s.name)
}

// look has the table read, at once if it was not read just now.
func (c *Core) look(now time.Time) { c.lookAt(now) }

// lookAt has it read then, if not before.
func (c *Core) lookAt(t time.Time) {
	d := &c.desk
	if soonest := d.lookedAt.Add(c.breath()); t.Before(soonest) {
		t = soonest
	}
	if d.lookDue.IsZero() || t.Before(d.lookDue) {
		d.lookDue = t
	}
}

// next is what to ask of the store now: first what others wait for.
func (c *Core) next(now time.Time) Request {
	d := &c.desk
	if d.out != nil || now.Before(d.retryAt) {
		return nil
	}
	switch {
	case c.seat.token != 0 && len(d.giving) > 0:
		d.out = c.nextGive()
	case c.seat.token != 0 && len(d.taking) > 0:
		names := slices.Sorted(maps.Keys(d.taking))
		d.out = Take{Token: c.seat.token, Shards: names[:min(len(names), maxBatch)]}
	case !d.lookDue.IsZero() && !now.Before(d.lookDue):
		d.lookDue, d.lookedAt = time.Time{}, now
		d.out = Look{}
	}
	return d.out
}

func (c *Core) nextGive() Give {
	g := Give{Token: c.seat.token}
	names := slices.Sorted(maps.Keys(c.desk.giving))
	for _, name := range names[:min(len(names), maxBatch)] {
		s := c.desk.giving[name]
		g.Locks = append(g.Locks, Lock{Shard: s.name, Runner: c.self.String(), Token: c.seat.token, Epoch: s.lock})
	}
	return g
}

func (d *desk) wake() time.Time {
	wake := d.lookDue
	switch {
	case d.out != nil:
		return time.Time{} // the answer wakes
	case len(d.giving) > 0 || len(d.taking) > 0:
		wake = d.retryAt
	}
	if !wake.IsZero() && wake.Before(d.retryAt) {
		wake = d.retryAt
	}
	return wake
}

// answered takes the request that was out; nil if there was none.
func (c *Core) answered(now time.Time) Request {
	d := &c.desk
	out := d.out
	d.out, d.retryAt, d.gap = nil, time.Time{}, 0
	if d.away {
		c.tell(Back{After: now.Sub(d.failing)})
	}
	d.failing, d.away, d.cause = time.Time{}, false, ""
	return out
}

// failed: what was asked may have happened or may yet happen, so nothing is
// believed of it. It is asked again, after longer and longer gaps.
func (c *Core) failed(now time.Time, cause string) {
	d := &c.desk
	if _, ok := d.out.(Look); ok {
		c.look(now)
	}
	d.out, d.cause = nil, cause
	d.gap = min(max(2*d.gap, c.breath()), c.set.Poll)
	d.retryAt = now.Add(d.gap)
	switch {
	case d.failing.IsZero():
		d.failing = now // one answer that is lost is no outage
	case !d.away:
		d.away = true
		c.tell(Away{Cause: cause})
	}
}

// takeUp has the lock of a shard asked for, if this node may have it.
func (c *Core) takeUp(s *shard) {
	if c.seat.token != 0 && !c.leaving && !c.ending && c.table.misfit == nil && s.lock.IsZero() {
		c.desk.taking[s.name] = s
	}
}

// taken takes in the locks that this node has. Those that it did not get have
// another owner, of whom the table tells.
func (c *Core) taken(now time.Time, in Taken) {
	req, ok := c.answered(now).(Take)
	if !ok || req.Token != c.seat.token {
		return // they hang on a seat that is over
	}
	got := map[string]protocol.Epoch{}
	for _, l := range in.Locks {
		got[l.Shard] = l.Epoch
	}
	for _, name := range req.Shards {
		s := c.shard(name)
		delete(c.desk.taking, name)
		if epoch, ok := got[name]; ok {
			c.locked(now, s, epoch)
			continue
		}
		c.lookAt(now.Add(c.finest()))
	}
}

// giveBack has the lock of a shard given back that nothing here uses any more. The
// next owner waits for the region's word that nothing more comes from it, so one that
// never heard of the tenure has to hear of its end.
func (c *Core) giveBack(s *shard) {
	if s.newest != s.lock {
		c.order(protocol.StopShards{Header: c.link.head(), Shards: []protocol.Tenure{s.at(s.lock)}})
	}
	s.spent = later(s.spent, s.lock)
	c.desk.giving[s.name] = s
}

func (c *Core) given(now time.Time) {
	req, ok := c.answered(now).(Give)
	if !ok || req.Token != c.seat.token {
		return
	}
	for _, l := range req.Locks {
		s := c.shard(l.Shard)
		if s.lock != l.Epoch {
			continue
		}
		delete(c.desk.giving, s.name)
		s.lock, s.since = protocol.Epoch{}, now
		s.latest = tenure{epoch: l.Epoch, node: c.self, carries: s.carrier, token: l.Token, state: given, heard: now}
		c.bequeath(s)
	}
	c.giveAway(now) // there is room for more
}

// breath is the shortest time between two looks, or two tries.
func (c *Core) breath() time.Duration { return min(c.set.Poll/10, c.finest()) }
