// Package window decides what at-least-once delivery needs: what a sender keeps
// and sends again, and what the owner of a shard has seen of it.
//
// The messages of one sender, a node, for one shard are numbered from 1. An [Out]
// is the sender's end: it keeps each until it is confirmed. An [In] is the owner's
// end for one sender. Each message names the one in front of it that the
// sender still kept, so that the owner takes them in order only, knows at once when
// one is missing, and needs to remember no more than how far it is. A new owner
// that knows nothing finds out by the same rule where to begin.
//
// What one owner confirms was handled there. What it takes it takes once; a
// graceful move hands that knowledge on ([Heir]). After a crash what was
// not confirmed comes again.
//
// All of it is plain data: no clock, no I/O, no goroutine. Memory is bounded by
// what is unconfirmed and by what is in hand.
package window

import "slices"

// A Range is the numbers from Lo to Hi, both included.
type Range struct{ Lo, Hi uint64 }

// A Set is numbers, as few ranges as possible, in order. The zero Set is empty.
type Set struct{ ranges []Range }

// find gives the first range that ends at n or behind it.
func (s *Set) find(n uint64) int {
	if last := len(s.ranges) - 1; last >= 0 && s.ranges[0].Hi < n && s.ranges[last].Hi < n {
		return last + 1
	}
	i, _ := slices.BinarySearchFunc(s.ranges, n, func(r Range, n uint64) int {
		if r.Hi < n {
			return -1
		}
		return 1
	})
	return i
}

// Has tells whether n is in.
func (s *Set) Has(n uint64) bool {
	i := s.find(n)
	return i < len(s.ranges) && s.ranges[i].Lo <= n
}

// Add puts n in; adding in order costs nothing more than that.
func (s *Set) Add(n uint64) {
	i := s.find(n)
	if i < len(s.ranges) && s.ranges[i].Lo <= n {
		return
	}
	before := i > 0 && s.ranges[i-1].Hi+1 == n
	behind := i < len(s.ranges) && s.ranges[i].Lo == n+1
	switch {
	case before && behind:
		s.ranges[i-1].Hi = s.ranges[i].Hi
		s.ranges = slices.Delete(s.ranges, i, i+1)
	case before:
		s.ranges[i-1].Hi = n
	case behind:
		s.ranges[i].Lo = n
	default:
		s.ranges = slices.Insert(s.ranges, i, Range{n, n})
	}
}

// Remove takes n out and tells whether it was in.
func (s *Set) Remove(n uint64) bool {
	i := s.find(n)
	if i == len(s.ranges) || n < s.ranges[i].Lo {
		return false
	}
	switch r := &s.ranges[i]; {
	case r.Lo == r.Hi:
		s.ranges = slices.Delete(s.ranges, i, i+1)
	case r.Lo == n:
		r.Lo++
	case r.Hi == n:
		r.Hi--
	default:
		rest := Range{n + 1, r.Hi}
		r.Hi = n - 1
		s.ranges = slices.Insert(s.ranges, i+1, rest)
	}
	return true
}

// CutTo takes out all numbers up to n.
func (s *Set) CutTo(n uint64) {
	i := s.find(n + 1)
	s.ranges = slices.Delete(s.ranges, 0, i)
	if len(s.ranges) > 0 {
		s.ranges[0].Lo = max(s.ranges[0].Lo, n+1)
	}
}

// Len is how many numbers are in.
func (s *Set) Len() (n uint64) {
	for _, r := range s.ranges {
		n += r.Hi - r.Lo + 1
	}
	return n
}

// Without gives what of a range is not in the set.
func (s *Set) Without(r Range) (out []Range) {
	for i := s.find(r.Lo); r.Lo <= r.Hi && i < len(s.ranges) && s.ranges[i].Lo <= r.Hi; i++ {
		if in := s.ranges[i]; r.Lo < in.Lo {
			out = append(out, Range{r.Lo, in.Lo - 1})
		}
		r.Lo = s.ranges[i].Hi + 1
	}
	if r.Lo <= r.Hi {
		out = append(out, r)
	}
	return out
}

// Compact sorts numbers and appends to dst the ranges that they make; numbers may
// occur twice.
func Compact(dst []Range, numbers []uint64) []Range {
	slices.Sort(numbers)
	first := len(dst)
	for _, n := range numbers {
		if last := len(dst) - 1; last >= first && n <= dst[last].Hi+1 {
			dst[last].Hi = n
		} else {
			dst = append(dst, Range{n, n})
		}
	}
	return dst
}
