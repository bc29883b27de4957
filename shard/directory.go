package shard

import (
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/troupe-go/troupe/actor"
)

// A directory finds the entities that are active on this node, over all shards
// of a type, by id. Every message to one of them comes through way, which takes
// no lock and rarely writes to memory, so that tellers on different cores do not slow
// each other. A reader that meets a change may miss an entity that was just
// added, or find one that was just removed: what is found says itself whether it
// is open, and the slot's lock makes the answer exact, for it is held where the
// entities of its shard come and go.
//
// It is a hash table with open addressing and linear probing: a pointer per
// place, and the rest is in the entity. What is removed leaves a grave, which
// readers pass over, so that no entry ever changes its place within a table. The
// table is in parts, so that growing copies little at a time.
//
// A teller who uses one ref again and again brings the very same string each time.
// For some of those strings a shortcut remembers the entity by the string's
// address, which is neither hashed nor compared.
type directory[M any] struct {
	seed  maphash.Seed
	short [shortcuts]place[M]
	grave *entity[M] // has no id
	parts [directoryParts]part[M]
}

type part[M any] struct {
	table atomic.Pointer[[]place[M]] // nil while empty; the length is a power of two
	mu    sync.Mutex                 // of writers
	live  int
	used  int // live ones and graves: never all places, so that every search ends
}

type place[M any] struct{ atomic.Pointer[entity[M]] }

const (
	directoryBits  = 8
	directoryParts = 1 << directoryBits
	minPlaces      = 4

	shortcuts    = 1024
	shortcutOdds = 8 // one in so many searches makes a shortcut
)

func (d *directory[M]) init() {
	d.seed = maphash.MakeSeed()
	d.grave = &entity[M]{home: new(local[M])} // never open
}

// way finds an entity and its way, if it is here and has one.
func (d *directory[M]) way(id string) (*entity[M], *actor.Cell[M]) {
	short := d.shortcut(id)
	if e := short.Load(); e != nil && same(e.id, id) {
		if cell := e.way(); cell != nil {
			return e, cell
		}
	}
	e := d.find(id)
	if e == nil {
		return nil, nil
	}
	cell := e.way()
	if cell != nil && same(e.id, id) && rand.Uint32N(shortcutOdds) == 0 {
		short.Store(e)
	}
	return e, cell
}

// same tells whether two strings are one in memory.
func same(a, b string) bool { return unsafe.StringData(a) == unsafe.StringData(b) && len(a) == len(b) }

func (d *directory[M]) shortcut(id string) *place[M] {
	at := uintptr(unsafe.Pointer(unsafe.StringData(id)))
	return &d.short[(at>>4^at>>14)%shortcuts]
}

func (d *directory[M]) find(id string) *entity[M] {
	h := maphash.String(d.seed, id)
	t := d.parts[h>>(64-directoryBits)].table.Load()
	if t == nil {
		return nil
	}
	places := *t
	for i := uint32(h); ; i++ {
		e := places[i&uint32(len(places)-1)].Load()
		if e == nil || e.hash == uint32(h) && e.id == id {
			return e
		}
	}
}

// add puts e in; there must be none with its id.
func (d *directory[M]) add(e *entity[M]) {
	h := maphash.String(d.seed, e.id)
	e.hash = uint32(h)
	p := &d.parts[h>>(64-directoryBits)]
	p.mu.Lock()
	defer p.mu.Unlock()
	insert(p.roomy(d.grave), e)
	p.live++
	p.used++
}

func insert[M any](places []place[M], e *entity[M]) {
	for i := e.hash; ; i++ {
		if at := &places[i&uint32(len(places)-1)]; at.Load() == nil {
			at.Store(e)
			return
		}
	}
}

// roomy gives a table in which at least a quarter of the places stays free when
// one more is taken. Readers of the old one find what was in it, and miss what
// comes later.
func (p *part[M]) roomy(grave *entity[M]) []place[M] {
	var old []place[M]
	if t := p.table.Load(); t != nil {
		old = *t
	}
	if 4*(p.used+1) <= 3*len(old) {
		return old
	}
	size := minPlaces
	for size < 2*(p.live+1) {
		size *= 2
	}
	next := make([]place[M], size)
	for i := range old {
		if e := old[i].Load(); e != nil && e != grave {
			insert(next, e)
		}
	}
	p.used = p.live
	p.table.Store(&next)
	return next
}

// remove takes e out, if it is in.
func (d *directory[M]) remove(e *entity[M]) {
	h := maphash.String(d.seed, e.id)
	p := &d.parts[h>>(64-directoryBits)]
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.table.Load()
	if t == nil {
		return
	}
	places := *t
	for i := uint32(h); ; i++ {
		switch at := &places[i&uint32(len(places)-1)]; at.Load() {
		case nil:
			return
		case e:
			at.Store(d.grave)
			d.shortcut(e.id).CompareAndSwap(e, nil)
			if p.live--; p.live == 0 {
				p.used = 0
				p.table.Store(nil)
			}
			return
		}
	}
}
