package transport

import (
	"context"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

func TestStuckWriterBreaksTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := NewMemory()
		var up tape
		a, b := node(t, net, 1, &up), node(t, net, 2, &tape{})
		sendNumber(t, a, b.Self(), 0)
		synctest.Wait()
		net.Cut(a.Self().Address, b.Self().Address)
		if err := a.Send(b.Self(), User, make([]byte, 10<<20)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Second)
		_, _, downs := up.got()
		if len(downs) != 1 || !strings.Contains(downs[0].Error(), "timeout") {
			t.Errorf("LinkDown: got %v, want one time-out", downs)
		}
		if n := a.Stats().Dropped["broken"]; n != 1 {
			t.Errorf("Dropped[broken] = %d, want the frame in progress", n)
		}
	})
}

// Two nodes stream to each other from the first moment; connections break in the
// middle, again and again. Each receiver sees an increasing sequence, and a gap
// only if the sender was told of a break.
func TestREM10NoGapWithoutAReportedLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := NewMemory()
		tapes := [2]tape{}
		nodes := [2]Endpoint{node(t, net, 1, &tapes[0]), node(t, net, 2, &tapes[1])}
		const n = 3000
		var wg sync.WaitGroup
		for i := range nodes {
			wg.Go(func() {
				for k := range n {
					sendNumber(t, nodes[i], nodes[1-i].Self(), k)
					time.Sleep(time.Millisecond)
				}
			})
		}
		wg.Go(func() {
			for k := range 20 {
				time.Sleep(time.Duration(k*13) * time.Millisecond)
				net.Reset(nodes[0].Self().Address, nodes[1].Self().Address)
			}
		})
		wg.Wait()
		time.Sleep(10 * time.Second)
		for i := range nodes {
			numbers, _, _ := tapes[1-i].got()
			_, ups, downs := tapes[i].got()
			gaps := 0
			for k := 1; k < len(numbers); k++ {
				if numbers[k] <= numbers[k-1] {
					t.Fatalf("receiver %d: %d after %d", 1-i, numbers[k], numbers[k-1])
				}
				if numbers[k] > numbers[k-1]+1 {
					gaps++
				}
			}
			if gaps > len(downs) {
				t.Errorf("sender %d: %d gaps, %d reported breaks", i, gaps, len(downs))
			}
			if len(ups) != len(downs)+1 || numbers[len(numbers)-1] != n-1 {
				t.Errorf("sender %d: %d ups, %d downs, last number %d, want the link up in the end", i, len(ups), len(downs), numbers[len(numbers)-1])
			}
		}
	})
}

// One peer fails in reading and in writing at the same moment, again and again;
// ten others keep their links.
func TestSHD16BreaksDoNotTouchOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := NewMemory()
		var watch tape
		a, bad := node(t, net, 1, &watch), node(t, net, 2, &tape{})
		healthy := make([]Endpoint, 10)
		for i := range healthy {
			healthy[i] = node(t, net, int64(10+i), &tape{})
			sendNumber(t, a, healthy[i].Self(), 0)
		}
		for range 300 {
			sendNumber(t, a, bad.Self(), 0)
			go net.Reset(a.Self().Address, bad.Self().Address)
			sendNumber(t, a, bad.Self(), 1)
			time.Sleep(100 * time.Millisecond)
		}
		_, ups, _ := watch.got()
		times := make(map[member.ID]int)
		for _, id := range ups {
			times[id]++
		}
		for _, e := range healthy {
			if times[e.Self()] != 1 {
				t.Errorf("link to healthy %v was made %d times, want once", e.Self(), times[e.Self()])
			}
		}
		if times[bad.Self()] < 20 {
			t.Errorf("link to the bad peer was made %d times, want many", times[bad.Self()])
		}
		a.Disconnect(bad.Self())
		a.Quarantine(bad.Self())
		a.Disconnect(bad.Self())
	})
}

func TestREM02NewIncarnationIsWelcomeAtOnce(t *testing.T) {
	for _, after := range []time.Duration{100 * time.Millisecond, time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			net := NewMemory()
			var got tape
			a := node(t, net, 1, &got)
			b := node(t, net, 2, &tape{})
			at := func(c *Config) { c.Listen = b.Self().Address }
			sendNumber(t, b, a.Self(), 1)
			synctest.Wait()
			a.Quarantine(b.Self())
			kill(b)
			time.Sleep(after)
			b = node(t, net, 3, &tape{}, at)
			sendNumber(t, b, a.Self(), 2)
			sendNumber(t, a, b.Self(), 3)
			time.Sleep(2 * time.Second)
			wantNumbers(t, &got, 1, 3)
			if s := a.Stats(); s.LinksUp != 1 {
				t.Errorf("after %v: links up %d, want the one to the new incarnation", after, s.LinksUp)
			}
		})
	}
}

// A peer accepts and never answers. Every attempt ends by its deadline and
// leaves nothing behind: the bubble itself fails if a goroutine does.
func TestREM04AttemptsLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := NewMemory()
		const attempts = 5_000
		silent, err := memory.bind(nodeID("10.0.0.2", 2552, 0).Address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = silent.Close() }()
		go func() {
			for conn, err := silent.Accept(); err == nil; conn, err = silent.Accept() {
				go func() {
					_, _ = io.Copy(io.Discard, conn) // until the other side closes
					hangUp(conn)
				}()
			}
		}()
		a := node(t, memory, 1, &tape{}, func(c *Config) {
			c.HandshakeTimeout, c.MinBackoff, c.MaxBackoff, c.GiveUp = time.Millisecond, time.Microsecond, time.Microsecond, time.Hour
		})
		sendNumber(t, a, nodeID("10.0.0.2", 2552, 2), 0)
		for a.Stats().Dials < attempts {
			time.Sleep(time.Second)
		}
		s := a.Stats()
		if s.Dials-s.DialErrors > 1 || len(s.Links) != 1 || s.Links[0].State != "dialing" || s.Links[0].LastError == "" {
			t.Errorf("after %d attempts: %d errors, links %+v", s.Dials, s.DialErrors, s.Links)
		}
		memory.mu.Lock()
		if n := len(memory.conns); n > 4 {
			t.Errorf("%d ends of connections are open, want those of one attempt", n)
		}
		memory.mu.Unlock()
	})
}

// dialer lets TCP run over memory, with names.
func dialer(memory *Memory, from string, names map[string][]netip.Addr, mu *sync.Mutex) TCP {
	return TCP{
		LookupNetIP: func(_ context.Context, host string) ([]netip.Addr, error) {
			mu.Lock()
			defer mu.Unlock()
			return append([]netip.Addr(nil), names[host]...), nil
		},
		DialTCP: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			return memory.connect(ctx, nodeID(from, 2552, 0).Address, nodeID(to.Addr().String(), int(to.Port()), 0).Address)
		},
		ListenTCP: func(_ context.Context, at netip.AddrPort) (net.Listener, error) {
			return memory.bind(nodeID(at.Addr().String(), int(at.Port()), 0).Address)
		},
	}
}

// A peer known by name moves to another IP address; the old one swallows
// packets, and three stale addresses are in the record before the good one.
func TestMEM13NamesAreResolvedAtEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := NewMemory()
		var mu sync.Mutex
		names := map[string][]netip.Addr{"peer": {netip.MustParseAddr("10.0.0.2")}}
		record := func(ips ...string) {
			mu.Lock()
			defer mu.Unlock()
			names["peer"] = nil
			for _, ip := range ips {
				names["peer"] = append(names["peer"], netip.MustParseAddr(ip))
			}
		}
		a := node(t, dialer(memory, "10.0.0.1", names, &mu), 1, &tape{})
		peer := func(ip string) func(*Config) {
			return func(c *Config) {
				c.Listen = nodeID(ip, 2552, 0).Address
				c.Advertise = nodeID("peer", 2552, 0).Address
			}
		}
		b := node(t, dialer(memory, "10.0.0.2", names, &mu), 2, &tape{}, peer("10.0.0.2"))
		sendNumber(t, a, b.Self(), 0)
		synctest.Wait()

		for _, black := range []string{"10.0.0.2", "10.0.0.3", "10.0.0.4"} {
			memory.Cut(a.Self().Address, nodeID(black, 2552, 0).Address)
		}
		kill(b)
		var got tape
		b = node(t, dialer(memory, "10.0.0.9", names, &mu), 3, &got, peer("10.0.0.9"))
		sendNumber(t, a, b.Self(), 1)
		time.Sleep(7 * time.Second) // in vain
		record("10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.9")
		time.Sleep(5 * time.Second)
		wantNumbers(t, &got, 1, 2)
	})
}
