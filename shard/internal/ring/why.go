package ring

import (
	"fmt"
	"strings"

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
	switch {
	case s.move != nil:
		waits = append(waits, s.move.why(s))
	case s.wanted || !s.lock.IsZero() && !s.settled():
		waits = append(waits, c.whyHomeless(s))
	}
	if len(waits) > 0 && !c.desk.failing.IsZero() {
		waits = append(waits, member.Wait{
			What: member.WaitStore, Why: "the store does not answer: " + c.desk.cause,
			Since: c.desk.failing, Act: "see to the database, or to the way there",
		})
	}
	return waits
}

func (m *move) why(s *shard) member.Wait {
	w := member.Wait{What: protocol.WaitHandOver, Since: s.since, Until: m.deadline}
	if !m.stopping {
		w.Why = "it is given to another node, and all nodes must hold back what they have for it"
		w.On = protocol.Holdups(m.waiting, "has not acknowledged")
		return w
	}
	w.Why = fmt.Sprintf("it is given to %s when its entities have ended here", m.to)
	if m.slow {
		w.Act = "see what the entities that the log names are doing, or end this process"
	}
	return w
}

// whyHomeless tells why a shard is not hosted, neither here nor elsewhere, as far
// as this node knows.
func (c *Core) whyHomeless(s *shard) member.Wait {
	w := member.Wait{What: protocol.WaitHome, Since: s.since}
	who := c.holder(s)
	_, giving := c.desk.giving[s.name]
	_, taking := c.desk.taking[s.name]
	switch {
	case c.table.misfit != nil:
		w.Why = fmt.Sprintf("this node declares the type differently: %q, not %q", c.set.Agree, c.table.misfit.Agree)
		w.On = protocol.Holdups([]member.ID{c.table.misfit.Node}, "has the oldest seat in use, and its settings count")
		w.Act = "give all nodes the same settings"
	case giving:
		w.Why = "its entities have ended here, and the store is asked to free its lock"
	case taking:
		w.Why = "the store is asked for its lock"
	case !s.told.IsZero() && s.told != s.lock:
		w.Why = "its entities were stopped here because the seat was lost, and have not ended yet"
	case !s.rest.IsZero():
		w.Why, w.Until = "nobody knows who had it before, and whether something is left over there", s.rest
	case !s.lock.IsZero():
		w.Why = "the region is told to host it"
	case c.table.at.IsZero():
		w.Why = "the table of seats and locks was not read yet"
	case who.IsZero():
		w.Why = "no node that may host it has a seat"
		w.Act = "start a node that may host the type"
	case who == c.self:
		w.Why = "it is for this node to host, which has no seat at present"
	case !c.lives(who):
		w.Why = "the seat of its last owner has not run out"
		w.On = protocol.Holdups([]member.ID{who}, "is not a member of this cluster now")
	default:
		w.Why = "it is for another node to host"
		w.On = protocol.Holdups([]member.ID{who}, "has not said that it does")
	}
	return w
}

// Describe gives the whole state in words, for logs and tests: a line for the seat,
// one for each seat of the table, and one for each shard that is here or waits.
func (c *Core) Describe() string {
	var b strings.Builder
	if c.seat.token == 0 {
		b.WriteString("no seat\n")
	} else {
		fmt.Fprintf(&b, "seat %d\n", c.seat.token)
	}
	for _, s := range c.table.seats {
		fmt.Fprintf(&b, "seat %d of %s, leaving %v\n", s.token, s.Node, s.Leaving)
	}
	for _, s := range c.sorted {
		if s.settled() {
			fmt.Fprintf(&b, "shard %s is here by %s\n", s.name, s.lock)
		}
		for _, w := range c.Why(s.name) {
			fmt.Fprintf(&b, "shard %s: %s\n", s.name, w)
		}
	}
	return b.String()
}
