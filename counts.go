package troupe

import "sync/atomic"

// A Drop is a reason for which a node let go of something it could not use.
type Drop string

const (
	dropShortFrame     Drop = "frame too short"
	dropNoPort         Drop = "port not open"
	dropBadReply       Drop = "reply not understood"
	dropLateReply      Drop = "late reply"
	dropReply          Drop = "reply not sent"
	dropBadMembership  Drop = "membership message not understood"
	dropMembershipBusy Drop = "membership inbox full"
	dropBadEnvelope    Drop = "envelope not understood"
	dropPaused         Drop = "control message while paused"
	dropNobody         Drop = "no such actor"
	dropRefused        Drop = "refused by the actor"
)

var drops = [...]Drop{
	dropShortFrame, dropNoPort, dropBadReply, dropLateReply, dropReply, dropBadMembership, dropMembershipBusy,
	dropBadEnvelope, dropPaused, dropNobody, dropRefused,
}

// counts are the node's counters of drops by reason.
type counts struct{ by [len(drops)]atomic.Uint64 }

func (c *counts) add(d Drop) {
	for i := range drops {
		if drops[i] == d {
			c.by[i].Add(1)
			return
		}
	}
}

// Drops tells how often the node dropped what it received, by reason; reasons
// that never occurred are left out.
func (n *Node) Drops() map[Drop]uint64 {
	out := map[Drop]uint64{}
	for i, d := range drops {
		if v := n.counts.by[i].Load(); v > 0 {
			out[d] = v
		}
	}
	return out
}
