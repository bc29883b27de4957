package actor_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// BenchmarkTimer starts and stops a timer among a million others of as many actors, and reports what each of those holds
// for its own. The floor is a time.AfterFunc for each.
func BenchmarkTimer(b *testing.B) {
	const others = 1_000_000
	b.Run("actor", func(b *testing.B) {
		sys := benchSystem(b)
		idle := func(*actor.Ctx[benchMsg]) (actor.Behavior[benchMsg], error) { return ignore, nil }
		waiting := func(c *actor.Ctx[benchMsg]) (actor.Behavior[benchMsg], error) {
			return ignore, c.Schedule("idle", time.Hour, hit{})
		}
		before := held()
		for range others {
			spawnBench(b, sys, "", idle)
		}
		bare := held() - before
		for range others {
			spawnBench(b, sys, "", waiting)
		}
		timers := held() - before - 2*bare
		done := make(chan struct{})
		ref := spawnBench(b, sys, "", func(*actor.Ctx[benchMsg]) (actor.Behavior[benchMsg], error) {
			return func(c *actor.Ctx[benchMsg], _ benchMsg) error {
				defer close(done)
				for b.Loop() {
					if err := c.Schedule("it", time.Minute, hit{}); err != nil {
						return err
					}
					c.Cancel("it")
				}
				return nil
			}, nil
		})
		b.ReportAllocs()
		if err := ref.Tell(b.Context(), hit{}); err != nil {
			b.Fatal(err)
		}
		<-done
		b.ReportMetric(float64(timers)/others, "B/timer")
	})
	b.Run("runtime", func(b *testing.B) {
		timers := make([]*time.Timer, others)
		before := held()
		for i := range timers {
			timers[i] = time.AfterFunc(time.Hour, func() {})
		}
		each := float64(held()-before) / others
		b.ReportAllocs()
		for b.Loop() {
			time.AfterFunc(time.Minute, func() {}).Stop()
		}
		b.ReportMetric(each, "B/timer")
		for _, t := range timers {
			t.Stop()
		}
	})
}

func ignore(*actor.Ctx[benchMsg], benchMsg) error { return nil }

// held is the heap in use.
func held() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
