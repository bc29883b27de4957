package coordinator

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// Why tells what a shard waits for at the coordinator; nothing when it has a
// home that is told to everybody, or when this node is not the coordinator.
func (c *Core) Why(name string) []member.Wait {
	if c.reign == nil {
		return nil
	}
	s, ok := c.reign.shards[name]
	if !ok {
		return nil
	}
	h, housed := c.home(s)
	switch {
	case !housed, c.lives(h.Node) && s.started && s.move == nil && s.ending:
		return []member.Wait{c.whyHomeless(s)}
	case c.lives(h.Node) && s.started && s.move == nil:
		return nil
	}
	return []member.Wait{c.whyUnsettled(s, h)}
}

// Waits lists all that this coordinator waits for, in the order of shards.
func (c *Core) Waits() []protocol.Waiting {
	var waits []protocol.Waiting
	if r := &c.raising; r.least != 0 {
		w := member.Wait{What: member.WaitStore, Why: "the store has to raise the term of this node, which coordinates", Until: r.until}
		if !r.on {
			w.Why, w.Until = "this node coordinates by a term that the store has not raised yet", time.Time{}
			w.Act = "see why the store does not answer"
		}
		waits = append(waits, protocol.Waiting{Wait: w})
	}
	if c.reign == nil {
		return waits
	}
	for _, s := range c.reign.sorted() {
		for _, w := range c.Why(s.name) {
			waits = append(waits, protocol.Waiting{Shard: s.name, Wait: w})
		}
	}
	return waits
}

// whyUnsettled tells why the home of a shard is told to nobody.
func (c *Core) whyUnsettled(s *shard, h protocol.Home) member.Wait {
	w := member.Wait{What: protocol.WaitHandOver, Since: s.since}
	switch {
	case !c.lives(h.Node):
		w.What, w.Until = protocol.WaitHome, c.gone.Until(h.Node)
		w.Why = "its host has gone, and is given time to notice that before the shard starts elsewhere"
		w.On = protocol.Holdups([]member.ID{h.Node}, "may still run it")
	case !s.started:
		w.What = protocol.WaitHome
		w.Why = "the node that was chosen for it has not confirmed that it hosts it"
		w.On = protocol.Holdups([]member.ID{h.Node}, "has not confirmed")
	case s.move.Stage() == Announcing:
		w.Why, w.Until = "all nodes have to say that they have stopped sending to it", s.move.deadline
		w.On = protocol.Holdups(s.move.Waiting(), "has not said so")
	default:
		w.Why, w.Until = "its host stops its entities", s.move.deadline
		w.On = protocol.Holdups([]member.ID{h.Node}, "has not confirmed their end")
		w.Act = "nobody, until their time is over; then see what the entities named in the log of the host are doing, or end that process"
	}
	return w
}

func (c *Core) whyHomeless(s *shard) member.Wait {
	if c.reign.surveyed || !s.epoch.IsZero() {
		return c.whyUntaken(s)
	}
	w := member.Wait{
		What: protocol.WaitHome, Since: c.reign.since,
		Why: "a new coordinator gives out what nobody hosts when all that may host it have said what they host",
	}
	for _, m := range c.view.Members {
		if c.unheard(m) {
			text := "has not answered"
			if !c.view.Reachable(m.ID) {
				text = "cannot be reached, and has to come back or be removed"
			}
			w.On = append(w.On, member.Holdup{Node: m.ID, Why: text})
		}
	}
	for _, d := range c.gone.Gone() {
		if c.unheard(d.Member) {
			w.On = append(w.On, member.Holdup{Node: d.ID, Why: "was removed and may not know it yet"})
			w.Until = d.Until
		}
	}
	if len(w.On) == 0 {
		w.Why, w.Until = "nodes may have been removed before this coordinator could see it, and are given time to notice", c.gone.BlindUntil()
	}
	return w
}

// whyUntaken tells of each node that may host why it gets no shard.
func (c *Core) whyUntaken(s *shard) member.Wait {
	w := member.Wait{What: protocol.WaitHome, Since: s.since, Why: "no node takes it"}
	for _, m := range c.view.Members {
		if m.DataCenter != c.view.DataCenter {
			continue
		}
		if why := c.unfit(m.ID); why != "" {
			w.On = append(w.On, member.Holdup{Node: m.ID, Why: why})
		} else {
			w.Why = "the strategy " + c.set.Strategy.Name() + " has chosen no node yet"
		}
	}
	if c.set.Role != "" {
		w.Act = "start a node with the role " + strconv.Quote(c.set.Role) + ", or mend what is said of those that run"
	} else {
		w.Act = "start a node, or mend what is said of those that run"
	}
	return w
}

// Describe gives the whole state in words, for logs and tests: a line for the
// reign, one for each region, and one for each shard that waits.
func (c *Core) Describe() string {
	if c.reign == nil {
		return "not the coordinator\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "term %d, %d shards", c.reign.term, len(c.reign.state.homes))
	if !c.reign.surveyed {
		b.WriteString(", still asking")
	}
	b.WriteByte('\n')
	for _, r := range c.reign.state.Regions() {
		fmt.Fprintf(&b, "region %s: %s\n", r.ID, strings.Join(r.Shards, " "))
	}
	for _, s := range c.reign.sorted() {
		for _, w := range c.Why(s.name) {
			fmt.Fprintf(&b, "shard %s waits for %s\n", s.name, w)
		}
	}
	return b.String()
}
