package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-go/troupe/store"
)

// Whoever changes a ring first locks its row. Each call does all that it has to do
// under that lock in one round trip, and is answered next to nothing: a node that
// is stopped in the midst of it keeps nobody waiting, while the seats of all others
// run out. That is why SQL decides here, and not Go.

// a ring's row is named by the first two arguments of each statement.
const ring = `(SELECT id FROM rings WHERE cluster = $1 AND type = $2)`

// A change is the statements of one transaction on a ring.
type change struct {
	pgx.Batch
	ring store.Ring
}

// at begins a change of the ring: after it has the lock, seats that have run out
// are gone. There is one moment, and after it a seat that is there lasts.
func at(r store.Ring) *change {
	c := &change{ring: r}
	c.do(`INSERT INTO rings (cluster, type, term, token) VALUES ($1, $2, 0, 0) ON CONFLICT DO NOTHING`)
	c.do(`SELECT FROM rings WHERE cluster = $1 AND type = $2 FOR UPDATE`)
	c.do(`DELETE FROM seats WHERE ring = ` + ring + ` AND until <= clock()`)
	return c
}

// do adds a statement.
func (c *change) do(sql string, args ...any) *pgx.QueuedQuery {
	return c.Queue(sql, append([]any{c.ring.Cluster, c.ring.Type}, args...)...)
}

// one adds a statement that gives at most one number; if none, it stays as it is.
func (c *change) one(n *int64, sql string, args ...any) {
	c.do(sql, args...).QueryRow(func(row pgx.Row) error {
		if err := row.Scan(n); !none(err) {
			return err
		}
		return nil
	})
}

// carry carries the change out as one transaction, in one round trip.
func (s *Store) carry(ctx context.Context, what string, c *change) error {
	if err := s.pool.SendBatch(ctx, &c.Batch).Close(); err != nil {
		return unknown(what, c.ring.String(), err)
	}
	return nil
}

// Sit implements [store.Locks].
func (s *Store) Sit(ctx context.Context, r store.Ring, seat store.Seat, ttl time.Duration) (store.Token, error) {
	if err := store.CheckSeat(r, seat, ttl); err != nil {
		return 0, err
	}
	const (
		count = `
UPDATE rings SET token = token + 1,
	term = term + CASE WHEN EXISTS (SELECT FROM seats WHERE ring = rings.id) THEN 0 ELSE 1 END
WHERE cluster = $1 AND type = $2 AND NOT EXISTS (SELECT FROM seats WHERE ring = rings.id AND runner = $3)`
		sit = `
INSERT INTO seats (ring, runner, token, note, until)
SELECT id, $3, token, coalesce($4, ''::bytea), clock() + $5::interval FROM rings WHERE cluster = $1 AND type = $2
ON CONFLICT (ring, runner) DO UPDATE SET note = excluded.note, until = excluded.until
RETURNING token`
	)
	var token int64
	c := at(r)
	c.do(count, seat.Runner)
	c.one(&token, sit, seat.Runner, seat.Note, ttl)
	if err := s.carry(ctx, "sit down in", c); err != nil {
		return 0, err
	}
	return store.Token(token), nil
}

// Keep implements [store.Locks].
func (s *Store) Keep(ctx context.Context, r store.Ring, seat store.Seat, token store.Token, ttl time.Duration) error {
	if err := store.CheckSeat(r, seat, ttl); err != nil {
		return err
	}
	const keep = `
UPDATE seats SET note = coalesce($5, ''::bytea), until = clock() + $6::interval
WHERE ring = ` + ring + ` AND runner = $3 AND token = $4
RETURNING token`
	var kept int64
	c := at(r)
	c.one(&kept, keep, seat.Runner, int64(token), seat.Note, ttl)
	err := s.carry(ctx, "keep a seat in", c)
	if err == nil && kept == 0 {
		err = store.NoSeat(r, seat.Runner, token)
	}
	return err
}

// Rise implements [store.Locks].
func (s *Store) Rise(ctx context.Context, r store.Ring, runner string, token store.Token) error {
	if err := store.CheckRise(r, runner); err != nil {
		return err
	}
	c := at(r)
	c.do(`DELETE FROM seats WHERE ring = `+ring+` AND runner = $3 AND token = $4`, runner, int64(token))
	return s.carry(ctx, "rise from", c)
}

// Take implements [store.Locks]. It locks by the rules of [store.Latch].
func (s *Store) Take(ctx context.Context, r store.Ring, runner string, token store.Token, shards []string) ([]store.Lock, error) {
	if err := store.CheckTake(r, runner, shards); err != nil {
		return nil, err
	}
	const take = `
INSERT INTO locks (ring, shard, token, term, n)
SELECT r.id, ask.shard, s.token, greatest(r.term, l.term, f.term), greatest(l.n, f.n, 0) + 1
FROM rings r
	JOIN seats s ON s.ring = r.id AND s.runner = $3 AND s.token = $4
	CROSS JOIN (SELECT DISTINCT unnest($5::text[]) AS shard) ask
	LEFT JOIN locks l ON l.ring = r.id AND l.shard = ask.shard
	LEFT JOIN seats holder ON holder.ring = r.id AND holder.token = l.token
	LEFT JOIN shards f ON f.cluster = r.cluster AND f.type = r.type AND f.shard = ask.shard
WHERE r.cluster = $1 AND r.type = $2
	AND (holder.token IS NULL OR holder.token = s.token AND (f.term, f.n) > (l.term, l.n))
ON CONFLICT (ring, shard) DO UPDATE SET token = excluded.token, term = excluded.term, n = excluded.n`
	c := at(r)
	c.do(take, runner, int64(token), shards)
	if err := s.carry(ctx, "take shards of", c); err != nil {
		return nil, err
	}
	return s.mine(ctx, r, runner, token, shards)
}

// mine reads which of the shards the runner has now.
func (s *Store) mine(ctx context.Context, r store.Ring, runner string, token store.Token, shards []string) ([]store.Lock, error) {
	const mine = `
SELECT l.shard, l.term, l.n
FROM seats s LEFT JOIN locks l ON l.ring = s.ring AND l.token = s.token
WHERE s.ring = ` + ring + ` AND s.runner = $3 AND s.token = $4 AND s.until > clock()
ORDER BY l.shard`
	rows, err := s.pool.Query(ctx, mine, r.Cluster, r.Type, runner, int64(token))
	if err != nil {
		return nil, unknown("take shards of", r.String(), err)
	}
	var (
		locks   []store.Lock
		shard   *string // nil in the only row of a runner that has none
		term, n *int64
		asked   = make(map[string]bool, len(shards))
	)
	for _, id := range shards {
		asked[id] = true
	}
	tag, err := pgx.ForEachRow(rows, []any{&shard, &term, &n}, func() error {
		if shard != nil && asked[*shard] {
			locks = append(locks, store.Lock{Shard: *shard, Runner: runner, Token: token, Epoch: epoch(*term, *n)})
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, unknown("take shards of", r.String(), err)
	case tag.RowsAffected() == 0:
		return nil, store.NoSeat(r, runner, token)
	default:
		return locks, nil
	}
}

// Give implements [store.Locks].
func (s *Store) Give(ctx context.Context, r store.Ring, runner string, token store.Token, locks []store.Lock) error {
	if err := store.CheckGive(r, runner, locks); err != nil {
		return err
	}
	const give = `
UPDATE locks l SET token = 0
FROM unnest($5::text[], $6::bigint[], $7::bigint[]) AS given (shard, term, n), seats s
WHERE s.ring = ` + ring + ` AND s.runner = $3 AND s.token = $4
	AND l.ring = s.ring AND l.token = s.token
	AND l.shard = given.shard AND l.term = given.term AND l.n = given.n`
	shards, terms, ns := make([]string, len(locks)), make([]int64, len(locks)), make([]int64, len(locks))
	for i, l := range locks {
		shards[i], terms[i], ns[i] = l.Shard, int64(l.Epoch.Term), int64(l.Epoch.N)
	}
	c := at(r)
	c.do(give, runner, int64(token), shards, terms, ns)
	return s.carry(ctx, "give shards back to", c)
}

// Table implements [store.Locks]. One statement is one look.
func (s *Store) Table(ctx context.Context, r store.Ring) ([]store.TakenSeat, []store.Lock, error) {
	if err := store.CheckRing(r); err != nil {
		return nil, nil, err
	}
	const look = `
SELECT token, runner, note, until - clock(), NULL, 0, 0 FROM seats WHERE ring = ` + ring + `
UNION ALL
SELECT token, '', NULL, '0'::interval, shard, term, n FROM locks WHERE ring = ` + ring
	rows, err := s.pool.Query(ctx, look, r.Cluster, r.Type)
	if err != nil {
		return nil, nil, unknown("look at", r.String(), err)
	}
	var (
		seats          []store.TakenSeat
		locks          []store.Lock
		seat           store.TakenSeat
		shard          *string // nil in the row of a seat
		token, term, n int64
	)
	_, err = pgx.ForEachRow(rows, []any{&token, &seat.Runner, &seat.Note, &seat.Left, &shard, &term, &n}, func() error {
		if shard != nil {
			locks = append(locks, store.Lock{Shard: *shard, Token: store.Token(token), Epoch: epoch(term, n)})
			return nil
		}
		seat.Token = store.Token(token)
		seats = append(seats, seat)
		return nil
	})
	if err != nil {
		return nil, nil, unknown("look at", r.String(), err)
	}
	seats, locks = store.Seated(seats, locks)
	return seats, locks, nil
}

// RaiseTerm implements [store.Locks].
func (s *Store) RaiseTerm(ctx context.Context, r store.Ring, atLeast uint64) (uint64, error) {
	if err := store.CheckTerm(r, atLeast); err != nil {
		return 0, err
	}
	const raise = `
UPDATE rings
SET term = greatest($3, 1 + greatest(term, (SELECT max(f.term) FROM shards f WHERE f.cluster = $1 AND f.type = $2)))
WHERE cluster = $1 AND type = $2
RETURNING term`
	var term int64
	c := at(r)
	c.one(&term, raise, int64(atLeast))
	if err := s.carry(ctx, "raise the term of", c); err != nil {
		return 0, err
	}
	return uint64(term), nil
}
