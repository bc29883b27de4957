package membership

import (
	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/sbr"
)

// Downing is news of the split brain resolver among the events of the
// membership. A decision is told before what it does to members.
type Downing struct {
	gossip.Marker
	News sbr.Event
}

// Deciding tells what stands between this node and the resolver's decision
// about unreachable members; empty when all can be reached.
func (c *Core) Deciding() []member.Wait { return c.resolver.Waits() }
