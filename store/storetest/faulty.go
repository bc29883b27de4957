package storetest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/troupe-go/troupe/store"
)

// A Fault is what happens to the calls of a [Faulty] store.
type Fault uint8

// The faults. Under all but None and Stale the caller gets a [store.ErrUnknown].
const (
	None        Fault = iota
	LoseRequest       // not carried out
	LoseAnswer        // carried out
	Hang              // not carried out; no answer until the context ends
	Delay             // no answer until the context ends; carried out by Deliver
	Stale             // reads answer what they answered last, as a copy does that is behind
)

// Faulty is a node's way to a store, which can be bad. It is a [store.Store].
type Faulty struct {
	store store.Store

	mu      sync.Mutex
	fault   Fault
	delayed []func(context.Context)
	holders map[string]store.Holding
	runners map[string][]store.LiveRunner
	entries map[string]store.Entry
	pages   map[string][]store.Entry
	tables  map[string]tables
}

// tables are the two answers of [store.Locks.Table].
type tables struct {
	seats []store.TakenSeat
	locks []store.Lock
}

var _ store.Store = (*Faulty)(nil)

// NewFaulty gives a way to the store without a fault.
func NewFaulty(s store.Store) *Faulty {
	return &Faulty{
		store:   s,
		holders: map[string]store.Holding{}, runners: map[string][]store.LiveRunner{},
		entries: map[string]store.Entry{}, pages: map[string][]store.Entry{},
		tables: map[string]tables{},
	}
}

// Set has the fault happen to all calls from now on, until it is set anew.
func (f *Faulty) Set(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// Deliver carries out the calls that were delayed until now, in order, and
// drops their answers. It tells how many there were.
func (f *Faulty) Deliver(ctx context.Context) int {
	f.mu.Lock()
	calls := f.delayed
	f.delayed = nil
	f.mu.Unlock()
	for _, call := range calls {
		call(ctx)
	}
	return len(calls)
}

// now is the fault in force.
func (f *Faulty) now() Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fault
}

// through makes a call under the fault in force.
func through[T any](ctx context.Context, f *Faulty, call func(context.Context) (T, error)) (T, error) {
	var nothing T
	switch f.now() {
	case LoseRequest:
		return nothing, fmt.Errorf("%w: the request was lost", store.ErrUnknown)
	case LoseAnswer:
		_, _ = call(ctx) // the answer is lost, whatever it was
		return nothing, fmt.Errorf("%w: the answer was lost", store.ErrUnknown)
	case Delay:
		f.mu.Lock()
		f.delayed = append(f.delayed, func(ctx context.Context) { _, _ = call(ctx) })
		f.mu.Unlock()
		fallthrough
	case Hang:
		<-ctx.Done()
		return nothing, fmt.Errorf("%w: no answer: %w", store.ErrUnknown, ctx.Err())
	case None, Stale:
	}
	return call(ctx)
}

// read makes a call that changes nothing and remembers its answer for the time
// when reads are stale.
func read[T any](ctx context.Context, f *Faulty, last map[string]T, key string, call func(context.Context) (T, error)) (T, error) {
	if f.now() == Stale {
		f.mu.Lock()
		defer f.mu.Unlock()
		return last[key], nil
	}
	got, err := through(ctx, f, call)
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		last[key] = got
	}
	return got, err
}

// none makes a call with nothing but an error through a fault.
func none(ctx context.Context, f *Faulty, call func(context.Context) error) error {
	_, err := through(ctx, f, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	return err
}

// Acquire implements [store.Leases].
func (f *Faulty) Acquire(ctx context.Context, name, owner string, ttl time.Duration) (store.Holding, error) {
	return through(ctx, f, func(ctx context.Context) (store.Holding, error) { return f.store.Acquire(ctx, name, owner, ttl) })
}

// Renew implements [store.Leases].
func (f *Faulty) Renew(ctx context.Context, name, owner string, token store.Token, ttl time.Duration) (store.Holding, error) {
	return through(ctx, f, func(ctx context.Context) (store.Holding, error) { return f.store.Renew(ctx, name, owner, token, ttl) })
}

// Release implements [store.Leases].
func (f *Faulty) Release(ctx context.Context, name, owner string, token store.Token) error {
	return none(ctx, f, func(ctx context.Context) error { return f.store.Release(ctx, name, owner, token) })
}

// Holder implements [store.Leases].
func (f *Faulty) Holder(ctx context.Context, name string) (store.Holding, error) {
	return read(ctx, f, f.holders, name, func(ctx context.Context) (store.Holding, error) { return f.store.Holder(ctx, name) })
}

// Found implements [store.Founding].
func (f *Faulty) Found(ctx context.Context, cluster, proposal string, ttl time.Duration) (string, error) {
	return through(ctx, f, func(ctx context.Context) (string, error) { return f.store.Found(ctx, cluster, proposal, ttl) })
}

// Register implements [store.Runners].
func (f *Faulty) Register(ctx context.Context, r store.Runner, ttl time.Duration) (store.Generation, error) {
	return through(ctx, f, func(ctx context.Context) (store.Generation, error) { return f.store.Register(ctx, r, ttl) })
}

// Refresh implements [store.Runners].
func (f *Faulty) Refresh(ctx context.Context, r store.Runner, g store.Generation, ttl time.Duration) error {
	return none(ctx, f, func(ctx context.Context) error { return f.store.Refresh(ctx, r, g, ttl) })
}

// Remove implements [store.Runners].
func (f *Faulty) Remove(ctx context.Context, r store.Runner, g store.Generation) error {
	return none(ctx, f, func(ctx context.Context) error { return f.store.Remove(ctx, r, g) })
}

// Live implements [store.Runners].
func (f *Faulty) Live(ctx context.Context, cluster string) ([]store.LiveRunner, error) {
	return read(ctx, f, f.runners, cluster, func(ctx context.Context) ([]store.LiveRunner, error) { return f.store.Live(ctx, cluster) })
}

// Claim implements [store.State].
func (f *Faulty) Claim(ctx context.Context, t store.Tenure) error {
	return none(ctx, f, func(ctx context.Context) error { return f.store.Claim(ctx, t) })
}

// Get implements [store.State].
func (f *Faulty) Get(ctx context.Context, s store.Shard, key string) (store.Entry, error) {
	return read(ctx, f, f.entries, fmt.Sprintf("%q %q", s, key), func(ctx context.Context) (store.Entry, error) { return f.store.Get(ctx, s, key) })
}

// Put implements [store.State].
func (f *Faulty) Put(ctx context.Context, t store.Tenure, key string, at store.Revision, value []byte) (store.Revision, error) {
	return through(ctx, f, func(ctx context.Context) (store.Revision, error) { return f.store.Put(ctx, t, key, at, value) })
}

// Delete implements [store.State].
func (f *Faulty) Delete(ctx context.Context, t store.Tenure, key string, at store.Revision) (store.Revision, error) {
	return through(ctx, f, func(ctx context.Context) (store.Revision, error) { return f.store.Delete(ctx, t, key, at) })
}

// List implements [store.State].
func (f *Faulty) List(ctx context.Context, s store.Shard, after string, limit int) ([]store.Entry, error) {
	return read(ctx, f, f.pages, fmt.Sprintf("%q %q", s, after), func(ctx context.Context) ([]store.Entry, error) { return f.store.List(ctx, s, after, limit) })
}

// Sit implements [store.Locks].
func (f *Faulty) Sit(ctx context.Context, r store.Ring, s store.Seat, ttl time.Duration) (store.Token, error) {
	return through(ctx, f, func(ctx context.Context) (store.Token, error) { return f.store.Sit(ctx, r, s, ttl) })
}

// Keep implements [store.Locks].
func (f *Faulty) Keep(ctx context.Context, r store.Ring, s store.Seat, token store.Token, ttl time.Duration) error {
	return none(ctx, f, func(ctx context.Context) error { return f.store.Keep(ctx, r, s, token, ttl) })
}

// Rise implements [store.Locks].
func (f *Faulty) Rise(ctx context.Context, r store.Ring, runner string, token store.Token) error {
	return none(ctx, f, func(ctx context.Context) error { return f.store.Rise(ctx, r, runner, token) })
}

// Take implements [store.Locks].
func (f *Faulty) Take(ctx context.Context, r store.Ring, runner string, token store.Token, shards []string) ([]store.Lock, error) {
	return through(ctx, f, func(ctx context.Context) ([]store.Lock, error) { return f.store.Take(ctx, r, runner, token, shards) })
}

// Give implements [store.Locks].
func (f *Faulty) Give(ctx context.Context, r store.Ring, runner string, token store.Token, locks []store.Lock) error {
	return none(ctx, f, func(ctx context.Context) error { return f.store.Give(ctx, r, runner, token, locks) })
}

// Table implements [store.Locks].
func (f *Faulty) Table(ctx context.Context, r store.Ring) ([]store.TakenSeat, []store.Lock, error) {
	got, err := read(ctx, f, f.tables, fmt.Sprintf("%q", r), func(ctx context.Context) (got tables, err error) {
		got.seats, got.locks, err = f.store.Table(ctx, r)
		return got, err
	})
	return got.seats, got.locks, err
}

// RaiseTerm implements [store.Locks].
func (f *Faulty) RaiseTerm(ctx context.Context, r store.Ring, atLeast uint64) (uint64, error) {
	return through(ctx, f, func(ctx context.Context) (uint64, error) { return f.store.RaiseTerm(ctx, r, atLeast) })
}

// Close closes the store, under any fault.
func (f *Faulty) Close() error { return f.store.Close() }
