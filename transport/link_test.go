package transport

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
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

// A tape records what a handler is told; the numbers are payloads of four bytes.
type tape struct {
	mu      sync.Mutex
	numbers []int
	ups     []member.ID
	downs   []error
	slow    time.Duration
}

func (h *tape) Receive(_ member.ID, _ Lane, payload []byte) {
	time.Sleep(h.slow)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(payload) == 4 {
		h.numbers = append(h.numbers, int(binary.BigEndian.Uint32(payload)))
	}
}

func (h *tape) LinkUp(peer member.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ups = append(h.ups, peer)
}

func (h *tape) LinkDown(_ member.ID, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.downs = append(h.downs, err)
}

// got returns a copy of what was recorded.
func (h *tape) got() (numbers []int, ups []member.ID, downs []error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append(numbers, h.numbers...), append(ups, h.ups...), append(downs, h.downs...)
}

// node opens an endpoint, by default at 10.0.0.uid:2552, for the life of a test.
func node(t *testing.T, tr Transport, uid int64, h Handler, change ...func(*Config)) Endpoint {
	t.Helper()
	cfg := Config{Cluster: "x", UID: uid, Listen: nodeID(fmt.Sprintf("10.0.0.%d", uid), 2552, 0).Address, Poison: true, Insecure: true}
	for _, f := range change {
		f(&cfg)
	}
	e, err := tr.Listen(t.Context(), cfg, h)
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	t.Cleanup(func() { kill(e) })
	return e
}

func kill(e Endpoint) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return e.Close(ctx)
}

func sendNumber(t *testing.T, from Endpoint, to member.ID, n int) {
	t.Helper()
	if err := from.Send(to, User, binary.BigEndian.AppendUint32(nil, uint32(n))); err != nil {
		t.Fatalf("send %d: %v", n, err)
	}
}

// wantNumbers checks that a handler got from, from+1, ... to-1.
func wantNumbers(t *testing.T, h *tape, from, to int) {
	t.Helper()
	numbers, _, _ := h.got()
	if len(numbers) != to-from {
		t.Fatalf("got %d numbers, want %d", len(numbers), to-from)
	}
	for i, n := range numbers {
		if n != from+i {
			t.Fatalf("number %d: got %d, want %d", i, n, from+i)
		}
	}
}

func TestBackoff(t *testing.T) {
	const least, most = 50 * time.Millisecond, 2 * time.Second
	for _, tt := range []struct {
		failures int
		random   float64
		want     time.Duration
	}{
		{failures: 0, random: 1, want: 0},
		{failures: 1, random: 0, want: 25 * time.Millisecond},
		{failures: 1, random: 1, want: 50 * time.Millisecond},
		{failures: 3, random: 1, want: 200 * time.Millisecond},
		{failures: 7, random: 0.5, want: 1500 * time.Millisecond},
		{failures: 1_000_000, random: 1, want: most},
	} {
		if got := backoff(tt.failures, least, most, tt.random); got != tt.want {
			t.Errorf("backoff after %d failures, random %v: got %v, want %v", tt.failures, tt.random, got, tt.want)
		}
	}
}

func TestFramesWaitForTheirPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := NewMemory()
		a := node(t, net, 1, &tape{})
		to := nodeID("10.0.0.2", 2552, 2)
		for i := range 100 {
			sendNumber(t, a, to, i)
		}
		time.Sleep(5 * time.Second)
		var got tape
		node(t, net, 2, &got)
		time.Sleep(2 * time.Second)
		wantNumbers(t, &got, 0, 100)
	})
}

func TestFramesAreGivenUpAtTheirAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := NewMemory()
		a := node(t, net, 1, &tape{}, func(c *Config) { c.GiveUp = 8 * time.Second })
		to := nodeID("10.0.0.2", 2552, 2)
		for i := range 30 {
			sendNumber(t, a, to, i)
			time.Sleep(time.Second)
		}
		var got tape
		node(t, net, 2, &got)
		time.Sleep(3 * time.Second)
		numbers, _, _ := got.got()
		dropped := a.Stats().Dropped["gave_up"]
		if len(numbers)+int(dropped) != 30 {
			t.Errorf("%d received and %d dropped, want 30 in all", len(numbers), dropped)
		}
		if first := numbers[0]; first < 20 || first > 26 {
			t.Errorf("the oldest that waited is %d of 30, one a second: want one 4 to 10 s old", first)
		}
		wantNumbers(t, &got, numbers[0], 30)
	})
}

func TestCutLosesNothingWhenItHealsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := NewMemory()
		var got tape
		a, b := node(t, net, 1, &tape{}), node(t, net, 2, &got)
		sendNumber(t, a, b.Self(), 0)
		synctest.Wait()
		net.Cut(a.Self().Address, b.Self().Address)
		for i := range 99 {
			sendNumber(t, a, b.Self(), i+1)
		}
		time.Sleep(5 * time.Second)
		wantNumbers(t, &got, 0, 1)
		net.Heal(a.Self().Address, b.Self().Address)
		synctest.Wait()
		wantNumbers(t, &got, 0, 100)
		if s := a.Stats(); s.LinksUp != 1 || s.LinksDown != 0 {
			t.Errorf("links up %d, down %d, want the one link", s.LinksUp, s.LinksDown)
		}
	})
}

func TestDelayKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := NewMemory()
		var got tape
		a, b := node(t, net, 1, &tape{}), node(t, net, 2, &got)
		sendNumber(t, a, b.Self(), 0)
		synctest.Wait()
		start := time.Now()
		net.Delay(a.Self().Address, b.Self().Address, time.Second)
		sendNumber(t, a, b.Self(), 1)
		synctest.Wait()
		net.Delay(a.Self().Address, b.Self().Address, 0)
		sendNumber(t, a, b.Self(), 2)
		synctest.Wait()
		wantNumbers(t, &got, 0, 1)
		time.Sleep(time.Second)
		synctest.Wait()
		wantNumbers(t, &got, 0, 3)
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v, want 1s", took)
		}
	})
}

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
		const attempts = 20_000
		silent, err := memory.bind(nodeID("10.0.0.2", 2552, 0).Address)
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		go func() {
			for conn, err := silent.Accept(); err == nil; conn, err = silent.Accept() {
				go func() {
					io.Copy(io.Discard, conn) // until the other side closes
					conn.Close()
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

func TestAddressLinkIsClosedWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := NewMemory()
		a, b := node(t, net, 1, &tape{}), node(t, net, 2, &tape{})
		for range 2 { // and is made again
			if err := a.SendAddress(b.Self().Address, []byte("join")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Second)
			if s := a.Stats(); len(s.Links) != 1 || s.Links[0].State != "up" {
				t.Errorf("before the time-out: links %+v, want one that is up", s.Links)
			}
			time.Sleep(20 * time.Second)
			if s := a.Stats(); len(s.Links) != 0 {
				t.Errorf("after the time-out: links %+v, want none", s.Links)
			}
		}
		if n := b.Stats().Control.ReceivedFrames; n != 2 {
			t.Errorf("received %d frames, want 2", n)
		}
	})
}

func TestCloseIsBoundedByItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := NewMemory()
		a := node(t, net, 1, &tape{})
		for i := range 5 {
			sendNumber(t, a, nodeID("10.0.0.2", 2552, 2), i)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		if err := a.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("Close with an unreachable peer took %v, want its 3s", took)
		}
		if n := a.Stats().Dropped["closed"]; n != 5 {
			t.Errorf("Dropped[closed] = %d, want 5", n)
		}
	})
}

func TestCloseNamesAHandlerThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := NewMemory()
		a, b := node(t, net, 1, &tape{}), node(t, net, 2, &tape{slow: time.Minute})
		sendNumber(t, a, b.Self(), 0)
		synctest.Wait()
		start := time.Now()
		if err := kill(b); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "Handler") {
			t.Errorf("Close: %v, want an error that names the Handler", err)
		}
		if took := time.Since(start); took != closeGrace {
			t.Errorf("Close took %v, want %v", took, closeGrace)
		}
		time.Sleep(time.Minute)
	})
}

// Links belong to the node, not to those who send.
func TestREM11LinksAreNotOwnedBySenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := NewMemory()
		var got tape
		a, b := node(t, net, 1, &tape{}), node(t, net, 2, &got)
		next := 0
		var mu sync.Mutex
		for i := range 100 {
			go func() {
				for range i { // the i-th sender stops after i frames
					mu.Lock()
					sendNumber(t, a, b.Self(), next)
					next++
					mu.Unlock()
					time.Sleep(time.Millisecond)
				}
			}()
		}
		time.Sleep(time.Minute)
		wantNumbers(t, &got, 0, 100*99/2)
		if s := a.Stats(); s.LinksUp != 1 || s.LinksDown != 0 {
			t.Errorf("links up %d, down %d, want the one link", s.LinksUp, s.LinksDown)
		}
	})
}
