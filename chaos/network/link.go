// Package network is a network for real processes, on one machine: a namespace
// for each host, a router between them that loses, delays and repeats packets as
// it is told for each direction of each pair, and a packet filter in each
// namespace that cuts and resets.
//
// Hosts are numbered from 1; host i has the address 10.77.0.i, which exists in the
// namespaces of one network only. Methods are safe for concurrent use. What the
// router does to a packet is drawn from a seed; when packets come is up to the
// processes.
package network

import (
	"math/rand/v2"
	"time"
)

// Link is what happens to packets in one direction. The zero Link carries them
// as they are.
type Link struct {
	Loss   float64       // the part of the packets that is lost, from 0 to 1
	Repeat float64       // the part that comes twice, from 0 to 1
	Delay  time.Duration // of each packet
	Jitter time.Duration // at most so much more, evenly drawn: packets overtake each other
}

// fate tells after which times a packet arrives: none if it is lost.
func (l Link) fate(r *rand.Rand) []time.Duration {
	if r.Float64() < l.Loss {
		return nil
	}
	copies := 1
	if r.Float64() < l.Repeat {
		copies = 2
	}
	after := make([]time.Duration, copies)
	for i := range after {
		after[i] = l.Delay
		if l.Jitter > 0 {
			after[i] += time.Duration(r.Int64N(int64(l.Jitter)))
		}
	}
	return after
}

// header is the length of an IPv4 header without options.
const header = 20

// route reads to which host of the network a packet goes, and from which.
func route(packet []byte, hosts int) (from, to int, ok bool) {
	if len(packet) < header || packet[0]>>4 != 4 {
		return 0, 0, false
	}
	host := func(a []byte) int {
		if a[0] != 10 || a[1] != 77 || a[2] != 0 {
			return 0
		}
		return int(a[3])
	}
	from, to = host(packet[12:16]), host(packet[16:20])
	inside := func(host int) bool { return 1 <= host && host <= hosts }
	return from, to, inside(from) && inside(to) && from != to
}
