package shard

import (
	"context"
	"log/slog"
	"testing"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
	"github.com/troupe-go/troupe/transport"
)

// pipe is a port that gives frames to another node at once.
type pipe struct {
	from troupe.ID
	to   troupe.PortHandler
}

func (pipe) Lane(uint32) transport.Lane { return transport.User }
func (pipe) Close()                     {}
func (pipe) Retire()                    {}

func (p pipe) Send(_ troupe.ID, lane transport.Lane, frame []byte) error {
	p.to.Receive(p.from, lane, frame)
	return nil
}

// The whole way of a tell from one node to an entity of another one, but for the link, by
// both classes of delivery.
func BenchmarkTellThrough(b *testing.B) {
	for _, d := range []Delivery{AtMostOnce, AtLeastOnce} {
		b.Run(d.String(), func(b *testing.B) {
			b.ReportAllocs()
			done := make(chan struct{}, 1)
			near, far := pairOf(b, d, counted(int64(b.N), done))
			s, err := near.slotOf("#engineering")
			if err != nil {
				b.Fatal(err)
			}
			epoch := protocol.Epoch{Term: 1, N: 1}
			t, _ := far.slotNamed(s.shard)
			t.setHost(region.Host{Shard: s.shard, Epoch: epoch}, time.Now())
			s.setRoute(region.Route{Shard: s.shard, Home: far.self, Epoch: epoch}, time.Now())
			ref, ctx := near.ref("#engineering"), context.Background()
			var m msg = say{From: "bench", N: 1}
			b.ResetTimer()
			for range b.N {
				if err := ref.TellWait(ctx, m); err != nil {
					b.Fatal(err)
				}
			}
			<-done
		})
	}
}

// pairOf makes two nodes' parts in a type, each the other's only peer.
func pairOf(b *testing.B, d Delivery, start actor.Start[msg]) (near, far *shell[msg]) {
	w := &world{log: slog.New(slog.DiscardHandler), nodes: map[member.ID]*fakeNode{}}
	var both []*shell[msg]
	for uid := range int64(2) {
		n := &fakeNode{w: w, id: member.ID{UID: uid + 1}, system: actor.NewSystem(actor.Config{Log: w.log})}
		typ, err := Type[msg]{Name: "bench", Start: start, Protocol: newProtocol(), Delivery: d, Mailbox: 1 << 20}.withDefaults()
		if err != nil {
			b.Fatal(err)
		}
		r, err := newShell(n, typ)
		if err != nil {
			b.Fatal(err)
		}
		both = append(both, r)
		b.Cleanup(func() {
			r.end()
			_ = n.system.Stop(context.Background())
		})
	}
	near, far = both[0], both[1]
	near.port, far.port = pipe{near.self, far}, pipe{far.self, near}
	for _, r := range both {
		r.control.port = r.port
		close(r.ready)
		go r.control.run(nil)
	}
	return near, far
}
