package shardsim

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/coordinator"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
)

// A coordinator was told by a node that it had not joined the type, and gives its
// shards out. The node joins, and its view still names the coordinator before,
// which acts by an older term: it must not get one of those shards from there.
func TestNodeThatWasAbsentObeysNoOlderTerm(t *testing.T) {
	ids := make([]member.ID, 4)
	for i, host := range []string{"c1", "c2", "x", "y"} {
		ids[i] = member.ID{Address: member.Address{Host: host, Port: 1}, UID: 1}
	}
	c1, c2, x, y := ids[0], ids[1], ids[2], ids[3]
	view := func(self member.ID, first member.Status) *member.View {
		v := &member.View{Self: self, DataCenter: "dc"}
		for i, id := range ids {
			v.Members = append(v.Members, member.Member{ID: id, Status: member.Up, UpNumber: i + 1, DataCenter: "dc"})
		}
		v.Members[0].Status = first
		return v
	}
	now := time.Unix(0, 0)
	old, next := coordinator.New(c1, coordinator.Settings{}), coordinator.New(c2, coordinator.Settings{})
	old.Step(now, coordinator.ViewChanged{View: view(c1, member.Up)}) // its claim from the next one is on the way
	next.Step(now, coordinator.ViewChanged{View: view(c2, member.Leaving)})
	next.Step(now, coordinator.NoPort{From: x})

	joining := region.New(x, region.Settings{})
	joining.Step(now, region.ViewChanged{View: view(x, member.Up)})
	order := func(seq uint64) protocol.Header { return protocol.Header{Term: old.Term(), Seq: seq} }
	give := func() (out region.Output) {
		joining.Step(now, region.Received{From: c1, Msg: protocol.Claim{Header: order(1)}})
		return joining.Step(now, region.Received{From: c1, Msg: protocol.HostShards{Header: order(2), Shards: []protocol.Assignment{
			{Tenure: protocol.Tenure{Shard: "7", Epoch: protocol.Epoch{Term: old.Term(), N: 1}}},
		}}})
	}
	if out := give(); len(out.Do) > 0 {
		t.Errorf("before anybody has answered it does %+v", out.Do)
	}
	for id, c := range map[member.ID]*coordinator.Core{c1: old, c2: next} {
		for _, p := range c.Step(now, coordinator.Received{From: x, Msg: protocol.Arriving{}}).Send {
			if answer, ok := p.Msg.(protocol.HighestTerm); ok && p.To == x {
				joining.Step(now, region.Received{From: id, Msg: answer})
			}
		}
	}
	joining.Step(now, region.NoPort{From: y})
	if out := give(); len(out.Do) > 0 {
		t.Errorf("by the older term it does %+v", out.Do)
	}

	joining.Step(now, region.Received{From: c2, Msg: protocol.Claim{Header: protocol.Header{Term: next.Term(), Seq: 1}}})
	if got := joining.Coordinator(); got != c2 {
		t.Errorf("it obeys %v, want %v", got, c2)
	}
}
