package troupe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/sbr"
	"github.com/troupe-go/troupe/store"
)

// arbiter asks the store for the lease that decides between two sides. The
// lease is not renewed: it is no lock but the answer to one question, kept for as
// long as another side may still ask it, and given back early only by a side that
// has no use for it.
//
// What a store does not answer in time is unknown, and asking again for the same
// owner is how to find out: it is given again what it has already. A side that
// knows nothing after all its time counts as denied.
type arbiter struct {
	leases  store.Leases // nil: nobody asks
	name    string
	answers chan leaseAnswer
	ctx     context.Context
	cancel  context.CancelFunc
	work    sync.WaitGroup

	returning atomic.Int32 // how many answers are being given back

	// Owned by the owner goroutine.
	asked    int       // how often; answers to earlier questions do not count
	won      string    // the owner of the lease that decided for this side last, if any did
	wonUntil time.Time // when it runs out
}

// leaseAnswer is what became of a question.
type leaseAnswer struct {
	question int
	owner    string
	holding  store.Holding
	err      error // nil: granted
}

const (
	leaseTry   = 1500 * time.Millisecond // for each request to the store
	leasePause = 100 * time.Millisecond  // after one that failed at once

	giveBackWithin = 30 * time.Second // then the lease has run out, or nearly
	giveBackPause  = 500 * time.Millisecond
)

func newArbiter(s settings) *arbiter {
	a := &arbiter{name: s.Name + "/downing", answers: make(chan leaseAnswer)}
	if s.Store != nil {
		a.leases = s.Store
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// ask begins to ask for the lease, not before a time; the answer comes through
// answers, within [sbr.AskWithin] of that time. Each question has an owner of its
// own, so that giving back what came too late never takes from a later one; but
// who has won goes on as the same owner, or it would lose against itself.
func (a *arbiter) ask(self ID, at time.Time, ttl time.Duration) {
	a.asked++
	if time.Now().After(a.wonUntil) {
		a.won = ""
	}
	ans := leaseAnswer{question: a.asked, owner: a.won}
	if ans.owner == "" {
		ans.owner = fmt.Sprintf("%s/%d", self, ans.question)
	}
	a.work.Go(func() {
		if !sleep(a.ctx, time.Until(at)) {
			return
		}
		ctx, cancel := context.WithTimeout(a.ctx, sbr.AskWithin)
		defer cancel()
		ans.holding, ans.err = a.acquire(ctx, ans.owner, ttl)
		select {
		case a.answers <- ans:
		case <-a.ctx.Done():
		}
	})
}

// acquire asks until the answer is clear, or ctx ends.
func (a *arbiter) acquire(ctx context.Context, owner string, ttl time.Duration) (store.Holding, error) {
	for {
		got, err := a.try(ctx, owner, ttl)
		switch {
		case err == nil, errors.Is(err, store.ErrHeld), errors.Is(err, store.ErrBadArgument):
			return got, err
		case !sleep(ctx, leasePause):
			return got, err
		}
	}
}

// try makes one attempt. What this side holds since its last decision is made to
// last as long as what is new.
func (a *arbiter) try(ctx context.Context, owner string, ttl time.Duration) (store.Holding, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseTry)
	defer cancel()
	got, err := a.leases.Acquire(ctx, a.name, owner, ttl)
	if err == nil && got.Left < ttl-sbr.AskWithin {
		return a.leases.Renew(ctx, a.name, owner, got.Token, ttl)
	}
	return got, err
}

// settle decides what an answer counts for; current is false for one to a
// question that has been replaced. A node that has woken and is not confirmed as a
// member may not win: what it asks for may have been decided long ago.
func (a *arbiter) settle(ans leaseAnswer, woken bool) (granted, current bool) {
	current = ans.question == a.asked
	granted = ans.err == nil && current && !woken
	switch {
	case granted:
		a.won, a.wonUntil = ans.owner, time.Now().Add(ans.holding.Left)
	case errors.Is(ans.err, store.ErrHeld) && ans.owner == a.won:
		a.won = "" // it ran out
	case ans.owner != a.won && !errors.Is(ans.err, store.ErrHeld):
		a.giveBack(ans) // not wanted, or perhaps granted after all
	}
	return granted, current
}

// giveBack releases in the background what an answer granted, or may have; again
// and again for a while, as a request that was not answered may still be on its way.
func (a *arbiter) giveBack(ans leaseAnswer) {
	if a.won == ans.owner {
		a.won = ""
	}
	a.returning.Add(1)
	a.work.Go(func() {
		defer a.returning.Add(-1)
		ctx, cancel := context.WithTimeout(a.ctx, giveBackWithin)
		defer cancel()
		last := time.Now().Add(sbr.AskWithin)
		for (a.release(ctx, ans.owner) != nil || time.Now().Before(last)) && sleep(ctx, giveBackPause) {
		}
	})
}

func (a *arbiter) release(ctx context.Context, owner string) error {
	ctx, cancel := context.WithTimeout(ctx, leaseTry)
	defer cancel()
	got, err := a.leases.Holder(ctx, a.name)
	if err != nil || got.Owner != owner {
		return err
	}
	return a.leases.Release(ctx, a.name, owner, got.Token)
}

// end stops asking and waits for what runs. What decided for this side is not
// given back, since a side does not end with one of its nodes: it runs out. What is
// just being given back has until ctx ends, as another side may be asking.
func (a *arbiter) end(ctx context.Context) {
	for a.returning.Load() > 0 && sleep(ctx, giveBackPause/10) {
	}
	a.cancel()
	a.work.Wait()
}
