package region

import (
	"maps"
	"slices"

	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// keep notes where somebody outside wants a shard, for the next coordinator, and
// confirms it: only what all regions keep outlasts the coordinator's node.
func (c *Core) keep(w protocol.Wish) {
	if !c.set.Exists(w.Shard) {
		return // and so the wishes are bounded
	}
	if c.wishes[w.Shard].At.Less(w.At) {
		c.wishes[w.Shard] = w
	}
	kept := c.wishes[w.Shard]
	c.say(c.link.obeyed, protocol.WishesKept{Kept: []protocol.Tenure{{Shard: w.Shard, Epoch: kept.At}}})
}

// keptWishes are all, sorted by shard.
func (c *Core) keptWishes() []protocol.Wish {
	var wishes []protocol.Wish
	for _, name := range slices.Sorted(maps.Keys(c.wishes)) {
		wishes = append(wishes, c.wishes[name])
	}
	return wishes
}
