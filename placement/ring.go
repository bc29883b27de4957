package placement

import (
	"cmp"
	"math/bits"
	"slices"
	"unicode/utf16"
)

// A ring maps keys to nodes so that few keys move when nodes come and go
// (Karger et al., Consistent Hashing and Random Trees, STOC 1997). Positions
// and keys are hashed as by the JVM's routers, so that both give the same map.
type ring struct {
	points []point // in the order of their positions, which differ
}

type point struct {
	at   int32
	node int // index in the list of nodes
}

// newRing puts each node on the ring factor times. At the same position a
// later node replaces an earlier one.
func newRing(nodes []string, factor int) ring {
	points := make([]point, 0, len(nodes)*factor)
	for i, node := range nodes {
		h := ringHash(node)
		for r := 1; r <= factor; r++ {
			points = append(points, point{at: ringPosition(h, r), node: i})
		}
	}
	slices.SortFunc(points, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.node, a.node))
	})
	points = slices.CompactFunc(points, func(a, b point) bool { return a.at == b.at })
	return ring{points: points}
}

// nodeFor gives the index of the node at or after the key's position, round
// the end of the ring. The ring must not be empty.
func (r ring) nodeFor(key string) int {
	i, _ := slices.BinarySearchFunc(r.points, ringHash(key), func(p point, at int32) int { return cmp.Compare(p.at, at) })
	return r.points[i%len(r.points)].node
}

// The constants of the ring's hash, a MurmurHash3 with multipliers that change
// from step to step.
const (
	ringSeed   = 0x971e137b
	ringMagicA = 0x95543787
	ringMagicB = 0x2ad7eb25
)

type ringMix struct{ h, a, b uint32 }

func (m *ringMix) add(v uint32) {
	m.h = (m.h^bits.RotateLeft32(v*m.a, 11)*m.b)*3 + 0x52dce729
	m.a = m.a*5 + 0x7b7d159c
	m.b = m.b*5 + 0x6bce6396
}

func (m *ringMix) sum() int32 {
	h := m.h
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return int32(h ^ h>>16)
}

// ringHash hashes a text by pairs of its UTF-16 code units.
func ringHash(s string) int32 {
	units := utf16.Encode([]rune(s))
	m := ringMix{h: uint32(len(units))*0xf7ca7fd2 ^ ringSeed, a: ringMagicA, b: ringMagicB}
	for ; len(units) >= 2; units = units[2:] {
		m.add(uint32(units[0])<<16 + uint32(units[1]))
	}
	if len(units) == 1 {
		m.add(uint32(units[0]))
	}
	return m.sum()
}

// ringPosition is where the r-th point of a node with the given hash sits.
func ringPosition(node int32, r int) int32 {
	m := ringMix{h: uint32(node) ^ ringSeed, a: ringMagicA, b: ringMagicB}
	m.add(uint32(r))
	return m.sum()
}
