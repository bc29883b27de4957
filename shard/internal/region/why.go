package region

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// Why tells what a shard waits for at this node; nothing when it does not wait.
func (c *Core) Why(name string) []protocol.Wait {
	s, ok := c.shards[name]
	if !ok {
		return nil
	}
	var waits []protocol.Wait
	if t := s.tenancy; t != nil {
		waits = append(waits, t.why()...)
	}
	switch {
	case !s.wanted && !s.owed:
	case !s.home.IsZero():
		waits = append(waits, protocol.Wait{For: "room in the link to the home, for what had waited", On: []member.ID{s.home}, Since: s.since})
	case c.link.expected.IsZero():
		waits = append(waits, protocol.Wait{For: "a member that is Up and can be the coordinator", Since: s.since})
	case !c.link.arrived():
		waits = append(waits, protocol.Wait{For: "the highest term that other nodes have heard of", On: slices.Clone(c.link.unheard), Since: s.since})
	case !c.Registered():
		waits = append(waits, protocol.Wait{For: "the coordinator's confirmation of this region", On: []member.ID{c.link.expected}, Since: s.since, Until: c.link.reportDue})
	case s.owed:
		waits = append(waits, protocol.Wait{For: "a new home for what its entities left over here", On: []member.ID{c.link.obeyed}, Since: s.since, Until: s.stopDue})
	default:
		waits = append(waits, protocol.Wait{For: "a home for buffered messages", On: []member.ID{c.link.obeyed}, Since: s.since, Until: s.askDue})
	}
	return waits
}

func (t *tenancy) why() []protocol.Wait {
	var waits []protocol.Wait
	if !t.await.IsZero() {
		waits = append(waits, protocol.Wait{For: "what the previous host carries over", On: []member.ID{t.await}, Since: t.since, Until: t.awaitUntil})
	}
	switch t.stage {
	case hosting:
	case marking:
		waits = append(waits, protocol.Wait{For: "the markers behind the last messages of other regions", On: t.expect, Since: t.since, Until: t.until})
	case draining:
		waits = append(waits, protocol.Wait{For: "the graceful end of its entities", Since: t.since, Until: t.until})
	case killed:
		waits = append(waits, protocol.Wait{For: "the end of its entities, which were stopped at once", Since: t.since})
	}
	return waits
}
