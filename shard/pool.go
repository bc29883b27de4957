package shard

import (
	"errors"
	"fmt"
	"sync"
)

// A Pool bounds the entities of several types together: all that live on this node and
// whose [Type.Pool] it is. Make one per process, as a pointer, and name it in the types;
// Limit, LimitBytes or both are required.
//
//	pool := &shard.Pool{LimitBytes: 2 << 30, Evict: shard.S3FIFO}
//	rooms := shard.Type[room.Msg]{Name: "room", Pool: pool, …}
//	users := shard.Type[user.Msg]{Name: "user", Pool: pool, …}
//
// When one more starts, or grows, and they are too many, Evict chooses over all of them who
// is passivated; a type of which little is used makes room for one of which much is. One that
// is in use stays, and the limit is exceeded for that time. An entity that has been asked
// to go does not count any more.
//
// It must not be copied, nor its fields changed, once a type has joined with it. Types of two
// nodes in one process that name the same pool share it. Its methods are safe for concurrent use.
type Pool struct {
	// Limit is how many entities may be active. Default: no limit.
	Limit int
	// LimitBytes bounds the sum of what they tell of their size; all types must have
	// StartSized then. Default: no limit.
	LimitBytes int64
	// Evict chooses who has to go. Default [LRU].
	Evict Eviction

	once sync.Once
	all  *limiter
}

// PoolStats is how a pool stands.
type PoolStats struct {
	Entities int    // that are active, and have not been asked to go
	Bytes    int64  // what they told of their size, in sum
	Evicted  uint64 // that were passivated because of the pool, since it was made
}

// Stats tells how the pool stands at this moment. It does not block.
func (p *Pool) Stats() PoolStats {
	l := p.limiter()
	l.mu.Lock()
	defer l.mu.Unlock()
	return PoolStats{Entities: l.count, Bytes: l.sum, Evicted: l.went.Load()}
}

// limiter makes the pool's with the first call.
func (p *Pool) limiter() *limiter {
	p.once.Do(func() { p.all = newLimiter(p.Limit, p.LimitBytes, p.Evict, poolShare) })
	return p.all
}

// problems of a pool, for a type whose entities tell their size or do not. No pool
// has none.
func (p *Pool) problems(sized bool) error {
	if p == nil {
		return nil
	}
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	check(p.Limit != 0 || p.LimitBytes != 0, "Pool is empty: set its Limit or LimitBytes")
	check(p.Limit >= 0, "Pool.Limit is %d: it cannot be negative", p.Limit)
	check(p.LimitBytes >= 0, "Pool.LimitBytes is %d: it cannot be negative", p.LimitBytes)
	check(p.LimitBytes <= 0 || sized, "Pool.LimitBytes is %d, but without StartSized no entity of the type tells its size", p.LimitBytes)
	check(p.Evict <= S3FIFO, "Pool.Evict is %d: use LRU, LFU or S3FIFO", p.Evict)
	return errors.Join(problems...)
}
