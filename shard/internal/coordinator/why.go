package coordinator

import (
	"fmt"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// Why tells what a shard waits for at the coordinator; nothing when it has a
// home that is told to everybody, or when this node is not the coordinator.
func (c *Core) Why(name string) []protocol.Wait {
	if c.reign == nil {
		return nil
	}
	s, ok := c.reign.shards[name]
	if !ok {
		return nil
	}
	h, housed := c.home(s)
	switch {
	case !housed:
		return []protocol.Wait{c.whyHomeless(s)}
	case !c.lives(h.Node):
		return []protocol.Wait{{For: "the margin after the removal of its host", On: []member.ID{h.Node}, Since: s.since, Until: c.until(h.Node)}}
	case !s.started:
		return []protocol.Wait{{For: "confirmation that it is hosted", On: []member.ID{h.Node}, Since: s.since}}
	case s.move == nil && s.ending:
		return []protocol.Wait{c.whyHomeless(s)}
	case s.move == nil:
		return nil
	case s.move.Stage() == Announcing:
		return []protocol.Wait{{For: "acknowledgement of its hand-over", On: s.move.Waiting(), Since: s.since, Until: s.move.deadline}}
	}
	return []protocol.Wait{{For: "the end of its entities", On: []member.ID{h.Node}, Since: s.since}}
}

func (c *Core) whyHomeless(s *shard) protocol.Wait {
	if c.reign.surveyed || !s.epoch.IsZero() {
		return protocol.Wait{For: "a region that is registered, Up, reachable and not leaving", Since: s.since}
	}
	w := protocol.Wait{For: "reports of members that may host it", Since: c.reign.since}
	for _, m := range c.view.Members {
		if c.unheard(m) {
			w.On = append(w.On, m.ID)
		}
	}
	for _, d := range c.gone {
		if c.unheard(d.Member) {
			w.On = append(w.On, d.ID)
		}
	}
	if len(w.On) == 0 {
		return protocol.Wait{For: "the margin of nodes that may have been removed before this one came", Since: c.reign.since, Until: c.blind}
	}
	return w
}

func (c *Core) until(id member.ID) time.Time {
	for _, d := range c.gone {
		if d.ID == id {
			return d.until
		}
	}
	return time.Time{} // downed, but not removed yet
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
