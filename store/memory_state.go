package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// A fencedShard is what a [Memory] keeps of a shard.
type fencedShard struct {
	fence   Fence
	entries map[string]Entry
}

// shard is a shard, or what it is before anything was written to it.
func (m *Memory) shard(s Shard) *fencedShard {
	return cmp.Or(m.shards[s], &fencedShard{entries: map[string]Entry{}})
}

func (s *fencedShard) entry(key string) Entry {
	if e, ok := s.entries[key]; ok {
		return e
	}
	return s.fence.Absent(key)
}

// fenced lets the tenure change its shard, unless it is refused.
func (m *Memory) fenced(ctx context.Context, t Tenure, change func(*fencedShard) error) error {
	if err := ended(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.shard(t.Shard)
	fence, err := s.fence.Admit(t)
	if err != nil {
		return err
	}
	before := s.fence
	s.fence = fence
	if err := change(s); err != nil {
		s.fence = before
		return err
	}
	m.shards[t.Shard] = s
	return nil
}

// Claim implements [State].
func (m *Memory) Claim(ctx context.Context, t Tenure) error {
	if err := CheckClaim(t); err != nil {
		return err
	}
	return m.fenced(ctx, t, func(*fencedShard) error { return nil })
}

// Get implements [State].
func (m *Memory) Get(ctx context.Context, s Shard, key string) (Entry, error) {
	if err := cmp.Or(CheckRead(s, key), ended(ctx)); err != nil {
		return Entry{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shard(s).entry(key).clone(), nil
}

// Put implements [State].
func (m *Memory) Put(ctx context.Context, t Tenure, key string, at Revision, value []byte) (Revision, error) {
	if err := CheckWrite(t, key, value); err != nil {
		return 0, err
	}
	var e Entry
	err := m.fenced(ctx, t, func(s *fencedShard) (err error) {
		if e, err = s.fence.Put(t, s.entry(key), at, value); err == nil {
			s.entries[key] = e.clone()
		}
		return err
	})
	return e.Revision, err
}

// Delete implements [State].
func (m *Memory) Delete(ctx context.Context, t Tenure, key string, at Revision) (Revision, error) {
	if err := CheckWrite(t, key, nil); err != nil {
		return 0, err
	}
	var fence Fence
	err := m.fenced(ctx, t, func(s *fencedShard) (err error) {
		if fence, err = s.fence.Delete(t, s.entry(key), at); err == nil {
			s.fence = fence
			delete(s.entries, key)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return fence.Deleted, nil
}

// List implements [State].
func (m *Memory) List(ctx context.Context, s Shard, after string, limit int) ([]Entry, error) {
	if err := cmp.Or(CheckList(s, after, limit), ended(ctx)); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var page []Entry
	entries, size := m.shard(s).entries, 0
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if key <= after {
			continue
		}
		if len(page) == limit || size >= PageBytes {
			break
		}
		page = append(page, entries[key].clone())
		size += len(entries[key].Value)
	}
	return page, nil
}

// clone gives an entry whose value nobody else has.
func (e Entry) clone() Entry {
	e.Value = slices.Clone(e.Value)
	return e
}
