package singleton

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/wake"
	"github.com/troupe-go/troupe/singleton/internal/owner"
	"github.com/troupe-go/troupe/store"
)

// A keeper asks for the lease, or gives it back: whatever is wanted last.
type keeper struct {
	lease *store.Lease
	log   *slog.Logger
	posts *wake.List[owner.Input]

	mu    sync.Mutex
	claim owner.Term         // for which the lease is wanted; zero: it is not
	drop  context.CancelFunc // ends the request in hand

	changed chan struct{} // holds one token
	life    context.Context
	end     context.CancelFunc
	ended   chan struct{}
}

const (
	askAgainAfter = time.Second            // when another holds the lease
	closeWait     = 300 * time.Millisecond // for the store, when the node ends
)

// newKeeper starts a goroutine that ends with close.
func newKeeper(leases store.Leases, c store.LeaseConfig, log *slog.Logger, p *wake.List[owner.Input]) (*keeper, error) {
	lease, err := store.NewLease(leases, c)
	if err != nil {
		return nil, err
	}
	k := &keeper{lease: lease, log: log, posts: p, drop: func() {}, changed: make(chan struct{}, 1), ended: make(chan struct{})}
	k.life, k.end = context.WithCancel(context.Background())
	go k.run()
	return k, nil
}

// held tells whether the lease is held at this moment.
func (k *keeper) held() bool { return k.lease.Valid(time.Now()) }

// want asks for the lease for a claim, or gives it back if that is zero.
func (k *keeper) want(claim owner.Term) {
	k.mu.Lock()
	k.claim = claim
	k.drop()
	k.mu.Unlock()
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

func (k *keeper) run() {
	defer close(k.ended)
	for {
		select {
		case <-k.life.Done():
			return
		case <-k.changed:
		}
		k.mu.Lock()
		claim := k.claim
		ctx, drop := context.WithCancel(k.life)
		k.drop = drop
		k.mu.Unlock()
		if claim.IsZero() {
			_ = k.lease.Release(ctx) // it goes on trying by itself, and the lease runs out in any case
		} else {
			k.acquire(ctx, claim)
		}
		drop()
	}
}

// acquire asks until the lease is held or something else is wanted.
func (k *keeper) acquire(ctx context.Context, claim owner.Term) {
	for said := false; ; said = true {
		_, err := k.lease.Acquire(ctx)
		if err == nil {
			k.posts.Add(owner.LeaseHeld{Claim: claim})
			return
		}
		if ctx.Err() == nil && !said {
			k.log.Info("the singleton waits for its lease", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(askAgainAfter):
		}
	}
}

// close gives the lease back, unless the store is too slow: then it runs out. Nothing that
// needs it may be running any more.
func (k *keeper) close() {
	k.end()
	<-k.ended
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	_ = k.lease.Close(ctx)
}
