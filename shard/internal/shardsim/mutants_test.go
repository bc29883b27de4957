package shardsim

import (
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/coordinator"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
	"github.com/troupe-go/troupe/store"
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
	trustsHandOff    mutant = "the authority takes a shard for stopped when it has only asked for it"

	gateLeftOpen     mutant = "entities do not ask whether the seat still lasts"
	outlivesSeat     mutant = "the end of a seat ends nothing that hangs on it"
	countsFromAnswer mutant = "a seat is trusted from when the store's answer has come"
	epochNotRaised   mutant = "a lock taken anew has the epoch of the one before"
	givesByName      mutant = "the store frees a lock whoever has it"
	forgetsAudience  mutant = "the giver does not wait until all have heard that it gives a shard away"
	believesReleased mutant = "a lock that somebody says to have given back is free, however old the word"
)

// latched is a lock as the store keeps it, after the one before.
func (m mutant) latched(before, l store.Latch) store.Latch {
	if m == epochNotRaised && before.Epoch != (store.Epoch{}) {
		l.Epoch = before.Epoch
	}
	return l
}

// trusted is how long a node believes in its seat.
func (m mutant) trusted(now, until time.Time) time.Time {
	if m == countsFromAnswer {
		return now.Add(seatTTL)
	}
	if m == outlivesSeat {
		return until.Add(time.Hour)
	}
	return until
}

// trustsItself: the core does not hear that the seat is lost.
func (m mutant) trustsItself() bool { return m == countsFromAnswer || m == outlivesSeat }

// owned is how long entities believe that they may act.
func (m mutant) owned(until time.Time) time.Time {
	if m == gateLeftOpen && !until.IsZero() {
		return until.Add(time.Hour)
	}
	return until
}

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
			n.step(region.Received{From: p.To, Msg: protocol.ShardsStopped{Shards: []protocol.Tenure{l.Tenure}}})
		}
	}
	if handing, ok := p.Msg.(protocol.Handing); ok && m == forgetsAudience {
		for _, l := range handing.Moves {
			n.step(region.Received{From: p.To, Msg: protocol.Handed{Acks: []protocol.Ack{{Shard: l.Shard, Next: l.Next}}}})
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
	if released, ok := msg.(protocol.Released); ok && m == believesReleased {
		for _, t := range released.Shards {
			n.w.db.latches[t.Shard] = store.Latch{Epoch: n.w.db.latches[t.Shard].Epoch}
		}
	}
	return from, msg
}
