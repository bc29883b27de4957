package transport

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
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

// crash ends an endpoint without a word to anybody.
func crash(e Endpoint) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return e.Close(ctx)
}

func kill(e Endpoint) { _ = crash(e) }

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
		if err := crash(b); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "Handler") {
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
