package shard

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
)

// hostAll has all shards live on r's node.
func hostAll(r *shell[msg]) {
	for i := range r.typ.Shards {
		for _, number := range [...]int{i, -i} {
			if s, ok := r.slotNumbered(number); ok && s.here == nil {
				s.setHost(region.Host{Shard: s.shard, Epoch: protocol.Epoch{Term: 1, N: 1}}, time.Now())
			}
		}
	}
}

// populate starts n entities with ids of ten digits.
func populate(r *shell[msg], n int) {
	hostAll(r)
	for i := range n {
		patient(r.ref(idleID(i)), 1)
	}
}

func idleID(i int) string { return strconv.Itoa(1_000_000_000 + i) }

// small is an entity whose state is a number.
func small(*actor.Ctx[msg]) (actor.Behavior[msg], error) {
	heard := 0
	return func(c *actor.Ctx[msg], m msg) error {
		heard++
		if m, ok := m.(list); ok {
			return m.Reply.Send(c, nil)
		}
		return nil
	}, nil
}

// What an idle entity costs in memory, all in: its cell, its place in the
// directory, its id of ten bytes, and a state of one number.
func BenchmarkIdleEntityBytes(b *testing.B) {
	const n = 200_000
	for range b.N {
		r, stop := benchShell(b, small)
		before := heap()
		populate(r, n)
		time.Sleep(100 * time.Millisecond) // they handle their message and rest
		after := heap()
		if got := int(r.count.Load()); got != n {
			b.Fatalf("%d entities, want %d", got, n)
		}
		b.ReportMetric(float64(after-before)/n, "B/entity")
		b.ReportMetric(0, "ns/op")
		stop()
	}
}

// Asks at a steady 20,000 per second to entities drawn at random, while nothing
// else happens, and while the sweep goes over all of them every five seconds.
func BenchmarkAskWhileSweeping(b *testing.B) {
	const n = 500_000
	r, stop := benchShell(b, small)
	defer stop()
	populate(r, n)
	runtime.GC()
	for _, sweeping := range []bool{false, true} {
		b.Run(fmt.Sprintf("sweeping=%v", sweeping), func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				done := make(chan struct{})
				var sweeps sync.WaitGroup
				sweeps.Go(func() {
					for sweeping {
						select {
						case <-done:
							return
						case <-time.After(5 * time.Second * sweepSlice / n):
							r.passivate(time.Now())
						}
					}
				})
				took = append(took, askPaced(b, r, n)...)
				close(done)
				sweeps.Wait()
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// askPaced has 20 askers ask once per millisecond each, for two seconds, and gives
// how long after it was due each answer came.
func askPaced(b *testing.B, r *shell[msg], n int) []time.Duration {
	const askers, asks = 20, 2000
	var all sync.WaitGroup
	took := make([]time.Duration, askers*asks)
	for a := range askers {
		all.Go(func() {
			due := time.Now()
			for k := range asks {
				due = due.Add(time.Millisecond)
				time.Sleep(time.Until(due))
				if _, err := actor.Ask(b.Context(), r.ref(idleID(rand.IntN(n))), list{}); err != nil {
					b.Error(err)
				}
				took[a*asks+k] = time.Since(due)
			}
		})
	}
	all.Wait()
	return took
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
