package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/store"
)

// at runs f in a transaction on a ring, of which the seats that have run out are
// gone: there is one moment, and after it a seat that is there lasts.
func (s *Store) at(ctx context.Context, what string, r store.Ring, f func(tx *sql.Tx, ring int64) error) error {
	const (
		enter = `INSERT INTO rings (cluster, type, term, token) VALUES (?1, ?2, 0, 0) ON CONFLICT DO NOTHING`
		look  = `SELECT id FROM rings WHERE cluster = ?1 AND type = ?2`
		clean = `DELETE FROM seats WHERE ring = ?1 AND ` + left + ` <= 0`
	)
	err := s.transact(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, enter, r.Cluster, r.Type); err != nil {
			return err
		}
		var ring int64
		if err := tx.QueryRowContext(ctx, look, r.Cluster, r.Type).Scan(&ring); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, clean, ring); err != nil {
			return err
		}
		return f(tx, ring)
	})
	if err != nil && !store.Refused(err) {
		err = unknown(what, r.String(), err)
	}
	return err
}

// Sit implements [store.Locks].
func (s *Store) Sit(ctx context.Context, r store.Ring, seat store.Seat, ttl time.Duration) (store.Token, error) {
	if err := store.CheckSeat(r, seat, ttl); err != nil {
		return 0, err
	}
	const (
		known = `
UPDATE seats SET note = coalesce(?3, x''), until = clock() + ?4 WHERE ring = ?1 AND runner = ?2
RETURNING token`
		next = `
UPDATE rings SET token = token + 1, term = term + NOT EXISTS (SELECT 1 FROM seats WHERE ring = ?1) WHERE id = ?1
RETURNING token`
		enter = `
INSERT INTO seats (ring, runner, note, token, boot, until)
VALUES (?1, ?2, coalesce(?3, x''), ?5, boot(), clock() + ?4)`
	)
	var token int64
	err := s.at(ctx, "sit down in", r, func(tx *sql.Tx, ring int64) error {
		row := []any{ring, seat.Runner, seat.Note, ttl.Microseconds()}
		err := tx.QueryRowContext(ctx, known, row...).Scan(&token)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := tx.QueryRowContext(ctx, next, ring).Scan(&token); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, enter, append(row, token)...)
		return err
	})
	if err != nil {
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
UPDATE seats SET note = coalesce(?4, x''), until = clock() + ?5
WHERE ring = ?1 AND runner = ?2 AND token = ?3`
	return s.at(ctx, "keep a seat in", r, func(tx *sql.Tx, ring int64) error {
		done, err := changed(tx.ExecContext(ctx, keep, ring, seat.Runner, int64(token), seat.Note, ttl.Microseconds()))
		if err == nil && !done {
			err = store.NoSeat(r, seat.Runner, token)
		}
		return err
	})
}

// Rise implements [store.Locks].
func (s *Store) Rise(ctx context.Context, r store.Ring, runner string, token store.Token) error {
	if err := store.CheckRise(r, runner); err != nil {
		return err
	}
	const rise = `DELETE FROM seats WHERE ring = ?1 AND runner = ?2 AND token = ?3`
	return s.at(ctx, "rise from", r, func(tx *sql.Tx, ring int64) error {
		_, err := tx.ExecContext(ctx, rise, ring, runner, int64(token))
		return err
	})
}

// take locks by the rules of [store.Latch].
const take = `
INSERT INTO locks (ring, shard, token, term, n)
SELECT r.id, ask.value, ?2,
	max(r.term, coalesce(l.term, 0), coalesce(f.term, 0)), max(coalesce(l.n, 0), coalesce(f.n, 0)) + 1
FROM rings r
	JOIN (SELECT DISTINCT value FROM json_each(?3)) ask
	LEFT JOIN locks l ON l.ring = r.id AND l.shard = ask.value
	LEFT JOIN seats holder ON holder.ring = r.id AND holder.token = l.token
	LEFT JOIN shards f ON f.cluster = r.cluster AND f.type = r.type AND f.shard = ask.value
WHERE r.id = ?1
	AND (holder.token IS NULL OR holder.token = ?2 AND (f.term, f.n) > (l.term, l.n))
ON CONFLICT (ring, shard) DO UPDATE SET token = excluded.token, term = excluded.term, n = excluded.n`

// Take implements [store.Locks].
func (s *Store) Take(ctx context.Context, r store.Ring, runner string, token store.Token, shards []string) ([]store.Lock, error) {
	if err := store.CheckTake(r, runner, shards); err != nil {
		return nil, err
	}
	const sits = `SELECT EXISTS (SELECT 1 FROM seats WHERE ring = ?1 AND runner = ?2 AND token = ?3)`
	ask, err := json.Marshal(shards)
	if err != nil {
		return nil, fmt.Errorf("%w: shards %q: %w", store.ErrBadArgument, shards, err)
	}
	var locks []store.Lock
	err = s.at(ctx, "take shards of", r, func(tx *sql.Tx, ring int64) error {
		var there bool
		if err := tx.QueryRowContext(ctx, sits, ring, runner, int64(token)).Scan(&there); err != nil {
			return err
		}
		if !there {
			return store.NoSeat(r, runner, token)
		}
		if _, err := tx.ExecContext(ctx, take, ring, int64(token), string(ask)); err != nil {
			return err
		}
		locks, err = mine(ctx, tx, ring, store.Lock{Runner: runner, Token: token}, string(ask))
		return err
	})
	if err != nil {
		return nil, err
	}
	return locks, nil
}

// mine reads which of the asked shards are locked as l is.
func mine(ctx context.Context, tx *sql.Tx, ring int64, l store.Lock, ask string) ([]store.Lock, error) {
	const mine = `
SELECT shard, term, n FROM locks
WHERE ring = ?1 AND token = ?2 AND shard IN (SELECT value FROM json_each(?3))
ORDER BY shard`
	rows, err := tx.QueryContext(ctx, mine, ring, int64(l.Token), ask)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var locks []store.Lock
	for rows.Next() {
		var term, n int64
		if err := rows.Scan(&l.Shard, &term, &n); err != nil {
			return nil, err
		}
		l.Epoch = epoch(term, n)
		locks = append(locks, l)
	}
	return locks, rows.Err()
}

// Give implements [store.Locks].
func (s *Store) Give(ctx context.Context, r store.Ring, runner string, token store.Token, locks []store.Lock) error {
	if err := store.CheckGive(r, runner, locks); err != nil {
		return err
	}
	const give = `
UPDATE locks SET token = 0
WHERE ring = ?1 AND token = ?3
	AND EXISTS (SELECT 1 FROM seats WHERE ring = ?1 AND runner = ?2 AND token = ?3)
	AND (shard, term, n) IN (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?4))`
	rows := make([][3]any, len(locks))
	for i, l := range locks {
		rows[i] = [3]any{l.Shard, l.Epoch.Term, l.Epoch.N}
	}
	given, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("%w: locks %v: %w", store.ErrBadArgument, locks, err)
	}
	return s.at(ctx, "give shards back to", r, func(tx *sql.Tx, ring int64) error {
		_, err := tx.ExecContext(ctx, give, ring, runner, int64(token), string(given))
		return err
	})
}

// Table implements [store.Locks]. One statement is one look.
func (s *Store) Table(ctx context.Context, r store.Ring) ([]store.TakenSeat, []store.Lock, error) {
	if err := store.CheckRing(r); err != nil {
		return nil, nil, err
	}
	const look = `
SELECT s.token, s.runner, s.note, ` + left + `, NULL AS shard, 0, 0
FROM seats s JOIN rings r ON r.id = s.ring WHERE r.cluster = ?1 AND r.type = ?2
UNION ALL
SELECT l.token, '', NULL, 0, l.shard, l.term, l.n
FROM locks l JOIN rings r ON r.id = l.ring WHERE r.cluster = ?1 AND r.type = ?2`
	rows, err := s.db.QueryContext(ctx, look, r.Cluster, r.Type)
	if err != nil {
		return nil, nil, unknown("look at", r.String(), err)
	}
	defer rows.Close()
	var seats []store.TakenSeat
	var locks []store.Lock
	for rows.Next() {
		var seat store.TakenSeat
		var shard sql.NullString
		var token, micros, term, n int64
		if err := rows.Scan(&token, &seat.Runner, &seat.Note, &micros, &shard, &term, &n); err != nil {
			return nil, nil, unknown("look at", r.String(), err)
		}
		if shard.Valid {
			locks = append(locks, store.Lock{Shard: shard.String, Token: store.Token(token), Epoch: epoch(term, n)})
			continue
		}
		seat.Token, seat.Left = store.Token(token), time.Duration(micros)*time.Microsecond
		seats = append(seats, seat)
	}
	if err := rows.Err(); err != nil {
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
SET term = max(?2, 1 + max(term, (
	SELECT coalesce(max(f.term), 0) FROM shards f WHERE f.cluster = rings.cluster AND f.type = rings.type)))
WHERE id = ?1
RETURNING term`
	var term int64
	err := s.at(ctx, "raise the term of", r, func(tx *sql.Tx, ring int64) error {
		return tx.QueryRowContext(ctx, raise, ring, int64(atLeast)).Scan(&term)
	})
	if err != nil {
		return 0, err
	}
	return uint64(term), nil
}
