package placement

import "unicode/utf8"

// EffectHash is the [ShardFunc] of Effect Cluster. It counts shards from 0;
// the name of one, see [GroupShard], counts from 1 as there. The hash is weak,
// so ids that differ in few characters tend to share shards: use it to agree
// with such a cluster. It does not allocate.
func EffectHash(id string, shards int) int {
	n := int(effectSum(effectAdd(effectStart, id))) % shards
	return max(n, -n)
}

// The hash goes over the UTF-16 code units of a text from the last to the
// first, h = 33*h xor unit with wrap-around. So a text in parts is hashed by
// adding its last part first.
const effectStart = uint32(5381)

func effectAdd(h uint32, s string) uint32 {
	for len(s) > 0 {
		if c := s[len(s)-1]; c < utf8.RuneSelf {
			h = h*33 ^ uint32(c)
			s = s[:len(s)-1]
			continue
		}
		r, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
		if r >= 0x10000 {
			high, low := surrogates(r)
			h = h*33 ^ low
			h = h*33 ^ high
			continue
		}
		h = h*33 ^ uint32(r)
	}
	return h
}

// effectNumber adds the decimal digits of n, which is not negative.
func effectNumber(h uint32, n int) uint32 {
	for {
		h = h*33 ^ uint32('0'+n%10)
		if n /= 10; n == 0 {
			return h
		}
	}
}

// effectSum ends a hash: the bit next to the sign becomes like the sign.
func effectSum(h uint32) int32 {
	return int32(h&0xbfffffff | h>>1&0x40000000)
}
