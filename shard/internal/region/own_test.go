package region

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A region whose authority is its own node's obeys nobody else, whatever the term,
// and a coordinator that asks hears that it disagrees.
func TestOwnAuthorityIsTheOnlyOne(t *testing.T) {
	self := member.ID{Address: member.Address{Host: "a", Port: 1}, UID: 1}
	other := member.ID{Address: member.Address{Host: "b", Port: 1}, UID: 1}
	view := &member.View{Self: self, Members: []member.Member{
		{ID: self, Status: member.Up, UpNumber: 2}, {ID: other, Status: member.Up, UpNumber: 1},
	}}
	c := New(self, Settings{Own: true, Agree: "ours"})
	now := time.Unix(0, 0)
	out := c.Step(now, ViewChanged{View: view})
	if len(out.Send) != 1 || out.Send[0].To != self {
		t.Errorf("at first it sends %+v, want one report to itself", out.Send)
	}

	out = c.Step(now, Received{From: other, Msg: protocol.Claim{Header: protocol.Header{Term: 9, Seq: 1}}})
	want := protocol.Report{Term: 9, Coordinator: other, Agree: "ours", Proxy: true}
	if got, ok := out.Send[0].Msg.(protocol.Report); !ok || got.Agree != want.Agree || got.Term != want.Term || !got.Proxy || out.Send[0].To != other {
		t.Errorf("to a coordinator it says %+v, want %+v", out.Send, want)
	}
	c.Step(now, Received{From: self, Msg: protocol.Claim{Header: protocol.Header{Term: 1, Seq: 1}}})
	c.Step(now, Received{From: self, Msg: protocol.Registered{Header: protocol.Header{Term: 1, Seq: 2}}})
	if !c.Registered() || c.Coordinator() != self {
		t.Errorf("registered %v with %v, want it to be with itself", c.Registered(), c.Coordinator())
	}
	host := protocol.HostShards{Header: protocol.Header{Term: 10, Seq: 1}, Shards: []protocol.Assignment{
		{Tenure: protocol.Tenure{Shard: "7", Epoch: protocol.Epoch{Term: 10, N: 1}}},
	}}
	if out := c.Step(now, Received{From: other, Msg: host}); len(out.Do) > 0 {
		t.Errorf("at the word of another it does %+v", out.Do)
	}
}

// The next owner waits for what the one before carries over, which may have had the
// lock and no time to host anything: then it has to say that there is nothing.
func TestOwnTenureThatNeverBeganIsFollowedByAWord(t *testing.T) {
	self := member.ID{Address: member.Address{Host: "a", Port: 1}, UID: 1}
	next := member.ID{Address: member.Address{Host: "b", Port: 1}, UID: 1}
	c := New(self, Settings{Own: true})
	now := time.Unix(0, 0)
	c.Step(now, ViewChanged{View: &member.View{Self: self, Members: []member.Member{
		{ID: self, Status: member.Up, UpNumber: 1}, {ID: next, Status: member.Up, UpNumber: 2},
	}}})
	seq := uint64(0)
	head := func() protocol.Header { seq++; return protocol.Header{Term: 1, Seq: seq} }
	c.Step(now, Received{From: self, Msg: protocol.Claim{Header: head()}})
	c.Step(now, Received{From: self, Msg: protocol.Registered{Header: head()}})
	at := func(n uint64) protocol.Tenure {
		return protocol.Tenure{Shard: "7", Epoch: protocol.Epoch{Term: 1, N: n}}
	}
	c.Step(now, Received{From: self, Msg: protocol.StopShards{Header: head(), Shards: []protocol.Tenure{at(1)}}})
	out := c.Step(now, Received{From: self, Msg: protocol.ShardHomes{
		Header: head(), Homes: []protocol.Home{{Tenure: at(2), Node: next}},
	}})
	want := Route{Shard: "7", Home: next, Epoch: at(2).Epoch, Mark: true}
	if len(out.Do) != 1 || out.Do[0] != want {
		t.Errorf("when the next owner is known it does %+v, want %+v", out.Do, want)
	}
}
