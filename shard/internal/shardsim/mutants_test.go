package shardsim

import (
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/coordinator"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
)

// A mutant breaks one rule of the protocol, from outside of the cores: by what
// it makes of messages and actions on their way. Each must be caught.
type mutant string

const (
	none             mutant = ""
	hostSkipsMarkers mutant = "the host does not wait for markers"
	hostSkipsCarry   mutant = "the new host does not hold others back until the old one has carried over"
	obeysAnyTerm     mutant = "regions obey any coordinator"
	asksNobody       mutant = "the coordinator gives shards out before all have answered"
	skipsMargin      mutant = "the coordinator does not wait for the margin of removed nodes"
	trustsHandOff    mutant = "the coordinator takes a shard for stopped when it has only asked for it"
)

func (m mutant) action(a region.Action) region.Action {
	if host, ok := a.(region.Host); ok && m == hostSkipsCarry {
		host.Await = member.ID{}
		return host
	}
	return a
}

func (m mutant) sent(n *node, p protocol.Packet) {
	switch msg := p.Msg.(type) {
	case protocol.Claim:
		if m == asksNobody {
			n.step(coordinator.NoPort{From: p.To})
		}
	case protocol.HandOff:
		if m == trustsHandOff {
			for _, l := range msg.Moves {
				n.step(coordinator.Received{From: p.To, Msg: protocol.ShardsStopped{Shards: []protocol.Tenure{l.Tenure}}})
			}
		}
	}
}

func (m mutant) received(n *node, from member.ID, msg protocol.Message) (member.ID, protocol.Message) {
	switch msg := msg.(type) {
	case protocol.HandOff:
		if m == hostSkipsMarkers {
			msg.From = nil
			return from, msg
		}
	case protocol.HostShards:
		if m == obeysAnyTerm && n.region.Term() != msg.Term {
			msg.Term, msg.Seq = n.region.Term(), 1<<62
			return n.region.Coordinator(), msg
		}
	}
	return from, msg
}
