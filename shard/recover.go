package shard

import (
	"sync"
	"time"

	life "github.com/troupe-go/troupe/shard/internal/entity"
)

// A recovery has the entities of a type that are remembered, or always live, started
// on this node, over all its shards, no faster than the type allows. To wait for one's turn is no failure:
// nothing ends because of it. Its lock is a leaf. A nil one has nothing to do.
type recovery[M any] struct {
	r  *shell[M]
	mu sync.Mutex
	of *life.Starter[*entity[M]]
}

const (
	defaultRecoverRate = 1000
	defaultRecoverOpen = 64
	recoverBatches     = 20 // in a second, if there are so many to recover in one
)

func newRecovery[M any](r *shell[M]) *recovery[M] {
	batch := max(1, r.typ.RecoverRate/recoverBatches)
	return &recovery[M]{r: r, of: life.NewStarter[*entity[M]](life.Pace{
		Batch: batch, Every: time.Duration(batch) * time.Second / time.Duration(r.typ.RecoverRate), Open: r.typ.RecoverOpen,
	})}
}

// add has an entity started in its turn, or, if it is wanted, before those that are not.
func (r *recovery[M]) add(e *entity[M], wanted bool) {
	r.mu.Lock()
	r.of.Add(e)
	if wanted {
		r.of.First(e)
	}
	r.mu.Unlock()
	r.r.control.posts.Signal()
}

// first has an entity started before those that are not wanted.
func (r *recovery[M]) first(e *entity[M]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of.First(e)
}

// done lets go of an entity that has started, or will not: another one may.
func (r *recovery[M]) done(e *entity[M]) {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.of.Acked(e, true)
	more := r.of.Waiting() > 0
	r.mu.Unlock()
	if more {
		r.r.control.posts.Signal()
	}
}

// wake is when somebody is to be started; zero for never.
func (r *recovery[M]) wake() time.Time {
	if r == nil {
		return time.Time{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of.Wake(time.Now())
}

// step gives those whose turn it is.
func (r *recovery[M]) step(now time.Time) []*entity[M] {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of.Step(now)
}
