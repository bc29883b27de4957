package store

import (
	"context"
	"slices"
	"time"
)

// A table is what a [Memory] keeps of a ring.
type table struct {
	term    uint64
	token   Token // the last one that was given
	seats   map[string]seat
	latches map[string]Latch
}

type seat struct {
	TakenSeat // Left is unused: see until
	until     time.Time
}

// at runs f on the table of the ring, of which the seats that have run out are gone.
func (m *Memory) at(ctx context.Context, r Ring, f func(t *table, now time.Time) error) error {
	if err := ended(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t, now := m.rings[r], time.Now()
	if t == nil {
		t = &table{seats: map[string]seat{}, latches: map[string]Latch{}}
		m.rings[r] = t
	}
	for runner, s := range t.seats {
		if !now.Before(s.until) {
			delete(t.seats, runner)
		}
	}
	return f(t, now)
}

// sits tells whether the runner has a seat with that token.
func (t *table) sits(runner string, token Token) bool {
	s, sits := t.seats[runner]
	return sits && s.Token == token
}

// sit has the runner sit there for ttl.
func (t *table) sit(s Seat, token Token, until time.Time) {
	s.Note = slices.Clone(s.Note) // nobody else's
	t.seats[s.Runner] = seat{TakenSeat: TakenSeat{Seat: s, Token: token}, until: until}
}

// Sit implements [Locks].
func (m *Memory) Sit(ctx context.Context, r Ring, s Seat, ttl time.Duration) (token Token, err error) {
	if err := CheckSeat(r, s, ttl); err != nil {
		return 0, err
	}
	err = m.at(ctx, r, func(t *table, now time.Time) error {
		if len(t.seats) == 0 {
			t.term++
		}
		if token = t.seats[s.Runner].Token; token == 0 {
			t.token++
			token = t.token
		}
		t.sit(s, token, now.Add(ttl))
		return nil
	})
	return token, err
}

// Keep implements [Locks].
func (m *Memory) Keep(ctx context.Context, r Ring, s Seat, token Token, ttl time.Duration) error {
	if err := CheckSeat(r, s, ttl); err != nil {
		return err
	}
	return m.at(ctx, r, func(t *table, now time.Time) error {
		if !t.sits(s.Runner, token) {
			return NoSeat(r, s.Runner, token)
		}
		t.sit(s, token, now.Add(ttl))
		return nil
	})
}

// Rise implements [Locks].
func (m *Memory) Rise(ctx context.Context, r Ring, runner string, token Token) error {
	if err := CheckRise(r, runner); err != nil {
		return err
	}
	return m.at(ctx, r, func(t *table, _ time.Time) error {
		if t.sits(runner, token) {
			delete(t.seats, runner)
		}
		return nil
	})
}

// Take implements [Locks].
func (m *Memory) Take(ctx context.Context, r Ring, runner string, token Token, shards []string) (mine []Lock, err error) {
	if err := CheckTake(r, runner, shards); err != nil {
		return nil, err
	}
	err = m.at(ctx, r, func(t *table, _ time.Time) error {
		if !t.sits(runner, token) {
			return NoSeat(r, runner, token)
		}
		lasts := map[Token]bool{}
		for _, s := range t.seats {
			lasts[s.Token] = true
		}
		for _, id := range slices.Compact(slices.Sorted(slices.Values(shards))) {
			l, anew := t.latches[id].Take(token, lasts[t.latches[id].Seat], t.term, m.shard(r.Shard(id)).fence.Epoch)
			if anew {
				t.latches[id] = l
			}
			if l.Seat == token {
				mine = append(mine, Lock{Shard: id, Runner: runner, Token: token, Epoch: l.Epoch})
			}
		}
		return nil
	})
	return mine, err
}

// Give implements [Locks].
func (m *Memory) Give(ctx context.Context, r Ring, runner string, token Token, locks []Lock) error {
	if err := CheckGive(r, runner, locks); err != nil {
		return err
	}
	return m.at(ctx, r, func(t *table, _ time.Time) error {
		if !t.sits(runner, token) {
			return nil // all of them are void
		}
		for _, l := range locks {
			if had := (Latch{Seat: token, Epoch: l.Epoch}); t.latches[l.Shard] == had {
				t.latches[l.Shard] = Latch{Epoch: l.Epoch}
			}
		}
		return nil
	})
}

// Table implements [Locks].
func (m *Memory) Table(ctx context.Context, r Ring) (seats []TakenSeat, locks []Lock, err error) {
	if err := CheckRing(r); err != nil {
		return nil, nil, err
	}
	err = m.at(ctx, r, func(t *table, now time.Time) error {
		for _, s := range t.seats {
			s.Note = slices.Clone(s.Note)
			seats = append(seats, TakenSeat{Seat: s.Seat, Token: s.Token, Left: s.until.Sub(now)})
		}
		for id, l := range t.latches {
			locks = append(locks, Lock{Shard: id, Token: l.Seat, Epoch: l.Epoch})
		}
		return nil
	})
	seats, locks = Seated(seats, locks)
	return seats, locks, err
}

// RaiseTerm implements [Locks].
func (m *Memory) RaiseTerm(ctx context.Context, r Ring, atLeast uint64) (term uint64, err error) {
	if err := CheckTerm(r, atLeast); err != nil {
		return 0, err
	}
	err = m.at(ctx, r, func(t *table, _ time.Time) error {
		t.term = max(t.term, m.claimed(r).Term)
		t.term = max(t.term+1, atLeast)
		term = t.term
		return nil
	})
	return term, err
}

// claimed is the highest epoch of any shard of the ring.
func (m *Memory) claimed(r Ring) (highest Epoch) {
	for s, f := range m.shards {
		if s == r.Shard(s.ID) && f.fence.Epoch.Compare(highest) > 0 {
			highest = f.fence.Epoch
		}
	}
	return highest
}
