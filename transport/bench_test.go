package transport_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/transport/transporttest"
)

// A counter counts what it receives and tells when a number is reached.
type counter struct {
	n, want atomic.Int64
	reached chan struct{}
}

func (c *counter) Receive(member.ID, transport.Lane, []byte) {
	if c.n.Add(1) == c.want.Load() {
		c.reached <- struct{}{}
	}
}
func (*counter) LinkUp(member.ID)          {}
func (*counter) LinkDown(member.ID, error) {}

// BenchmarkSend measures frames of 100 bytes from Send to Receive over TCP on
// the loopback interface.
func BenchmarkSend(b *testing.B) {
	for _, bb := range []struct {
		name    string
		senders int
	}{{"1to1", 1}, {"64to1", 64}} {
		b.Run(bb.name, func(b *testing.B) { benchmarkSend(b, bb.senders) })
	}
}

func benchmarkSend(b *testing.B, senders int) {
	got := &counter{reached: make(chan struct{}, 1)}
	cfg := transporttest.Config(1)
	cfg.Poison = false
	from := transporttest.Open(b, transport.TCP{}, cfg, &transporttest.Recorder{})
	cfg.UID = 2
	to := transporttest.Open(b, transport.TCP{}, cfg, got).Self()
	got.want.Store(1)
	if err := from.Send(to, transport.User, nil); err != nil {
		b.Fatal(err)
	}
	<-got.reached
	got.n.Store(0)
	got.want.Store(int64(b.N))
	payload := make([]byte, 100)
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := s; i < b.N; i += senders {
				for err := from.Send(to, transport.User, payload); err != nil; err = from.Send(to, transport.User, payload) {
					if !errors.Is(err, transport.ErrFull) {
						b.Errorf("Send: %v", err)
						return
					}
					runtime.Gosched()
				}
			}
		})
	}
	wg.Wait()
	<-got.reached
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
}

// An echo sends back what it receives.
type echo struct {
	back atomic.Pointer[transport.Endpoint]
}

func (e *echo) Receive(from member.ID, lane transport.Lane, payload []byte) {
	if err := (*e.back.Load()).Send(from, lane, payload); err != nil {
		panic(err)
	}
}
func (*echo) LinkUp(member.ID)          {}
func (*echo) LinkDown(member.ID, error) {}

// BenchmarkRoundTrip measures one frame there and one back over TCP on the
// loopback interface, one at a time.
func BenchmarkRoundTrip(b *testing.B) {
	got := &counter{reached: make(chan struct{}, 1)}
	var there echo
	cfg := transporttest.Config(1)
	cfg.Poison = false
	from := transporttest.Open(b, transport.TCP{}, cfg, got)
	cfg.UID = 2
	e := transporttest.Open(b, transport.TCP{}, cfg, &there)
	there.back.Store(&e)
	payload := make([]byte, 100)
	trip := func(n int64) {
		got.want.Store(n)
		if err := from.Send(e.Self(), transport.User, payload); err != nil {
			b.Fatal(err)
		}
		<-got.reached
	}
	trip(1)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		trip(int64(i) + 2)
	}
}
