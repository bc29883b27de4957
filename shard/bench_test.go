package shard

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
	"github.com/troupe-go/troupe/transport"
)

// counted is an actor that counts and tells each time it has heard n messages.
func counted(n int64, done chan<- struct{}) actor.Start[msg] {
	return func(*actor.Ctx[msg]) (actor.Behavior[msg], error) {
		var heard int64
		return func(*actor.Ctx[msg], msg) error {
			if heard++; heard == n {
				heard = 0
				done <- struct{}{}
			}
			return nil
		}, nil
	}
}

// patient tells n messages and waits while the mailbox is full.
func patient(ref actor.Ref[msg], n int) {
	var m msg = say{From: "bench", N: 1}
	ctx := context.Background()
	for range n {
		for ref.Tell(ctx, m) != nil {
			time.Sleep(50 * time.Microsecond)
		}
	}
}

// A local sharded send is measured beside the plain local send that it is made of.
func BenchmarkTellPlainActor(b *testing.B) {
	b.ReportAllocs()
	sys := actor.NewSystem(actor.Config{Log: slog.New(slog.DiscardHandler)})
	defer func() { _ = sys.Stop(context.Background()) }()
	done := make(chan struct{}, 1)
	ref, err := actor.Spawn(sys, "plain", counted(int64(b.N), done))
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	patient(ref, b.N)
	<-done
}

func BenchmarkTellLocalEntity(b *testing.B) {
	b.ReportAllocs()
	done := make(chan struct{}, 1)
	r, stop := benchShell(b, counted(int64(b.N), done))
	defer stop()
	s, err := r.slotOf("#engineering")
	if err != nil {
		b.Fatal(err)
	}
	s.setHost(region.Host{Shard: s.shard, Epoch: protocol.Epoch{Term: 1, N: 1}}, time.Now())
	b.ResetTimer()
	patient(r.ref("#engineering"), b.N)
	<-done
}

// Both in turns, so that what else the machine does falls on both alike; the
// ratio is that of the medians.
func BenchmarkTellEntityOverPlain(b *testing.B) { entityOverPlain(b, false) }

// The same with a ring, whose seat each batch of messages asks for.
func BenchmarkTellEntityOverPlainRing(b *testing.B) { entityOverPlain(b, true) }

func entityOverPlain(b *testing.B, ring bool) {
	const turn = 100_000
	done := make(chan struct{}, 1)
	r, stop := benchShell(b, counted(turn, done))
	defer stop()
	if ring {
		r.options = append(r.options, held())
	}
	s, err := r.slotOf("#engineering")
	if err != nil {
		b.Fatal(err)
	}
	s.setHost(region.Host{Shard: s.shard, Epoch: protocol.Epoch{Term: 1, N: 1}}, time.Now())
	plain, err := actor.Spawn(r.node, "plain", counted(turn, done))
	if err != nil {
		b.Fatal(err)
	}
	measure := func(ref actor.Ref[msg]) float64 {
		begin := time.Now()
		patient(ref, turn)
		<-done
		return float64(time.Since(begin)) / turn
	}
	var plains, entities []float64
	for b.Loop() {
		plains = append(plains, measure(plain))
		entities = append(entities, measure(r.ref("#engineering")))
	}
	slices.Sort(plains)
	slices.Sort(entities)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(plains[len(plains)/2], "plain-ns")
	b.ReportMetric(entities[len(entities)/2], "entity-ns")
	b.ReportMetric(entities[len(entities)/2]/plains[len(plains)/2], "ratio")
}

func BenchmarkTellLocalEntities(b *testing.B) { localEntities(b, false) }

func BenchmarkTellLocalEntitiesRing(b *testing.B) { localEntities(b, true) }

// held is the option of entities whose node has a seat.
func held() actor.Option {
	v := newValidity()
	v.extend(time.Now().Add(time.Hour))
	return actor.Held(v.hold())
}

// localEntities tells many one message each, so that each message is a batch.
func localEntities(b *testing.B, ring bool) {
	b.ReportAllocs()
	r, stop := benchShell(b, counted(-1, nil))
	defer stop()
	if ring {
		r.options = append(r.options, held())
	}
	var refs []actor.Ref[msg]
	for i := range 10_000 {
		id := fmt.Sprint("#", i)
		s, err := r.slotOf(id)
		if err != nil {
			b.Fatal(err)
		}
		if s.here == nil {
			s.setHost(region.Host{Shard: s.shard, Epoch: protocol.Epoch{Term: 1, N: 1}}, time.Now())
		}
		refs = append(refs, r.ref(id))
		patient(r.ref(id), 1)
	}
	b.ResetTimer()
	for i := range b.N {
		patient(refs[i%len(refs)], 1)
	}
}

func BenchmarkTellRemoteEntity(b *testing.B) {
	b.ReportAllocs()
	r, stop := benchShell(b, counted(-1, nil))
	defer stop()
	s, err := r.slotOf("#engineering")
	if err != nil {
		b.Fatal(err)
	}
	s.setRoute(region.Route{Shard: s.shard, Home: member.ID{UID: 7}, Epoch: protocol.Epoch{Term: 1, N: 1}}, time.Now())
	ref, ctx := r.ref("#engineering"), context.Background()
	var m msg = say{From: "bench", N: 1}
	b.ResetTimer()
	for range b.N {
		if err := ref.Tell(ctx, m); err != nil {
			b.Fatal(err)
		}
	}
}

// benchShell is a type on a node without a cluster.
func benchShell(b *testing.B, start actor.Start[msg]) (r *shell[msg], stop func()) {
	w := &world{log: slog.New(slog.DiscardHandler), nodes: map[member.ID]*fakeNode{}}
	n := &fakeNode{w: w, id: member.ID{UID: 1}, system: actor.NewSystem(actor.Config{Log: w.log})}
	typ, err := Type[msg]{Name: "bench", Start: start, Protocol: newProtocol()}.withDefaults()
	if err != nil {
		b.Fatal(err)
	}
	if r, err = newShell(n, typ); err != nil {
		b.Fatal(err)
	}
	r.port = new(sink)
	r.control.port = r.port
	close(r.ready)
	go r.control.run(nil)
	return r, func() {
		r.end()
		_ = n.system.Stop(context.Background())
	}
}

// sink is a port that takes everything.
type sink struct{ frames atomic.Int64 }

func (*sink) Lane(uint32) transport.Lane { return transport.User }
func (*sink) Close()                     {}
func (*sink) Retire()                    {}

func (s *sink) Send(member.ID, transport.Lane, []byte) error {
	s.frames.Add(1)
	return nil
}
