package membership

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
)

// confirmCrashes has votes told, downs whom a majority has voted for, and downs
// this node when it has lost its own listener. While the whole cluster shuts down
// nothing is placed anew, so that nobody has to stop acting before its crash can
// be confirmed; and whoever ends then may close its listener as it likes.
func (c *Core) confirmCrashes(now time.Time, in gossip.Input, out *Output) {
	k := &c.crashes
	for _, ballot := range k.ballots {
		for _, to := range k.counters(c.machine.View(), ballot.Suspect) {
			out.Send = append(out.Send, gossip.Packet{To: to, Msg: ballot})
		}
	}
	out.Events = append(out.Events, k.events...)
	k.ballots, k.events = nil, nil
	dialed, ok := in.(gossip.Dialed)
	if !ok {
		return // a vote that was long on its way has behind it what took it back: nothing is decided between the two
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
	if !c.closing && dialed.Peer == k.self && k.isolation > 0 && k.deaf(now, dialed.Result) {
		out.Events = append(out.Events, gossip.ListenerLost{})
		c.step(now, gossip.DownAll{Members: []member.ID{k.self}}, out)
	}
}

// joining is who asks to be let in by an input.
func joining(in gossip.Input) (member.ID, bool) {
	r, ok := in.(gossip.Received)
	if !ok {
		return member.ID{}, false
	}
	_, ok = r.Msg.(gossip.Join)
	return r.From, ok
}

// undecided tells whether it is too early for somebody to join. A process that a
// supervisor starts again at once would drive out its predecessor before votes
// are in that this one has crashed, and without them nobody may take over from
// it before the margin. So it waits, if enough can vote, for twice the time of
// isolation since the link broke.
func (k *crashes) undecided(now time.Time, v *member.View, joiner member.ID) bool {
	i := slices.IndexFunc(k.suspects, func(s *suspicion) bool {
		return s.node.Address == joiner.Address && s.node != joiner
	})
	if i < 0 || now.Sub(k.suspects[i].broke) >= 2*k.isolation {
		return false
	}
	members, voters := 0, 0
	for _, m := range v.Members {
		if m.DataCenter != v.DataCenter {
			continue
		}
		members++
		if mayVote(m) && m.ID != k.suspects[i].node {
			voters++
		}
	}
	return voters >= majority(members)
}

// In a cluster of up to countedByAll everybody counts the votes; in a larger one
// countedBy do, the first members that the voter can reach. If all of those have ended too, silence finds it.
const (
	countedByAll = 32
	countedBy    = 16
)

// counters lists, in order, who is told the votes of this node about a suspect. Votes to
// everybody are as many as the square of the members. The first ones are whose
// turn it is to down the suspect, see verdict; and any majority counts, whoever
// counts it.
func (k *crashes) counters(v *member.View, suspect member.ID) []member.ID {
	most := len(v.Members)
	if most > countedByAll {
		most = countedBy
	}
	var to []member.ID
	for _, m := range v.Members {
		if len(to) == most {
			break
		}
		_, broken := k.find(m.ID)
		if m.ID == k.self || m.ID == suspect || most == countedBy && (broken || !mayVote(m) || m.DataCenter != v.DataCenter || !v.Reachable(m.ID)) {
			continue
		}
		to = append(to, m.ID)
	}
	return to
}

// Vouches tells whether this node may confirm to another one that it is still a
// member. Not while a vote of this node for its crash may still count somewhere,
// though taken back: whoever is confirmed by a majority and whoever was downed by one have
// a member in common, and it must not have said both.
func (c *Core) Vouches(now time.Time, id member.ID) bool {
	m, in := c.machine.View().Member(id)
	if !in || m.Status == member.Down || slices.ContainsFunc(c.crashes.doubts, func(d doubt) bool {
		return d.about == id && now.Before(d.until)
	}) {
		return false
	}
	c.machine.Trust(id)
	return true
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
// It is the very same list until there is another one; nobody changes it.
func (c *Core) Suspects() []member.ID {
	k := &c.crashes
	if k.listedAt != k.changes {
		k.listedAt, k.listed = k.changes, k.list()
	}
	return k.listed
}

func (k *crashes) list() []member.ID {
	var all []member.ID
	for _, s := range k.suspects {
		if s.in {
			all = append(all, s.node)
		}
	}
	return all
}
