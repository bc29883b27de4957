package shard

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// A directory finds the entities that are active on this node, over all shards
// of a type, by id. Every message to one of them comes through find, which takes
// no lock and writes to no memory, so that tellers on different cores do not slow
// each other. A reader that meets a change may miss an entity that was just
// added, or find one that was just removed: what is found says itself whether it
// is open, and the slot's lock makes the answer exact, for it is held where the
// entities of its shard come and go.
//
// It is a hash table with chains whose links never change but for what follows
// them, in parts, so that growing does not copy all at once.
type directory[M any] struct {
	seed  maphash.Seed
	parts [directoryParts]part[M]
}

type part[M any] struct {
	mu      sync.Mutex                 // of writers
	buckets atomic.Pointer[[]chain[M]] // nil while empty; the length is a power of two
	size    int
}

type chain[M any] struct{ atomic.Pointer[link[M]] }

type link[M any] struct {
	entity *entity[M]
	hash   uint64
	next   chain[M]
}

const (
	directoryBits  = 6
	directoryParts = 1 << directoryBits
	minBuckets     = 4
)

func (d *directory[M]) find(id string) *entity[M] {
	h := maphash.String(d.seed, id)
	b := d.parts[h>>(64-directoryBits)].buckets.Load()
	if b == nil {
		return nil
	}
	for l := (*b)[h&uint64(len(*b)-1)].Load(); l != nil; l = l.next.Load() {
		if l.hash == h && l.entity.id == id {
			return l.entity
		}
	}
	return nil
}

// add puts e in; there must be none with its id.
func (d *directory[M]) add(e *entity[M]) {
	h := maphash.String(d.seed, e.id)
	p := &d.parts[h>>(64-directoryBits)]
	p.mu.Lock()
	defer p.mu.Unlock()
	prepend(p.grown(), e, h)
	p.size++
}

func prepend[M any](b []chain[M], e *entity[M], h uint64) {
	head := &b[h&uint64(len(b)-1)]
	l := &link[M]{entity: e, hash: h}
	l.next.Store(head.Load())
	head.Store(l)
}

// grown gives buckets with room for one more: chains are short on average.
// Readers of the old buckets find what was in them, and miss what comes later.
func (p *part[M]) grown() []chain[M] {
	var old []chain[M]
	if b := p.buckets.Load(); b != nil {
		old = *b
	}
	if p.size < len(old) {
		return old
	}
	next := make([]chain[M], max(minBuckets, 2*len(old)))
	for i := range old {
		for l := old[i].Load(); l != nil; l = l.next.Load() {
			prepend(next, l.entity, l.hash)
		}
	}
	p.buckets.Store(&next)
	return next
}

// remove takes e out, if it is in.
func (d *directory[M]) remove(e *entity[M]) {
	h := maphash.String(d.seed, e.id)
	p := &d.parts[h>>(64-directoryBits)]
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.buckets.Load()
	if b == nil {
		return
	}
	at := &(*b)[h&uint64(len(*b)-1)]
	for l := at.Load(); l != nil; at, l = &l.next, l.next.Load() {
		if l.entity != e {
			continue
		}
		at.Store(l.next.Load())
		if p.size--; p.size == 0 {
			p.buckets.Store(nil)
		}
		return
	}
}
