package transport_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/transport/certtest"
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

// kinds are the ways to secure a link.
func kinds(b *testing.B, run func(*testing.B, transport.Config)) {
	f := certtest.NewAuthority(b).Issue(b, "127.0.0.1")
	for _, kind := range []struct {
		name   string
		secure func(*transport.Config)
	}{
		{"plain", func(*transport.Config) {}},
		{"secret", func(c *transport.Config) { c.Secret = "what only the nodes know" }},
		{"tls", func(c *transport.Config) { c.TLS = &transport.TLS{CertFile: f.Cert, KeyFile: f.Key, CAFile: f.CA} }},
	} {
		b.Run(kind.name, func(b *testing.B) {
			cfg := transporttest.Config(1)
			cfg.Poison = false
			kind.secure(&cfg)
			run(b, cfg)
		})
	}
}

// BenchmarkSend measures frames from Send to Receive over TCP on the loopback
// interface.
func BenchmarkSend(b *testing.B) {
	for _, bb := range []struct {
		name          string
		senders, size int
	}{{"1to1", 1, 100}, {"64to1", 64, 100}, {"1MiB", 1, 1 << 20}} {
		b.Run(bb.name, func(b *testing.B) {
			kinds(b, func(b *testing.B, cfg transport.Config) { benchmarkSend(b, cfg, bb.senders, bb.size) })
		})
	}
}

func benchmarkSend(b *testing.B, cfg transport.Config, senders, size int) {
	got := &counter{reached: make(chan struct{}, 1)}
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
	payload := make([]byte, size)
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
func BenchmarkRoundTrip(b *testing.B) { kinds(b, benchmarkRoundTrip) }

func benchmarkRoundTrip(b *testing.B, cfg transport.Config) {
	got := &counter{reached: make(chan struct{}, 1)}
	var there echo
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

// BenchmarkConnect measures a link from the first Send to its Receive, and its
// end.
func BenchmarkConnect(b *testing.B) { kinds(b, benchmarkConnect) }

func benchmarkConnect(b *testing.B, cfg transport.Config) {
	got := &counter{reached: make(chan struct{}, 1)}
	to := transporttest.Open(b, transport.TCP{}, cfg, got).Self()
	b.ReportAllocs()
	for b.Loop() {
		cfg.UID++
		from, err := transport.TCP{}.Listen(b.Context(), cfg, &transporttest.Recorder{})
		if err != nil {
			b.Fatal(err)
		}
		got.want.Store(got.n.Load() + 1)
		if err := from.Send(to, transport.User, nil); err != nil {
			b.Fatal(err)
		}
		<-got.reached
		transporttest.Kill(b, from)
	}
}
