package membership

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
)

// confirmCrashes has votes told, downs whom a majority has voted for, and downs
// this node when it has lost its own listener.
func (c *Core) confirmCrashes(now time.Time, in gossip.Input, out *Output) {
	k := &c.crashes
	for _, ballot := range k.ballots {
		for _, m := range c.machine.View().Members {
			if m.ID != k.self && m.ID != ballot.Suspect {
				out.Send = append(out.Send, gossip.Packet{To: m.ID, Msg: ballot})
			}
		}
	}
	out.Events = append(out.Events, k.events...)
	k.ballots, k.events = nil, nil
	if c.closing {
		return
	}
	for range k.suspects {
		v := c.machine.View()
		suspect, by, ok := k.verdict(now, v)
		if !ok {
			break
		}
		_, members := tally(v, nil, suspect)
		out.Events = append(out.Events, gossip.CrashConfirmed{Suspect: suspect, By: by, Members: members})
		c.step(now, gossip.Crashed{ID: suspect}, out)
	}
	if d, ok := in.(gossip.Dialed); ok && d.Peer == k.self && k.isolation > 0 && k.deaf(now, d.Result) {
		out.Events = append(out.Events, gossip.ListenerLost{})
		c.down(now, k.self, out)
	}
}

// Vouches tells whether this node may confirm to another one that it is still a
// member. Not while a vote of this node for its crash may still count somewhere,
// though taken back: whoever is confirmed by a majority and whoever was downed by one have
// a member in common, and it must not have said both.
func (c *Core) Vouches(now time.Time, id member.ID) bool {
	m, in := c.machine.View().Member(id)
	return in && m.Status != member.Down && !slices.ContainsFunc(c.crashes.doubts, func(d doubt) bool {
		return d.about == id && now.Before(d.until)
	})
}

// Suspicion is what speaks for the crash of a member.
type Suspicion struct {
	Node    member.ID
	Broke   time.Time   // when this node's link to it broke; zero if it did not, or was made again
	Heard   time.Time   // the last sign of life since, or Broke
	Refused int         // attempts to reach it, in a row
	Votes   []member.ID // who votes that it has crashed, in order; perhaps this node
	Needed  int         // how many votes confirm it
}

// Suspicions lists the members whose crash this node has reason to think of, in
// order.
func (c *Core) Suspicions() []Suspicion {
	var all []Suspicion
	v, k := c.machine.View(), &c.crashes
	for _, m := range v.Members {
		by, members := tally(v, k.votes, m.ID)
		i, broken := k.find(m.ID)
		if len(by) == 0 && !broken {
			continue
		}
		s := Suspicion{Node: m.ID, Votes: by, Needed: majority(members)}
		if broken {
			s.Broke, s.Heard, s.Refused = k.suspects[i].broke, k.suspects[i].heard, k.suspects[i].refused
		}
		all = append(all, s)
	}
	return all
}

// Suspects lists the members to which this node's link is broken, in order: the
// ones to dial again and again, feeding gossip.Dialed, until they are not listed.
func (c *Core) Suspects() []member.ID {
	if len(c.crashes.suspects) == 0 {
		return nil
	}
	var all []member.ID
	for _, s := range c.crashes.suspects {
		all = append(all, s.node)
	}
	return all
}
