package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// saving is the way of wishes into the store, one at a time: what all regions keep
// outlasts every node, what the store keeps also a stop of all of them.
type saving struct {
	asked bool      // the store has not answered yet
	due   time.Time // when it is tried again, after it could not
}

// save puts out a wish that the store does not keep yet, if none is on the way.
func (c *Core) save(now time.Time) *protocol.Wish {
	if c.saving.asked || now.Before(c.saving.due) {
		return nil
	}
	w := c.unsaved()
	if w == nil {
		return nil
	}
	c.saving = saving{asked: true}
	return &w.Wish
}

func (c *Core) unsaved() *wish {
	if c.reign == nil || !c.set.Stored {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.reign.wishes)) {
		if w := c.reign.wishes[name]; !w.saved {
			return w
		}
	}
	return nil
}

func (c *Core) saved(now time.Time, in Saved) {
	c.saving.asked = false
	switch {
	case !in.Kept:
		c.saving.due = now.Add(c.set.Retry)
	case c.reign != nil:
		if w := c.reign.wishes[in.Shard]; w != nil && !in.At.Less(w.At) {
			w.saved = true
		}
	}
}

func (c *Core) saveWake() time.Time {
	if c.saving.asked || c.unsaved() == nil {
		return time.Time{}
	}
	return c.saving.due
}

// recall takes in the wishes that the store keeps, at the beginning of a reign.
func (c *Core) recall(now time.Time, kept []protocol.Wish) {
	for _, k := range kept {
		if c.set.Exists(k.Shard) {
			c.reign.wish(&wish{Wish: k, due: now, saved: true})
		}
	}
}
