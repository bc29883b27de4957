package placement

import (
	"strconv"
	"unicode/utf8"
)

// A ShardFunc gives the number of the shard, out of shards (at least 1), that
// an entity id belongs to. It must be a pure function: all nodes of a cluster
// and all its future versions have to agree on it.
type ShardFunc func(id string, shards int) int

// ShardText is the shard id that travels and is shown for a shard's number.
// Others treat it as opaque text.
func ShardText(shard int) string { return strconv.Itoa(shard) }

// JavaHash is the [ShardFunc] of the JVM's cluster sharding: the absolute value
// of [StringHash], then the remainder. As there, an id whose hash is the
// smallest 32-bit number, which has no absolute value, lands in a shard with a
// negative number of its own.
func JavaHash(id string, shards int) int {
	h := StringHash(id)
	if h < 0 {
		h = -h // wraps for the smallest number
	}
	return int(h) % shards
}

// StringHash is the JVM's String.hashCode: h = 31*h + u over the UTF-16 code
// units of s, with wrap-around. Bytes that are not UTF-8 count as U+FFFD. It
// does not allocate.
func StringHash(s string) int32 {
	const (
		p1 = 31
		p2 = p1 * p1
		p3 = p2 * p1
		p4 = p3 * p1 & (1<<32 - 1)
	)
	var h uint32
	i := 0
	// Most ids are ASCII, where a byte is a code unit. Four at a time shorten
	// the chain of multiplications that the CPU has to wait for.
	for ; i+4 <= len(s); i += 4 {
		a, b, c, d := s[i], s[i+1], s[i+2], s[i+3]
		if a|b|c|d >= utf8.RuneSelf {
			break
		}
		h = h*p4 + uint32(a)*p3 + uint32(b)*p2 + uint32(c)*p1 + uint32(d)
	}
	for _, r := range s[i:] {
		if r >= 0x10000 {
			high, low := surrogates(r)
			h = (h*p1+high)*p1 + low
			continue
		}
		h = h*p1 + uint32(r)
	}
	return int32(h)
}

// surrogates splits a rune beyond the basic plane into its two code units.
func surrogates(r rune) (high, low uint32) {
	r -= 0x10000
	return 0xd800 + uint32(r>>10), 0xdc00 + uint32(r&0x3ff)
}

// Murmur2 is the [ShardFunc] that agrees with the default partitioner of
// Kafka: entities with the key of a record live in the shard with the number
// of the record's partition.
func Murmur2(id string, shards int) int {
	return int(murmur2(id)&0x7fffffff) % shards
}

// murmur2 is Austin Appleby's MurmurHash2 over the bytes of s with the seed
// that Kafka chose.
func murmur2(s string) uint32 {
	const (
		seed = 0x9747b28c
		m    = 0x5bd1e995
		r    = 24
	)
	h := seed ^ uint32(len(s))
	for ; len(s) >= 4; s = s[4:] {
		k := uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
		k *= m
		k ^= k >> r
		h = h*m ^ k*m
	}
	if len(s) > 0 {
		for i := len(s) - 1; i >= 0; i-- {
			h ^= uint32(s[i]) << (8 * i)
		}
		h *= m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}
