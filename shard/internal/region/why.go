package region

import (
	"cmp"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// Why tells what a shard waits for at this node; nothing when it does not wait.
func (c *Core) Why(name string) []member.Wait {
	s, ok := c.shards[name]
	if !ok {
		return nil
	}
	var waits []member.Wait
	if t := s.tenancy; t != nil {
		waits = append(waits, t.why()...)
	}
	told := c.set.Own && s.home.IsZero() // by the authority of this node, which knows more
	if (s.wanted || s.owed) && !told {
		waits = append(waits, c.whyHeld(s))
	}
	return waits
}

// Waits lists all that this node waits for, the region itself first, then shards in
// order.
func (c *Core) Waits() []protocol.Waiting {
	var waits []protocol.Waiting
	if c.view != nil && !c.over && c.unregistered() {
		waits = append(waits, protocol.Waiting{Wait: member.Wait{
			What: protocol.WaitDecider, Why: "this node is not registered with the coordinator",
			On: protocol.Holdups([]member.ID{c.link.expected}, "should coordinate, and has not confirmed"),
		}})
	}
	for _, s := range c.sorted() {
		for _, w := range c.Why(s.name) {
			waits = append(waits, protocol.Waiting{Shard: s.name, Wait: w})
		}
	}
	return waits
}

// whyHeld tells why what was told to a shard, or left over by it, is still here.
func (c *Core) whyHeld(s *shard) member.Wait {
	w := member.Wait{What: protocol.WaitHome, Since: s.since}
	switch {
	case !s.home.IsZero():
		w.What = protocol.WaitHandOver
		w.Why = "what had waited here goes to its home as the link has room"
		w.On = protocol.Holdups([]member.ID{s.home}, "takes it slowly")
	case c.link.expected.IsZero():
		w.Why = "there is no member that is Up and can coordinate"
		w.Act = "start a node that may host the type"
	case !c.link.arrived():
		w.Why = "this node has just joined the type, and asks which coordinators there have been"
		w.On = protocol.Holdups(c.link.unheard, "has not answered")
	case !c.Registered():
		w.Why = "this node is not registered with the coordinator"
		w.On = protocol.Holdups([]member.ID{c.link.expected}, "should coordinate, and has not confirmed")
	case s.owed:
		w.What = protocol.WaitHandOver
		w.Why = "what its entities left over here waits for their next home"
		w.On = protocol.Holdups([]member.ID{c.link.obeyed}, "coordinates, and has named none")
	default:
		w.Why = "messages wait here for a home"
		w.On = protocol.Holdups([]member.ID{c.link.obeyed}, "coordinates, and has named none")
	}
	return w
}

func (t *tenancy) why() []member.Wait {
	var waits []member.Wait
	handOver := func(w member.Wait) {
		w.What, w.Since = cmp.Or(w.What, protocol.WaitHandOver), t.since
		waits = append(waits, w)
	}
	if !t.await.IsZero() {
		handOver(member.Wait{
			Why: "it opens here when its previous host has carried over what was left there", Until: t.awaitUntil,
			On: protocol.Holdups([]member.ID{t.await}, "has not said that this was all"),
		})
	}
	switch t.stage {
	case hosting:
	case marking:
		handOver(member.Wait{
			Why: "it is handed over, and its entities stop when the last messages of all nodes have come", Until: t.until,
			On: protocol.Holdups(t.expect, "has not marked its last message"),
		})
	case draining:
		handOver(member.Wait{
			What: protocol.WaitEnd, Why: "it is handed over, and its entities end", Until: t.until,
			Act: "nobody, until their time is over; then see what the entities that the log names are doing, or end this process",
		})
	case killed:
		handOver(member.Wait{
			What: protocol.WaitEnd, Why: "its entities were stopped at once, and end after the message in hand",
			Act: "see what the entities that the log names are doing, or end this process",
		})
	}
	return waits
}
