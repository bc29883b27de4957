package coordinator

import (
	"math"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// rebalance asks the strategy, from time to time, what should move.
func (c *Core) rebalance(now time.Time) {
	r := c.reign
	if c.set.RebalanceEvery < 0 || now.Before(r.rebalanceAt) {
		return
	}
	r.rebalanceAt = now.Add(c.set.RebalanceEvery)
	candidates := c.candidates()
	if !r.surveyed || len(candidates) == 0 {
		return
	}
	if c.holdsBack(now) {
		if quiet := r.changed.Add(c.set.RebalanceEvery); quiet.After(now) {
			r.rebalanceAt = quiet
		}
		return
	}
	var busy []string
	for _, s := range r.sorted() {
		if _, ok := c.home(s); ok && (s.move != nil || !s.started) {
			busy = append(busy, s.name)
		}
	}
	state := c.placementState(candidates)
	state.Impatient = c.impatient(now, candidates)
	for _, name := range c.strategy(state).Rebalance(state, busy) {
		c.begin(now, r.shard(name))
	}
}

// unrest is what makes a rebalance wait. In a roll-out nodes go and come one after
// the other, and what is spread over those that are there now has to move again
// with the next that goes.
type unrest struct {
	up      []member.ID // the members that can host
	changed time.Time   // when those were others
	since   time.Time   // since when rebalances have waited; zero when they do not
	mixed   time.Time   // since when versions are mixed; zero when they are not
}

// notice sees members that can host come and go.
func (c *Core) notice(now time.Time) {
	var up []member.ID
	for _, m := range c.view.Members {
		if m.Status == member.Up && m.DataCenter == c.view.DataCenter && m.HasRole(c.set.Role) {
			up = append(up, m.ID)
		}
	}
	u := &c.reign.unrest
	if u.up != nil && !slices.Equal(u.up, up) {
		u.changed = now
	}
	u.up = up
}

// holdsBack tells whether a rebalance should wait: a node is leaving or is drained,
// or one has come or gone within the last interval. That is not for longer than a
// roll-out may take.
func (c *Core) holdsBack(now time.Time) bool {
	u := &c.reign.unrest
	if !c.changing(now) {
		u.since = time.Time{}
		return false
	}
	if u.since.IsZero() {
		u.since = now
	}
	return now.Before(u.since.Add(c.set.RollOut))
}

func (c *Core) changing(now time.Time) bool {
	r := c.reign
	if !r.changed.IsZero() && now.Before(r.changed.Add(c.set.RebalanceEvery)) {
		return true
	}
	return slices.ContainsFunc(c.view.Members, func(m member.Member) bool {
		p := r.parties[m.ID]
		return p != nil && p.leaving && len(r.state.Shards(m.ID)) > 0
	})
}

// impatient tells whether versions have been mixed for longer than a roll-out may
// take.
func (c *Core) impatient(now time.Time, candidates []placement.Region) bool {
	u := &c.reign.unrest
	version := func(r placement.Region) string {
		m, _ := c.view.Member(r.ID)
		return m.AppVersion
	}
	mixed := slices.ContainsFunc(candidates, func(r placement.Region) bool { return version(r) != version(candidates[0]) })
	switch {
	case !mixed:
		u.mixed = time.Time{}
	case u.mixed.IsZero():
		u.mixed = now
	}
	return mixed && !now.Before(u.mixed.Add(c.set.RollOut))
}

// stays takes a drained node back among those that get shards.
func (c *Core) stays(id member.ID) {
	p := c.reign.parties[id]
	m, _ := c.view.Member(id)
	p.leaving = m.Status == member.Leaving || m.Status == member.Exiting
	c.welcome(id, p)
}

// measured takes in the load of a shard from its home.
func (c *Core) measured(from member.ID, l protocol.Load) {
	if home, ok := c.reign.state.Home(l.Shard); !ok || home != from {
		return
	}
	c.reign.loads[l.Shard] = placement.Load{
		Messages: float64(l.Messages) / 1000, Bytes: float64(l.Bytes) / 1000,
		Over: time.Duration(min(l.Seconds, math.MaxInt32)) * time.Second,
	}
}

// unmeasure keeps the load of a shard that moves, as what was measured elsewhere.
func (r *reign) unmeasure(name string) {
	if load, ok := r.loads[name]; ok {
		load.Over = 0
		r.loads[name] = load
	}
}
