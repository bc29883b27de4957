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
	if _, ok := p.Msg.(protocol.Claim); ok && m == asksNobody {
		n.step(coordinator.NoPort{From: p.To})
	}
	if handOff, ok := p.Msg.(protocol.HandOff); ok && m == trustsHandOff {
		for _, l := range handOff.Moves {
			n.step(coordinator.Received{From: p.To, Msg: protocol.ShardsStopped{Shards: []protocol.Tenure{l.Tenure}}})
		}
	}
}

func (m mutant) received(n *node, from member.ID, msg protocol.Message) (member.ID, protocol.Message) {
	if handOff, ok := msg.(protocol.HandOff); ok && m == hostSkipsMarkers {
		handOff.From = nil
		return from, handOff
	}
	if host, ok := msg.(protocol.HostShards); ok && m == obeysAnyTerm && n.region.Term() != host.Term {
		host.Term, host.Seq = n.region.Term(), 1<<62
		return n.region.Coordinator(), host
	}
	return from, msg
}
