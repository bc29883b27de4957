package shard

import (
	"log/slog"
	"slices"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// look has the watch see what waits here, from time to time while anything may, and
// tells of what has waited for too long.
func (c *control) look(now time.Time) {
	if now.Before(c.watch.due) {
		c.watch.pending = true
		return
	}
	overdue, fresh := c.watch.look(now, slices.Concat(c.misfit(), c.region.Waits(), c.authority.waits(), c.hands.waits()))
	c.trouble.Store(&overdue)
	for _, t := range fresh {
		c.overdue.Add(1)
		c.complain.warn("a shard waits for longer than it may", string(t.Wait.What),
			slog.String("shard", t.Shard), slog.String("wait", t.Wait.String()),
			slog.Duration("for", now.Sub(t.Wait.Since)), slog.String("act", t.Wait.Act))
		c.observe(t)
	}
}

// misfit is what a node waits for that declares the type differently: it neither
// hosts nor takes messages, and does not end that by itself.
func (c *control) misfit() []protocol.Waiting {
	if !c.region.Disagrees() {
		return nil
	}
	return []protocol.Waiting{{Wait: troupe.Wait{
		What: protocol.WaitDecider,
		Why:  "this node declares the type differently from those who decide, so it gets no shards and refuses messages",
		Act:  "start it with the settings of the others; its log has both",
	}}}
}

// troubles are those of the last look.
func (c *control) troubles() []Trouble {
	if t := c.trouble.Load(); t != nil {
		return *t
	}
	return nil
}
