package troupe_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/transport"
)

// throttled is a connection that writes at most so many bytes a second, as a
// thin line would; each connection has a share of its own.
type throttled struct {
	net.Conn
	perSecond int
}

func (c throttled) Write(p []byte) (n int, err error) {
	const piece = 64 << 10
	for n < len(p) && err == nil {
		part := p[n:min(n+piece, len(p))]
		<-time.After(time.Duration(len(part)) * time.Second / time.Duration(c.perSecond))
		var wrote int
		wrote, err = c.Conn.Write(part)
		n += wrote
	}
	return n, err
}

type sink struct{ got chan int }

func (s sink) Receive(_ troupe.ID, _ transport.Lane, payload []byte) { s.got <- len(payload) }

// A message of 10 MiB takes three seconds on this line. If heartbeats waited
// behind it, the suspicion would be beyond all bounds after one.
func TestLargeMessageLeavesHeartbeatsOnTime(t *testing.T) {
	const size = 10 << 20
	times := troupe.Times{Heartbeat: 100 * time.Millisecond, AcceptablePause: 700 * time.Millisecond}
	thin := transport.TCP{DialTCP: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", to.String())
		if err != nil {
			return nil, err
		}
		return throttled{conn, size / 3}, nil
	}}
	start := func(seeds ...string) *troupe.Node {
		n, err := troupe.Start(t.Context(), troupe.Config{Seeds: seeds, Times: times, Transport: thin, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Kill)
		return n
	}
	a := start()
	b := start(a.ID().Address.String())
	for _, n := range []*troupe.Node{a, b} {
		if err := n.WhenUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got := make(chan int, 1)
	port, err := a.Open("bulk", sink{got})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Open("bulk", sink{got}); err != nil {
		t.Fatal(err)
	}
	if err := port.Send(b.ID(), transport.User, make([]byte, size)); err != nil {
		t.Fatalf("send %d bytes: %v", size, err)
	}
	highest, samples := 0.0, 0
	sample := time.NewTicker(20 * time.Millisecond)
	defer sample.Stop()
	for {
		select {
		case n := <-got:
			if n != size {
				t.Errorf("received %d bytes, want %d", n, size)
			}
			t.Logf("suspicion while %d bytes were under way: at most %.2f in %d samples", size, highest, samples)
			return
		case <-sample.C:
			highest, samples = max(highest, b.Suspicion(a.ID()), a.Suspicion(b.ID())), samples+1
			if highest >= 8 {
				t.Fatal(fmt.Errorf("suspicion %.1f while a large message is under way: heartbeats wait behind it", highest))
			}
		}
	}
}
