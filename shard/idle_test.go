package shard

import (
	"runtime"
	"strconv"
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

// What an idle entity costs in memory, all in: its cell, its place in the
// directory, its id of ten bytes, and a state of one number.
func BenchmarkIdleEntityBytes(b *testing.B) {
	const n = 200_000
	for range b.N {
		r, stop := benchShell(b, func(*actor.Ctx[msg]) (actor.Behavior[msg], error) {
			heard := 0
			return func(*actor.Ctx[msg], msg) error {
				heard++
				return nil
			}, nil
		})
		hostAll(r)
		before := heap()
		for i := range n {
			patient(r.ref(strconv.Itoa(1_000_000_000+i)), 1)
		}
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

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
