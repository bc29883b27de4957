package network

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestFateFollowsTheLink(t *testing.T) {
	const packets = 20_000
	tests := []struct {
		name         string
		link         Link
		lost, twice  float64
		least, bound time.Duration // of delays; bound itself is not reached
	}{
		{"as it is", Link{}, 0, 0, 0, 1},
		{"loss", Link{Loss: 0.1}, 0.1, 0, 0, 1},
		{"all lost", Link{Loss: 1}, 1, 0, 0, 1},
		{"repeats, late", Link{Repeat: 0.2, Delay: 50, Jitter: 10}, 0, 0.2, 50, 60},
	}
	for _, tt := range tests {
		r := rand.New(rand.NewPCG(1, 2))
		lost, twice := 0, 0
		for range packets {
			after := tt.link.fate(r)
			switch len(after) {
			case 0:
				lost++
			case 2:
				twice++
			}
			for _, d := range after {
				if d < tt.least || d >= tt.bound {
					t.Fatalf("%s: a delay of %v, want from %v to below %v", tt.name, d, tt.least, tt.bound)
				}
			}
		}
		near := func(what string, n int, want float64) {
			if got := float64(n) / packets; math.Abs(got-want) > 0.01 {
				t.Errorf("%s: %s: got %.3f, want %.3f", tt.name, what, got, want)
			}
		}
		near("lost", lost, tt.lost)
		near("twice", twice, tt.twice)
	}
}

func FuzzRoute(f *testing.F) {
	packet := make([]byte, header)
	packet[0] = 0x45
	copy(packet[12:], []byte{10, 77, 0, 1, 10, 77, 0, 5})
	f.Add(packet, 5)
	f.Add(packet, 4)
	f.Add(packet[:19], 5)
	f.Add([]byte{0x60}, 5)
	f.Fuzz(func(t *testing.T, packet []byte, hosts int) {
		from, to, ok := route(packet, hosts)
		if ok && (from < 1 || from > hosts || to < 1 || to > hosts || from == to) {
			t.Errorf("route of % x among %d hosts: from %d to %d", packet, hosts, from, to)
		}
	})
}

func TestRoute(t *testing.T) {
	packet := make([]byte, header)
	packet[0] = 0x45
	copy(packet[12:], []byte{10, 77, 0, 1, 10, 77, 0, 5})
	if from, to, ok := route(packet, 5); from != 1 || to != 5 || !ok {
		t.Errorf("got %d, %d, %v, want 1, 5, true", from, to, ok)
	}
	if _, _, ok := route(packet, 4); ok {
		t.Error("a packet to host 5 of 4 was routed")
	}
}
