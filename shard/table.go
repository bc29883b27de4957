package shard

import (
	"hash/maphash"
	"iter"
	"sync/atomic"
)

// table finds the entities of one shard by id. Every message to a local entity
// comes through find, which takes no lock and writes to no memory, so that
// tellers on different cores do not slow each other; a reader that meets a
// change may miss an entity that was just added or find one that was just
// removed. The authority is the slot's lock, which all other methods need.
//
// It is a hash table with chains, whose nodes never change but for their links.
type table[M any] struct {
	seed    maphash.Seed
	buckets atomic.Pointer[[]chain[M]] // nil while empty; the length is a power of two
	size    int
}

type chain[M any] struct{ atomic.Pointer[link[M]] }

type link[M any] struct {
	entity *entity[M]
	hash   uint64
	next   chain[M]
}

const minBuckets = 4

func (t *table[M]) find(id string) *entity[M] {
	b := t.buckets.Load()
	if b == nil {
		return nil
	}
	h := maphash.String(t.seed, id)
	for l := (*b)[h&uint64(len(*b)-1)].Load(); l != nil; l = l.next.Load() {
		if l.hash == h && l.entity.id == id {
			return l.entity
		}
	}
	return nil
}

// add puts e in; there must be none with its id.
func (t *table[M]) add(e *entity[M]) {
	t.grow()
	b := *t.buckets.Load()
	prepend(b, e, maphash.String(t.seed, e.id))
	t.size++
}

func prepend[M any](b []chain[M], e *entity[M], h uint64) {
	head := &b[h&uint64(len(b)-1)]
	l := &link[M]{entity: e, hash: h}
	l.next.Store(head.Load())
	head.Store(l)
}

// grow keeps chains short on average. Readers of the old buckets still find what
// was in them, and miss what comes later.
func (t *table[M]) grow() {
	var old []chain[M]
	if b := t.buckets.Load(); b != nil {
		old = *b
	}
	if t.size < len(old) {
		return
	}
	next := make([]chain[M], max(minBuckets, 2*len(old)))
	for i := range old {
		for l := old[i].Load(); l != nil; l = l.next.Load() {
			prepend(next, l.entity, l.hash)
		}
	}
	t.buckets.Store(&next)
}

// remove takes e out, if it is in.
func (t *table[M]) remove(e *entity[M]) {
	b := t.buckets.Load()
	if b == nil {
		return
	}
	at := &(*b)[maphash.String(t.seed, e.id)&uint64(len(*b)-1)]
	for l := at.Load(); l != nil; at, l = &l.next, l.next.Load() {
		if l.entity != e {
			continue
		}
		at.Store(l.next.Load())
		if t.size--; t.size == 0 {
			t.buckets.Store(nil)
		}
		return
	}
}

// all yields the entities in no particular order; the loop may remove what it got.
func (t *table[M]) all() iter.Seq[*entity[M]] {
	return func(yield func(*entity[M]) bool) {
		b := t.buckets.Load()
		if b == nil {
			return
		}
		for i := range *b {
			for l := (*b)[i].Load(); l != nil; l = l.next.Load() {
				if !yield(l.entity) {
					return
				}
			}
		}
	}
}
