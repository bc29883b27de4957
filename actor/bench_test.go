package actor_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// Each benchmark of an actor stands beside what plain channels and goroutines need for the same: the floor.

type benchMsg interface{ bench() }

type (
	hit   struct{}
	flush struct{ done chan struct{} }
	get   struct{ Reply actor.Reply[int] }
)

func (hit) bench()   {}
func (flush) bench() {}
func (get) bench()   {}

func (g get) WithReply(r actor.Reply[int]) benchMsg { g.Reply = r; return g }

func counter(*actor.Ctx[benchMsg]) (actor.Behavior[benchMsg], error) {
	n := 0
	return func(c *actor.Ctx[benchMsg], m benchMsg) error {
		switch m := m.(type) {
		case hit:
			n++
		case flush:
			close(m.done)
		case get:
			return m.Reply.Send(c, n)
		}
		return nil
	}, nil
}

func benchSystem(b *testing.B) *actor.System {
	sys := actor.NewSystem(actor.Config{})
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := sys.Stop(ctx); err != nil {
			b.Error(err)
		}
	})
	return sys
}

func spawnBench[M any](b *testing.B, sys *actor.System, name string, start actor.Start[M]) actor.Ref[M] {
	ref, err := actor.Spawn(sys, name, start)
	if err != nil {
		b.Fatal(err)
	}
	return ref
}

// tellAll tells n messages and waits when the mailbox is full, as a channel's sender does.
func tellAll(b *testing.B, ref actor.Ref[benchMsg], n int) {
	ctx := context.Background()
	var m benchMsg = hit{}
	for range n {
		if err := ref.TellWait(ctx, m); err != nil {
			b.Error(err)
			return
		}
	}
}

func split(n, parts, i int) int { return n*(i+1)/parts - n*i/parts }

func BenchmarkTell(b *testing.B) {
	for _, senders := range []int{1, 2, 8} {
		b.Run(fmt.Sprintf("actor/%dto1", senders), func(b *testing.B) {
			ref := spawnBench(b, benchSystem(b), "counter", counter)
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for i := range senders {
				wg.Go(func() { tellAll(b, ref, split(b.N, senders, i)) })
			}
			wg.Wait()
			done := make(chan struct{})
			if err := ref.TellWait(b.Context(), flush{done}); err != nil {
				b.Fatal(err)
			}
			<-done
		})
		b.Run(fmt.Sprintf("channel/%dto1", senders), func(b *testing.B) {
			ch := make(chan benchMsg, 1024)
			done := make(chan int)
			go func() {
				n := 0
				for range ch {
					n++
				}
				done <- n
			}()
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for i := range senders {
				wg.Go(func() {
					var m benchMsg = hit{}
					for range split(b.N, senders, i) {
						ch <- m
					}
				})
			}
			wg.Wait()
			close(ch)
			<-done
		})
	}
}

func BenchmarkAsk(b *testing.B) {
	b.Run("actor", func(b *testing.B) {
		ref := spawnBench(b, benchSystem(b), "counter", counter)
		ctx := context.Background()
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			if _, err := actor.Ask(ctx, ref, get{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("channel", func(b *testing.B) {
		requests, replies := make(chan int), make(chan int)
		go func() {
			for q := range requests {
				replies <- q
			}
		}()
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			requests <- i
			<-replies
		}
		close(requests)
	})
}

// BenchmarkAsk64 has 64 ask one actor at the same time.
func BenchmarkAsk64(b *testing.B) {
	const askers = 64
	b.Run("actor", func(b *testing.B) {
		ref := spawnBench(b, benchSystem(b), "counter", counter)
		b.ReportAllocs()
		b.ResetTimer()
		var wg sync.WaitGroup
		for i := range askers {
			wg.Go(func() {
				for range split(b.N, askers, i) {
					if _, err := actor.Ask(context.Background(), ref, get{}); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
	b.Run("channel", func(b *testing.B) {
		type request struct{ reply chan int }
		requests := make(chan request, 1024)
		go func() {
			n := 0
			for q := range requests {
				q.reply <- n
			}
		}()
		b.ReportAllocs()
		b.ResetTimer()
		var wg sync.WaitGroup
		for i := range askers {
			wg.Go(func() {
				reply := make(chan int, 1)
				for range split(b.N, askers, i) {
					requests <- request{reply}
					<-reply
				}
			})
		}
		wg.Wait()
		close(requests)
	})
}

// ball goes to and fro until it has none left.
type ball struct {
	left int
	back actor.Ref[ball]
	done chan struct{}
}

func player(c *actor.Ctx[ball]) (actor.Behavior[ball], error) {
	return func(c *actor.Ctx[ball], m ball) error {
		if m.left == 0 {
			close(m.done)
			return nil
		}
		return m.back.Tell(c, ball{m.left - 1, c.Self(), m.done})
	}, nil
}

// BenchmarkPingPong counts each stroke, two for a round trip.
func BenchmarkPingPong(b *testing.B) {
	b.Run("actor", func(b *testing.B) {
		sys := benchSystem(b)
		one, two := spawnBench(b, sys, "one", player), spawnBench(b, sys, "two", player)
		done := make(chan struct{})
		b.ReportAllocs()
		b.ResetTimer()
		if err := one.Tell(b.Context(), ball{b.N, two, done}); err != nil {
			b.Fatal(err)
		}
		<-done
	})
	b.Run("channel", func(b *testing.B) {
		ping, pong, done := make(chan int), make(chan int), make(chan struct{})
		play := func(in, out chan int) {
			for n := range in {
				if n == 0 {
					close(done)
					return
				}
				out <- n - 1
			}
		}
		go play(ping, pong)
		go play(pong, ping)
		b.ReportAllocs()
		b.ResetTimer()
		ping <- b.N
		<-done
	})
}

func BenchmarkSpawn(b *testing.B) {
	b.Run("actor", func(b *testing.B) {
		sys := benchSystem(b)
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			spawnBench(b, sys, strconv.Itoa(i), counter)
		}
		b.StopTimer()
	})
	b.Run("cell", func(b *testing.B) {
		sys := benchSystem(b)
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			if _, err := actor.NewCell(sys, actor.CellConfig[benchMsg]{Name: strconv.Itoa(i), Start: counter}); err != nil {
				b.Fatal(err)
			}
		}
		b.StopTimer()
	})
	b.Run("goroutine", func(b *testing.B) {
		all := make(map[string]chan benchMsg)
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			ch := make(chan benchMsg, 1)
			all[strconv.Itoa(i)] = ch
			go func() {
				for range ch {
				}
			}()
		}
		b.StopTimer()
		for _, ch := range all {
			close(ch)
		}
	})
}

// BenchmarkFanOut tells one message to each of a thousand and waits until all have handled it.
func BenchmarkFanOut(b *testing.B) {
	const width = 1000
	b.Run("actor", func(b *testing.B) {
		sys := benchSystem(b)
		refs := make([]actor.Ref[*sync.WaitGroup], width)
		for i := range refs {
			refs[i] = spawnBench(b, sys, "", func(*actor.Ctx[*sync.WaitGroup]) (actor.Behavior[*sync.WaitGroup], error) {
				return func(_ *actor.Ctx[*sync.WaitGroup], m *sync.WaitGroup) error { m.Done(); return nil }, nil
			})
		}
		ctx := context.Background()
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			var wg sync.WaitGroup
			wg.Add(width)
			for _, ref := range refs {
				if err := ref.Tell(ctx, &wg); err != nil {
					b.Fatal(err)
				}
			}
			wg.Wait()
		}
	})
	b.Run("channel", func(b *testing.B) {
		chs := make([]chan *sync.WaitGroup, width)
		for i := range chs {
			ch := make(chan *sync.WaitGroup, 1)
			chs[i] = ch
			go func() {
				for wg := range ch {
					wg.Done()
				}
			}()
		}
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			var wg sync.WaitGroup
			wg.Add(width)
			for _, ch := range chs {
				ch <- &wg
			}
			wg.Wait()
		}
		b.StopTimer()
		for _, ch := range chs {
			close(ch)
		}
	})
}

// BenchmarkIdle reports what an idle actor holds beside its user's state, here one closure and one int.
func BenchmarkIdle(b *testing.B) {
	sys := benchSystem(b)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range b.N {
		spawnBench(b, sys, strconv.Itoa(i), counter)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(b.N), "B/actor")
}
