package shard

import "sync/atomic"

// A turn is an entity's with one limiter; next is its turn with a further one.
type turn struct {
	entry
	next *turn
}

// limits are the limiters that a type's entities are under: its own one before its
// pool's, so that whoever goes for the first makes room with the second. Most types
// have none.
type limits[M any] []limiting

// limiting is a limiter, and the share of the usages that it looks at.
type limiting struct {
	*limiter
	share share
}

func newLimits[M any](t Type[M]) (ls limits[M]) {
	if t.limited() {
		ls = append(ls, limiting{newLimiter(t.Limit, t.LimitBytes, t.Evict, ownShare), ownShare})
	}
	if t.Pool != nil {
		ls = append(ls, limiting{t.Pool.limiter(), poolShare})
	}
	return ls
}

// turnOf makes the turns of a new entity; nil if it is under no limit.
func (ls limits[M]) turnOf(e *entity[M]) (first *turn) {
	e.uses.start(ls)
	for i := len(ls) - 1; i >= 0; i-- {
		first = &turn{entry: entry{Value: e, Hash: e.hash}, next: first}
	}
	return first
}

// enter takes in an entity with its new incarnation.
func (ls limits[M]) enter(e *entity[M]) {
	t := e.turn
	for _, l := range ls {
		l.enter(&t.entry)
		t = t.next
	}
}

// leave lets go of an entity whose incarnation has ended.
func (ls limits[M]) leave(e *entity[M]) {
	t := e.turn
	for _, l := range ls {
		l.leave(&t.entry)
		t = t.next
	}
}

// resize is what an entity tells of its size; it is called on the entity.
func (e *entity[M]) resize(bytes int64) {
	t := e.turn
	for _, l := range e.home.s.r.limit {
		l.resize(&t.entry, max(bytes, 0))
		t = t.next
	}
}

// retire implements [resident]. By the time that the limiters hear of it the
// incarnation may have ended, and the next one have entered, which stays.
func (e *entity[M]) retire() bool {
	r := e.home.s.r
	cell := e.cell.Load()
	if !r.retire(cell) {
		return false
	}
	t := e.turn
	for _, l := range r.limit {
		l.mu.Lock()
		if e.cell.Load() == cell {
			l.goes(&t.entry)
		}
		l.mu.Unlock()
		t = t.next
	}
	return true
}

func (e *entity[M]) lastUse() int64         { return e.cell.Load().IdleSince().UnixNano() }
func (e *entity[M]) usesFor(s share) uint32 { return e.uses.take(s) }

// used counts a message. It is exact for a single teller at a time, which will
// do, and writes nothing where nobody looks.
func (e *entity[M]) used() {
	if n := e.uses.Load(); n != allFull {
		e.uses.add(n)
	}
}

// A usage counts the messages to an entity, up to maxUses in each share, since the
// limiter whose share it is looked last. A share that is nobody's is full.
type usage struct{ atomic.Uint32 }

// A share is where it begins, in bits.
type share uint8

const (
	ownShare  share = 0  // of the type's own limiter
	poolShare share = 16 // of its pool's

	shareMask = 1<<16 - 1
	allFull   = maxUses<<ownShare | maxUses<<poolShare
)

// start empties the shares that somebody has.
func (t *usage) start(ls []limiting) {
	n := uint32(allFull)
	for _, l := range ls {
		n &^= shareMask << l.share
	}
	t.Store(n)
}

// take empties a share and gives what was in it.
func (t *usage) take(s share) uint32 {
	return t.And(^(uint32(shareMask) << s)) >> s & shareMask
}

// add counts one more than n in the shares that are not full. It is apart, so that
// the look which finds all full is part of its callers.
//
//go:noinline
func (t *usage) add(n uint32) {
	for _, s := range [...]share{ownShare, poolShare} {
		if n>>s&shareMask < maxUses {
			n += 1 << s
		}
	}
	t.Store(n)
}
