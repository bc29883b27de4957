package shard

import (
	"sync"

	"github.com/troupe-go/troupe/shard/internal/evict"
)

// Eviction chooses which entity is passivated when a node has more of a type than
// [Type.Limit] or [Type.LimitBytes] allows.
type Eviction uint8

// The policies. What an entity was used is looked up when one has to go, at a few
// entities each time, so that nobody pays for it at a message.
const (
	// LRU passivates the entity that was not used for the longest time.
	LRU Eviction = iota
	// LFU passivates the one that was used least often; old use counts less and less.
	LFU
	// S3FIFO passivates those first that were not used again soon after they
	// came, so that one pass over all ids does not displace the ones in use.
	S3FIFO
)

// A limiter keeps the entities of a type on this node within its limits. Its lock
// is a leaf: whoever holds a slot's lock may take it, and nothing is called under
// it. A nil limiter has no limits.
type limiter[M any] struct {
	entities int   // zero for no limit
	bytes    int64 // the same

	mu     sync.Mutex
	policy evict.Policy[*entity[M]]
	sum    int64 // of the sizes of those that have not been asked to go
}

const (
	// maxUses is where counting stops between two looks, and so does writing to
	// an entity that is used all the time.
	maxUses = 15
	// maxAsked is how many entities are asked to go at once. If they are in use,
	// or more should go, the next one that starts asks again.
	maxAsked = 16
)

func newLimiter[M any](t Type[M]) *limiter[M] {
	if !t.limited() {
		return nil
	}
	l := &limiter[M]{entities: t.Limit, bytes: t.LimitBytes}
	last := func(e *entity[M]) int64 { return e.cell.Load().IdleSince().UnixNano() }
	switch t.Evict {
	case LRU:
		l.policy = evict.NewLRU(func(e *entity[M]) evict.Use { return evict.Use{Last: last(e)} })
	case LFU:
		l.policy = evict.NewLFU(func(e *entity[M]) evict.Use { return evict.Use{Last: last(e), More: e.uses.Swap(0)} })
	case S3FIFO:
		l.policy = evict.NewS3FIFO(func(e *entity[M]) evict.Use { return evict.Use{More: e.uses.Swap(0)} })
	}
	return l
}

// used counts a message. It is exact for a single teller at a time, which will
// do, and writes nothing where nobody looks.
func (e *entity[M]) used() {
	if n := e.uses.Load(); n < maxUses {
		e.uses.Store(n + 1)
	}
}

// turnOf makes the place of a new entity.
func (l *limiter[M]) turnOf(e *entity[M]) *evict.Entry[*entity[M]] {
	if l == nil {
		e.uses.Store(maxUses)
		return nil
	}
	return &evict.Entry[*entity[M]]{Value: e, Hash: e.hash}
}

// enter takes in an entity with its new incarnation, and asks others to go if
// they are too many now.
func (l *limiter[M]) enter(e *entity[M]) {
	if l == nil {
		return
	}
	l.mu.Lock()
	e.lives = true
	l.add(e)
	l.mu.Unlock()
	l.relieve()
}

func (l *limiter[M]) add(e *entity[M]) {
	l.policy.Add(e.turn)
	l.sum += e.turn.Size
}

// leave lets go of an entity whose incarnation has ended: it has no size until the
// next one tells its own.
func (l *limiter[M]) leave(e *entity[M]) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.turn.In() {
		l.policy.Remove(e.turn)
		l.sum -= e.turn.Size
	}
	e.lives, e.turn.Size = false, 0
}

// resize is what an entity tells of its size; it is called on the entity.
func (e *entity[M]) resize(bytes int64) {
	l := e.home.s.r.limit
	if l == nil {
		return
	}
	bytes = max(bytes, 0)
	l.mu.Lock()
	if e.turn.In() {
		l.sum += bytes - e.turn.Size
	}
	e.turn.Size = bytes
	l.mu.Unlock()
	l.relieve()
}

// relieve asks entities to go while there are too many. One that does not, since
// it is in use, is taken in again, unless it has ended by itself meanwhile.
func (l *limiter[M]) relieve() {
	for range maxAsked {
		e := l.next()
		if e == nil {
			return
		}
		if e.home.s.r.retire(e.cell.Load()) {
			continue
		}
		l.mu.Lock()
		if e.lives {
			l.add(e)
		}
		l.mu.Unlock()
	}
}

// next takes out the entity that should go, if one should.
func (l *limiter[M]) next() *entity[M] {
	l.mu.Lock()
	defer l.mu.Unlock()
	if (l.entities == 0 || l.policy.Len() <= l.entities) && (l.bytes == 0 || l.sum <= l.bytes) {
		return nil
	}
	turn, ok := l.policy.Next()
	if !ok {
		return nil
	}
	l.sum -= turn.Size
	return turn.Value
}
