package shard

import (
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/shard/internal/evict"
)

// Eviction chooses which entity is passivated when there are more than
// [Type.Limit], [Type.LimitBytes] or a [Pool] allow.
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

// A limiter keeps entities within limits: those of a type on this node, or those
// of all types that share a [Pool]. Its lock is a leaf: whoever holds a slot's lock
// may take it, and nothing is called under it that takes one.
type limiter struct {
	entities int   // zero for no limit
	bytes    int64 // the same
	went     atomic.Uint64

	mu     sync.Mutex
	policy evict.Policy[resident]
	count  int   // of those that are here
	sum    int64 // of their sizes
}

// A resident is what a limiter sees of an entity, whatever its type.
type resident interface {
	// lastUse is when it was used last, on a clock that does not run back.
	lastUse() int64
	// usesFor is how often it was used since this was asked last for that share of
	// its usage.
	usesFor(share) uint32
	// retire has it end if it is not in use, says so to all its limiters, and tells
	// whether it ends. It must be called without a limiter's lock.
	retire() bool
}

// An entry is a resident's place with a limiter.
type entry = evict.Entry[resident]

// How it stands there.
const (
	isAbsent uint8 = iota // no incarnation has entered
	isHere                // it counts
	isAsked               // whether it can go; it does not count meanwhile
	isGoing               // it will end, because of this limiter or another one
)

const (
	// maxUses is where counting stops between two looks, and so does writing to
	// an entity that is used all the time.
	maxUses = 15
	// maxAsked is how many entities are asked to go at once. If they are in use,
	// or more should go, the next one that starts asks again.
	maxAsked = 16
)

// newLimiter makes one that looks at one share of the entities' usages.
func newLimiter(entities int, bytes int64, who Eviction, s share) *limiter {
	l := &limiter{entities: entities, bytes: bytes}
	switch who {
	case LRU:
		l.policy = evict.NewLRU(func(e resident) evict.Use { return evict.Use{Last: e.lastUse()} })
	case LFU:
		l.policy = evict.NewLFU(func(e resident) evict.Use { return evict.Use{Last: e.lastUse(), More: e.usesFor(s)} })
	case S3FIFO:
		l.policy = evict.NewS3FIFO(func(e resident) evict.Use { return evict.Use{More: e.usesFor(s)} })
	}
	return l
}

// enter takes in an entity with its new incarnation, and asks others to go if
// they are too many now.
func (l *limiter) enter(e *entry) {
	l.mu.Lock()
	l.become(e, isHere)
	l.policy.Add(e)
	l.mu.Unlock()
	l.relieve()
}

// leave lets go of an entity whose incarnation has ended: it has no size until the
// next one tells its own.
func (l *limiter) leave(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.become(e, isAbsent)
	l.policy.Remove(e)
	e.Size = 0
}

// resize takes in what an entity has told of its size.
func (l *limiter) resize(e *entry, bytes int64) {
	l.mu.Lock()
	if e.State == isHere {
		l.sum += bytes - e.Size
	}
	e.Size = bytes
	l.mu.Unlock()
	l.relieve()
}

// become keeps count of those that are here. The lock is held.
func (l *limiter) become(e *entry, state uint8) {
	if e.State == isHere {
		l.count, l.sum = l.count-1, l.sum-e.Size
	}
	e.State = state
	if state == isHere {
		l.count, l.sum = l.count+1, l.sum+e.Size
	}
}

// relieve asks entities to go while there are too many. One that does not, since
// it is in use, counts on, and comes back to the policy behind the others.
func (l *limiter) relieve() {
	var busy []*entry
	for range maxAsked {
		e, ok := l.next()
		if !ok {
			break
		}
		if e.Value.retire() {
			l.went.Add(1)
			continue
		}
		l.mu.Lock()
		if e.State == isAsked { // and has not ended by itself meanwhile
			l.become(e, isHere)
			busy = append(busy, e)
		}
		l.mu.Unlock()
	}
	l.back(busy)
}

// next takes out the entity that should go, if one should.
func (l *limiter) next() (*entry, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if (l.entities == 0 || l.count <= l.entities) && (l.bytes == 0 || l.sum <= l.bytes) {
		return nil, false
	}
	e, ok := l.policy.Next()
	if ok {
		l.become(e, isAsked)
	}
	return e, ok
}

// back has the policy choose again among those that were in use.
func (l *limiter) back(busy []*entry) {
	if len(busy) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range busy {
		if e.State == isHere {
			l.policy.Add(e)
		}
	}
}

// goes says that an entity will end, by whichever limiter. The lock is held.
func (l *limiter) goes(e *entry) {
	if e.State != isAbsent {
		l.become(e, isGoing)
		l.policy.Remove(e)
	}
}
