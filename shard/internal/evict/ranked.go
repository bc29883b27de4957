package evict

import "cmp"

// ranking is a policy that lets go the entry of the lowest rank, by a heap whose
// ranks may be out of date. Use only raises a rank, so the least of the heap is
// the least of all once it was looked at and has not changed; one that has
// changed goes to its new place, and the next is looked at.
type ranking[T any] struct {
	look func(T) Use
	// rank gives an entry's key after a look. It never falls.
	rank func(e *Entry[T], u Use) int64
	// gone is told of the entry that goes.
	gone func(e *Entry[T])
	heap []*Entry[T]
}

// NewLRU lets the one go that was not used for the longest time. One that is added
// again because it was in use comes behind all others: it is used still, though its
// use may have begun long ago, and if it came first again it would hide those that
// can go.
func NewLRU[T any](look func(T) Use) Policy[T] {
	var newest int64
	return &ranking[T]{
		look: look,
		rank: func(e *Entry[T], u Use) int64 {
			newest = max(newest, u.Last)
			return max(e.key, u.Last)
		},
		gone: func(e *Entry[T]) { e.key = newest + 1 },
	}
}

// NewLFU lets the one go that was used least often. So that what was once popular
// does not stay for ever, uses count from an age that rises to the rank of each
// that goes: LFU with dynamic aging, Arlitt et al., "Evaluating Content Management
// Techniques for Web Proxy Caches" (2000), section 3. Of equals the one goes that
// was not used for longer.
func NewLFU[T any](look func(T) Use) Policy[T] {
	var age int64
	return &ranking[T]{
		look: look,
		rank: func(e *Entry[T], u Use) int64 {
			if u.More == 0 && e.freq > 0 {
				return e.key
			}
			e.freq += max(u.More, 1) // its coming is a use, too
			return age + int64(e.freq)
		},
		gone: func(e *Entry[T]) { age, e.freq = e.key, 0 },
	}
}

func (r *ranking[T]) Len() int { return len(r.heap) }

func (r *ranking[T]) Add(e *Entry[T]) {
	if e.in != nowhere {
		return
	}
	e.in, e.at = ranked, int32(len(r.heap))
	r.refresh(e)
	r.heap = append(r.heap, e)
	r.up(e.at)
}

func (r *ranking[T]) Remove(e *Entry[T]) {
	if e.in != ranked {
		return
	}
	last := int32(len(r.heap) - 1)
	at := e.at
	r.swap(at, last)
	r.heap[last] = nil
	r.heap = r.heap[:last]
	if at < last {
		r.down(at)
		r.up(at)
	}
	e.in = nowhere
}

// Next looks at the least until one keeps its place.
func (r *ranking[T]) Next() (*Entry[T], bool) {
	if len(r.heap) == 0 {
		return nil, false
	}
	for range maxLooks {
		if e := r.heap[0]; !r.refresh(e) {
			break
		}
		r.down(0)
	}
	e := r.heap[0]
	r.Remove(e)
	r.gone(e)
	return e, true
}

// refresh looks at an entry and tells whether its rank has changed.
func (r *ranking[T]) refresh(e *Entry[T]) (changed bool) {
	key, last := e.key, e.last
	u := r.look(e.Value)
	e.key, e.last = r.rank(e, u), u.Last
	return e.key != key || e.last != last
}

func (r *ranking[T]) less(i, j int32) bool {
	a, b := r.heap[i], r.heap[j]
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.last, b.last)) < 0
}

func (r *ranking[T]) swap(i, j int32) {
	r.heap[i], r.heap[j] = r.heap[j], r.heap[i]
	r.heap[i].at, r.heap[j].at = i, j
}

func (r *ranking[T]) up(i int32) {
	for i > 0 && r.less(i, (i-1)/2) {
		r.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (r *ranking[T]) down(i int32) {
	for n := int32(len(r.heap)); ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < n; child++ {
			if r.less(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		r.swap(i, least)
		i = least
	}
}
