package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Memory is a store for the nodes of one process: for tests and demonstrations,
// since it ends with the process that it should outlive. It behaves as the
// databases do, and answers at once.
type Memory struct {
	mu       sync.Mutex
	leases   map[string]Holding // Left is unused: see ends
	ends     map[string]time.Time
	clusters map[string]*founding
	shards   map[Shard]*fencedShard
	rings    map[Ring]*table
}

// A founding is one cluster name with its runners by address.
type founding struct {
	id         string
	until      time.Time // for the founder to register
	generation Generation
	runners    map[string]*row
}

type row struct {
	LiveRunner
	until time.Time
}

var _ Store = (*Memory)(nil)

// NewMemory makes an empty store. All nodes that are to share it get the same one.
func NewMemory() *Memory {
	return &Memory{
		leases:   map[string]Holding{},
		ends:     map[string]time.Time{},
		clusters: map[string]*founding{},
		shards:   map[Shard]*fencedShard{},
		rings:    map[Ring]*table{},
	}
}

// Close does nothing: others may still use the store.
func (*Memory) Close() error { return nil }

// Acquire implements [Leases].
func (m *Memory) Acquire(ctx context.Context, name, owner string, ttl time.Duration) (Holding, error) {
	if err := cmp.Or(CheckLease(name, owner, ttl), ended(ctx)); err != nil {
		return Holding{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	switch h := m.holder(now, name); h.Owner {
	case owner:
		return h, nil
	case "":
		m.leases[name] = Holding{Owner: owner, Token: h.Token + 1}
		m.ends[name] = now.Add(ttl)
		return m.holder(now, name), nil
	default:
		return h, &HeldError{Name: name, By: h.Owner, For: h.Left}
	}
}

// Renew implements [Leases].
func (m *Memory) Renew(ctx context.Context, name, owner string, token Token, ttl time.Duration) (Holding, error) {
	if err := cmp.Or(CheckLease(name, owner, ttl), ended(ctx)); err != nil {
		return Holding{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if h := m.holder(now, name); h.Owner != owner || h.Token != token {
		return h, fmt.Errorf("%w: renew %q with token %d: now it is %d of %q", ErrLeaseLost, name, token, h.Token, h.Owner)
	}
	m.ends[name] = now.Add(ttl)
	return m.holder(now, name), nil
}

// Release implements [Leases].
func (m *Memory) Release(ctx context.Context, name, owner string, token Token) error {
	if err := cmp.Or(CheckLease(name, owner, MaxTTL), ended(ctx)); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.leases[name]; h.Owner == owner && h.Token == token {
		m.leases[name] = Holding{Token: token}
	}
	return nil
}

// Holder implements [Leases].
func (m *Memory) Holder(ctx context.Context, name string) (Holding, error) {
	if err := ended(ctx); err != nil {
		return Holding{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.holder(time.Now(), name), nil
}

// holder is the holding at that moment.
func (m *Memory) holder(now time.Time, name string) Holding {
	h := m.leases[name]
	left := m.ends[name].Sub(now)
	if h.Owner == "" || left <= 0 {
		return Holding{Token: h.Token}
	}
	h.Left = left
	return h
}

// Found implements [Founding].
func (m *Memory) Found(ctx context.Context, cluster, proposal string, ttl time.Duration) (string, error) {
	if err := cmp.Or(CheckFounding(cluster, proposal, ttl), ended(ctx)); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	c := m.clusters[cluster]
	if c == nil {
		c = &founding{}
		m.clusters[cluster] = c
	}
	if !now.Before(c.until) && len(c.live(now)) == 0 {
		c.id, c.until, c.runners = proposal, now.Add(ttl), map[string]*row{}
	}
	return c.id, nil
}

// Register implements [Runners].
func (m *Memory) Register(ctx context.Context, r Runner, ttl time.Duration) (Generation, error) {
	if err := cmp.Or(CheckRunner(r, ttl), ended(ctx)); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := m.cluster(r)
	if err != nil {
		return 0, fmt.Errorf("register %s: %w", r.Address, err)
	}
	now := time.Now()
	for address, old := range c.runners {
		if now.Sub(old.until) > ttl {
			delete(c.runners, address)
		}
	}
	old := c.runners[r.Address]
	if old == nil || old.Incarnation != r.Incarnation {
		c.generation++
		old = &row{LiveRunner: LiveRunner{Runner: r, Generation: c.generation}}
		c.runners[r.Address] = old
	}
	old.until = now.Add(ttl)
	return old.Generation, nil
}

// Refresh implements [Runners].
func (m *Memory) Refresh(ctx context.Context, r Runner, g Generation, ttl time.Duration) error {
	if err := cmp.Or(CheckRunner(r, ttl), ended(ctx)); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := m.cluster(r)
	if err != nil {
		return fmt.Errorf("refresh %s: %w", r.Address, err)
	}
	old := c.runners[r.Address]
	if old == nil || old.Generation != g {
		return fmt.Errorf("%w: refresh %s of generation %d", ErrRunnerGone, r.Address, g)
	}
	old.until = time.Now().Add(ttl)
	return nil
}

// Remove implements [Runners].
func (m *Memory) Remove(ctx context.Context, r Runner, g Generation) error {
	if err := ended(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.clusters[r.Cluster]; c != nil {
		if old := c.runners[r.Address]; old != nil && old.Generation == g {
			delete(c.runners, r.Address)
		}
	}
	return nil
}

// Live implements [Runners].
func (m *Memory) Live(ctx context.Context, cluster string) ([]LiveRunner, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.clusters[cluster]
	if c == nil {
		return nil, nil
	}
	return c.live(time.Now()), nil
}

// cluster is the one that the runner belongs to.
func (m *Memory) cluster(r Runner) (*founding, error) {
	c := m.clusters[r.Cluster]
	if c == nil {
		return nil, fmt.Errorf("%w: %q was never founded", ErrOtherCluster, r.Cluster)
	}
	if c.id != r.ClusterID {
		return nil, fmt.Errorf("%w: %q is %s, not %s", ErrOtherCluster, r.Cluster, c.id, r.ClusterID)
	}
	return c, nil
}

func (c *founding) live(now time.Time) []LiveRunner {
	var live []LiveRunner
	for _, r := range c.runners {
		if left := r.until.Sub(now); left > 0 {
			l := r.LiveRunner
			l.Left = left
			live = append(live, l)
		}
	}
	slices.SortFunc(live, func(a, b LiveRunner) int { return cmp.Compare(a.Address, b.Address) })
	return live
}

// ended is an [ErrUnknown] if nobody waits any more.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return unknown(err, nil)
	}
	return nil
}
