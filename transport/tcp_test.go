package transport

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

func TestPlainLinksOnlyOnLoopback(t *testing.T) {
	lookup := func(_ context.Context, host string) ([]netip.Addr, error) {
		switch host {
		case "outside":
			return []netip.Addr{netip.MustParseAddr("192.0.2.7")}, nil
		case "both":
			return []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("127.0.0.1")}, nil
		default:
			return nil, nil
		}
	}
	for _, tt := range []struct {
		host     string
		insecure bool
		want     string // in the error; empty for none
	}{
		{"127.0.0.1", false, ""},
		{"both", false, ""},
		{"", false, ""},
		{"0.0.0.0", false, "Config.Insecure"},
		{"::", false, "Config.Insecure"},
		{"192.0.2.7", false, "Config.Insecure"},
		{"outside", false, "Config.Insecure"},
		{"nowhere", false, "no IP address"},
		{"0.0.0.0", true, "Config.Advertise"},
	} {
		cfg := Config{Cluster: "x", Listen: member.Address{Host: tt.host}, Insecure: tt.insecure}
		e, err := TCP{LookupNetIP: lookup}.Listen(t.Context(), cfg, &tape{})
		switch {
		case err == nil && tt.want != "":
			t.Errorf("listen on %q, insecure %v: no error, want one with %q", tt.host, tt.insecure, tt.want)
		case err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("listen on %q, insecure %v: %v, want %q", tt.host, tt.insecure, err, tt.want)
		}
		if e != nil {
			kill(e)
		}
	}
	n := tcpNetwork{TCP: TCP{LookupNetIP: lookup}}
	if _, err := n.places(t.Context(), member.Address{Host: "192.0.2.7", Port: 1}); !errors.Is(err, ErrInsecure) {
		t.Errorf("dial beyond loopback: %v, want %v", err, ErrInsecure)
	}
}

func TestListenReportsEverythingThatIsWrong(t *testing.T) {
	_, err := TCP{}.Listen(t.Context(), Config{
		MaxFrame: 1, Lanes: -1, MinBackoff: time.Hour, GiveUp: -1, Listen: member.Address{Host: "no spaces"},
	}, &tape{})
	for _, setting := range []string{"Cluster", "MaxFrame", "Lanes", "MinBackoff", "GiveUp", "Listen"} {
		if err == nil || !strings.Contains(err.Error(), "Config."+setting) {
			t.Errorf("error %v does not name Config.%s", err, setting)
		}
	}
}

func TestListenOnAnAddressInUse(t *testing.T) {
	loopback := func(c *Config) { c.Listen = member.Address{Host: "127.0.0.1"} }
	a := node(t, TCP{}, 1, &tape{}, loopback)
	cfg := Config{Cluster: "x", Listen: a.Self().Address}
	if _, err := (TCP{}).Listen(t.Context(), cfg, &tape{}); err == nil || !strings.Contains(err.Error(), a.Self().Address.String()) {
		t.Errorf("second listen: %v, want an error that names %v", err, a.Self().Address)
	}
	kill(a)
	node(t, TCP{}, 2, &tape{}, func(c *Config) { c.Listen = a.Self().Address })
}

// All over ::1, where the machine has it; spellings are tested with the
// handshake.
func TestREM08IPv6(t *testing.T) {
	loopback := func(c *Config) { c.Listen = member.Address{Host: "0:0:0:0:0:0:0:1"} }
	probe, err := TCP{}.Listen(t.Context(), Config{Cluster: "x", Listen: member.Address{Host: "::1"}}, &tape{})
	if err != nil {
		t.Logf("no IPv6 here: %v", err)
		return
	}
	kill(probe)
	a, b := node(t, TCP{}, 1, &tape{}, loopback), node(t, TCP{}, 2, &tape{}, loopback)
	if s := b.Self().Address.String(); !strings.HasPrefix(s, "[::1]:") {
		t.Errorf("address %s, want [::1]:port", s)
	}
	sendNumber(t, a, b.Self(), 0)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := a.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
	if n := b.Stats().User.ReceivedFrames; n != 1 {
		t.Errorf("received %d frames, want 1", n)
	}
}

// A thousand connections claim lengths that never come, in the handshake and
// after it. Each is ended with a counted reason and costs what it sent.
func TestREM05ClaimsFromManyConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := NewMemory()
		var got tape
		b := node(t, memory, 2, &got)
		good := node(t, memory, 1, &tape{})
		sendNumber(t, good, b.Self(), 0)
		synctest.Wait()
		before := heap()
		const each = 500
		for i := range each {
			raw := func(data []byte) {
				conn, err := memory.connect(t.Context(), nodeID("10.0.1.1", 1, 0).Address, b.Self().Address)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { hangUp(conn) })
				if _, err := conn.Write(data); err != nil {
					t.Fatal(err)
				}
			}
			raw([]byte(helloMagic + "\x01\x01\xff\xff"))
			h := hello{lowest: 1, highest: 1, cluster: "x", from: nodeID("10.0.1.1", 1, int64(i+1)), to: b.Self(), lane: User}
			claim := [][]byte{{0xFF, 0xFF, 0xFF, 0xFE}, {0x7F, 0xFF, 0xFF, 0xFF}, {0x01, 0, 0, 1}}[i%3]
			raw(append(h.encode(), claim...))
			synctest.Wait()
		}
		synctest.Wait()
		if grown := int64(heap()) - int64(before); grown > 64<<20 {
			t.Errorf("heap grew by %d bytes, want less than 64 MiB", grown)
		}
		s := b.Stats()
		if s.Refused["malformed"] != each || s.Refused["frame"] != each {
			t.Errorf("refused %v, want %d malformed and %d frame", s.Refused, each, each)
		}
		sendNumber(t, good, b.Self(), 1)
		synctest.Wait()
		wantNumbers(t, &got, 0, 2)
		if s := good.Stats(); s.LinksUp != 1 || s.LinksDown != 0 {
			t.Errorf("the good link: up %d, down %d, want it untouched", s.LinksUp, s.LinksDown)
		}
	})
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
