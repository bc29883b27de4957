package transport

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
)

func nodeID(host string, port int, uid int64) member.ID {
	return member.ID{Address: member.Address{Host: host, Port: port}, UID: uid}
}

// goodHello is a hello of a to b that b accepts.
func goodHello() (h hello, b member.ID) {
	b = nodeID("10.0.0.2", 2552, -7)
	return hello{
		lowest: lowestVersion, highest: highestVersion, cluster: "x", from: nodeID("10.0.0.1", 2552, 5),
		to: b, lane: User, round: 1 << 40, maxFrame: 1 << 20,
	}, b
}

func TestHelloRoundTrip(t *testing.T) {
	h, _ := goodHello()
	long := strings.Repeat("n", 250) + ".org"
	for name, change := range map[string]func(*hello){
		"plain":          func(*hello) {},
		"to anyone":      func(h *hello) { h.to.UID, h.lane = 0, Control },
		"longest fields": func(h *hello) { h.cluster, h.from.Host, h.to.Host = strings.Repeat("c", 255), long, long },
		"IPv6 and zone":  func(h *hello) { h.from.Host, h.to.Host = "fe80::1%eth0", "::1" }, // REM-08
	} {
		want := h
		change(&want)
		got, err := readHello(bytes.NewReader(want.encode()))
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
	}
}

func TestAnswerRoundTrip(t *testing.T) {
	want := answer{version: 1, refusal: RefusedCluster, cluster: "y", from: nodeID("::1", 1, 2), maxFrame: 1 << 20, text: "no"}
	got, err := readAnswer(bytes.NewReader(want.encode()))
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	want.text = strings.Repeat("t", 10*maxText)
	if got, err = readAnswer(bytes.NewReader(want.encode())); err != nil || len(got.text) != maxText {
		t.Errorf("a long text: got %d bytes, %v, want it cut to %d", len(got.text), err, maxText)
	}
}

// A newer version appends fields; this one skips them.
func TestHelloOfANewerVersion(t *testing.T) {
	h, b := goodHello()
	h.highest = 9
	data := append(h.encode(), "a field of version 9"...)
	binary.BigEndian.PutUint16(data[6:], uint16(len(data)-preambleBytes))
	got, err := readHello(bytes.NewReader(data))
	if err != nil || got != h {
		t.Fatalf("got %+v, %v, want %+v", got, err, h)
	}
	if why, text := judge(got, "x", b); why != 0 {
		t.Errorf("judge: %v %s, want it accepted", why, text)
	}
}

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*hello)
		want   Refusal
		text   []string // what both sides should read
	}{
		{"good", func(*hello) {}, 0, nil},
		{"to anyone", func(h *hello) { h.to.UID = 0 }, 0, nil},
		{"too new", func(h *hello) { h.lowest, h.highest = 2, 3 }, RefusedVersion, []string{"1 to 1", "2 to 3"}},
		{"other cluster", func(h *hello) { h.cluster = "y" }, RefusedCluster, []string{`"x"`, `"y"`}},
		{"other name", func(h *hello) { h.to.Host = "localhost" }, RefusedAddress, []string{"10.0.0.2:2552", "localhost:2552"}},
		{"other port", func(h *hello) { h.to.Port = 1 }, RefusedAddress, []string{"10.0.0.2:2552", "10.0.0.2:1"}},
		{"old incarnation", func(h *hello) { h.to.UID = 6 }, RefusedIncarnation, []string{"-7", "6"}},
		{"itself", func(h *hello) { h.from = h.to }, RefusedAddress, []string{"itself"}},
	} {
		h, b := goodHello()
		tt.change(&h)
		why, text := judge(h, "x", b)
		if why != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, why, tt.want)
		}
		for _, part := range tt.text {
			if !strings.Contains(text, part) {
				t.Errorf("%s: text %q does not show %s", tt.name, text, part)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	peer := nodeID("10.0.0.2", 2552, 7)
	good := answer{version: 1, cluster: "x", from: peer, maxFrame: minFrame}
	for _, tt := range []struct {
		name   string
		change func(*answer)
		ok     bool
	}{
		{"good", func(*answer) {}, true},
		{"version of the future", func(a *answer) { a.version = 2 }, false},
		{"other cluster", func(a *answer) { a.cluster = "y" }, false},
		{"other name", func(a *answer) { a.from.Host = "10.0.0.3" }, false},
		{"other incarnation", func(a *answer) { a.from.UID = 8 }, false},
		{"tiny frames", func(a *answer) { a.maxFrame = 1 }, false},
	} {
		a := good
		tt.change(&a)
		if err := check(a, "x", peer); (err == nil) != tt.ok {
			t.Errorf("%s: got %v, want accepted: %v", tt.name, err, tt.ok)
		}
	}
}

// Truncated at each byte, and with each byte at its maximum (every length among
// them), a handshake is an error or another valid handshake, never a panic.
func TestMEM11MalformedHandshake(t *testing.T) {
	h, b := goodHello()
	a := answer{version: 1, cluster: "x", from: b, maxFrame: 1 << 20, text: "why"}
	for name, message := range map[string]struct {
		data []byte
		read func([]byte) error
	}{
		"hello":  {h.encode(), func(d []byte) error { _, err := readHello(bytes.NewReader(d)); return err }},
		"answer": {a.encode(), func(d []byte) error { _, err := readAnswer(bytes.NewReader(d)); return err }},
	} {
		for n := range message.data {
			if err := message.read(message.data[:n]); err == nil {
				t.Errorf("%s cut to %d of %d bytes: no error", name, n, len(message.data))
			}
			changed := bytes.Clone(message.data)
			changed[n] = 0xFF
			_ = message.read(changed)
			if n+1 < len(changed) {
				changed[n+1] = 0xFF
				_ = message.read(changed)
			}
		}
	}
}

func TestMalformedHello(t *testing.T) {
	for name, change := range map[string]func(*hello){
		"no incarnation of the sender":   func(h *hello) { h.from.UID = 0 },
		"lane out of range":              func(h *hello) { h.lane = maxLanes + 1 },
		"ordinary lane to anyone":        func(h *hello) { h.to.UID = 0 },
		"host in capitals":               func(h *hello) { h.from.Host = "NODE" },
		"IPv6 host in another spelling":  func(h *hello) { h.to.Host = "0:0::1" },
		"host with a space":              func(h *hello) { h.from.Host = "a b" },
		"empty host":                     func(h *hello) { h.to.Host = "" },
		"host that looks like host:port": func(h *hello) { h.to.Host = "a:1" },
	} {
		h, _ := goodHello()
		change(&h)
		if got, err := readHello(bytes.NewReader(h.encode())); err == nil {
			t.Errorf("%s: got %+v, want an error", name, got)
		}
	}
}

func FuzzHandshake(f *testing.F) {
	h, b := goodHello()
	f.Add(h.encode())
	a := answer{version: 1, refusal: RefusedQuarantined, cluster: "x", from: b, maxFrame: 1 << 20, text: "why"}
	f.Add(a.encode())
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte(helloMagic + "\x01\x01\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if h, err := readHello(bytes.NewReader(data)); err == nil {
			again, err := readHello(bytes.NewReader(h.encode()))
			if err != nil || again != h {
				t.Errorf("hello %+v encoded and read again: %+v, %v", h, again, err)
			}
			judge(h, "x", b)
		}
		if a, err := readAnswer(bytes.NewReader(data)); err == nil && len(a.text) <= maxText {
			again, err := readAnswer(bytes.NewReader(a.encode()))
			if err != nil || again != a {
				t.Errorf("answer %+v encoded and read again: %+v, %v", a, again, err)
			}
		}
	})
}
