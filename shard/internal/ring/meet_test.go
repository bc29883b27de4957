package ring

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A node takes no seat before the oldest has said that it has a ring, or nothing of
// the type, or nothing for a while; and gives it up when the oldest coordinates.
func TestSeatOnlyBesideRings(t *testing.T) {
	id := func(n int) member.ID {
		return member.ID{Address: member.Address{Host: "n", Port: n}, UID: int64(n)}
	}
	view := func(self int, up ...int) ViewChanged {
		v := &member.View{Self: id(self)}
		for _, n := range up {
			v.Members = append(v.Members, member.Member{ID: id(n), Status: member.Up, UpNumber: n})
		}
		return ViewChanged{View: v}
	}
	said := func(from int, m protocol.Message) Received { return Received{From: id(from), Msg: m} }
	claim := protocol.Claim{Header: protocol.Header{Term: 3, Seq: 1}}
	hosting := protocol.Report{Hosted: []protocol.Hosted{{Tenure: protocol.Tenure{Shard: "1", Epoch: protocol.Epoch{Term: 3, N: 1}}}}}
	for _, tt := range []struct {
		name string
		then []Input
		wait time.Duration
		want bool
	}{
		{"not joined yet", []Input{view(2)}, time.Minute, false},
		{"alone", []Input{view(2, 2)}, 0, true},
		{"the oldest", []Input{view(2, 2, 3)}, 0, true},
		{"no answer yet", []Input{view(2, 1, 2)}, time.Second, false},
		{"no answer", []Input{view(2, 1, 2)}, 2 * time.Second, true},
		{"a ring", []Input{view(2, 1, 2), said(1, protocol.Look{})}, 0, true},
		{"not the oldest's answer", []Input{view(3, 1, 2, 3), said(2, protocol.Look{})}, 0, false},
		{"not joined the type", []Input{view(2, 1, 2), NoPort{From: id(1)}}, 0, true},
		{"a coordinator", []Input{view(2, 1, 2), said(1, claim)}, time.Minute, false},
		{"a coordinator that comes late", []Input{view(2, 1, 2), said(1, protocol.Look{}), said(1, claim)}, time.Minute, false},
		{"a younger one that coordinates", []Input{view(2, 1, 2, 3), said(1, protocol.Look{}), said(3, claim)}, 0, true},
		{"the coordinator has gone", []Input{view(2, 1, 2), said(1, claim), view(2, 2)}, 2 * time.Second, true},
		{"it was not the last that hosts", []Input{view(2, 1, 2, 3), said(1, claim), view(2, 2, 3), said(3, hosting)}, time.Minute, false},
		{"the last that hosts has gone", []Input{view(2, 1, 2, 3), said(1, claim), view(2, 2, 3), said(3, hosting), view(2, 2)}, 2 * time.Second, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := time.Unix(1_000_000, 0)
			c := New(tt.then[0].(ViewChanged).View.Self, Settings{Shards: 8})
			var out Output
			for _, in := range tt.then {
				out = c.Step(now, in)
			}
			for end := now.Add(tt.wait); now.Before(end); {
				now = now.Add(250 * time.Millisecond)
				out = c.Step(now, Tick{})
			}
			if out.Seat.Sit != tt.want {
				t.Errorf("after %v and %v it wants a seat: %v, want %v", tt.then[1:], tt.wait, out.Seat.Sit, tt.want)
			}
		})
	}
}
