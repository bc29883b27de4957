package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/store"
)

// limit is how long the names of leases in the table get, in bytes.
const limit = 255

// left is how long a row lasts, in microseconds; not above 0 if it has run out.
const left = `CASE WHEN boot = boot() THEN until - clock() ELSE 0 END`

const acquire = `
INSERT INTO leases (name, owner, token, boot, until)
VALUES (?1, ?2, 1, boot(), clock() + ?3)
ON CONFLICT (name) DO UPDATE
	SET owner = excluded.owner, token = token + 1, boot = excluded.boot, until = excluded.until
	WHERE owner = '' OR ` + left + ` <= 0
RETURNING token, until - clock()`

// Acquire implements [store.Leases].
func (s *Store) Acquire(ctx context.Context, name, owner string, ttl time.Duration) (store.Holding, error) {
	if err := store.CheckLease(name, owner, ttl); err != nil {
		return store.Holding{}, err
	}
	var h store.Holding
	err := s.transact(ctx, func(tx *sql.Tx) (err error) {
		h, err = scan(owner, tx.QueryRowContext(ctx, acquire, store.Key(name, limit), owner, ttl.Microseconds()))
		if errors.Is(err, sql.ErrNoRows) {
			h, err = look(ctx, tx, name)
		}
		return err
	})
	switch {
	case err != nil:
		return store.Holding{}, unknown("acquire", name, err)
	case h.Owner != owner:
		return h, &store.HeldError{Name: name, By: h.Owner, For: h.Left}
	default:
		return h, nil
	}
}

const renew = `
UPDATE leases SET until = clock() + ?4
WHERE name = ?1 AND owner = ?2 AND token = ?3 AND ` + left + ` > 0
RETURNING token, until - clock()`

// Renew implements [store.Leases].
func (s *Store) Renew(ctx context.Context, name, owner string, token store.Token, ttl time.Duration) (store.Holding, error) {
	if err := store.CheckLease(name, owner, ttl); err != nil {
		return store.Holding{}, err
	}
	if err := s.inPlace(); err != nil {
		return store.Holding{}, unknown("renew", name, err)
	}
	h, err := scan(owner, s.db.QueryRowContext(ctx, renew, store.Key(name, limit), owner, int64(token), ttl.Microseconds()))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return h, fmt.Errorf("%w: renew %q: the store knows no such holder with token %d", store.ErrLeaseLost, name, token)
	case err != nil:
		return h, unknown("renew", name, err)
	default:
		return h, nil
	}
}

// Release implements [store.Leases].
func (s *Store) Release(ctx context.Context, name, owner string, token store.Token) error {
	if err := store.CheckLease(name, owner, store.MaxTTL); err != nil {
		return err
	}
	const release = `UPDATE leases SET owner = '' WHERE name = ?1 AND owner = ?2 AND token = ?3`
	if _, err := s.db.ExecContext(ctx, release, store.Key(name, limit), owner, int64(token)); err != nil {
		return unknown("release", name, err)
	}
	return nil
}

// Holder implements [store.Leases].
func (s *Store) Holder(ctx context.Context, name string) (store.Holding, error) {
	h, err := look(ctx, s.db, name)
	if err != nil {
		return store.Holding{}, unknown("look at", name, err)
	}
	return h, nil
}

// querier is a database or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func look(ctx context.Context, q querier, name string) (store.Holding, error) {
	const look = `SELECT owner, token, ` + left + ` FROM leases WHERE name = ?1`
	var owner string
	var token, micros int64
	err := q.QueryRowContext(ctx, look, store.Key(name, limit)).Scan(&owner, &token, &micros)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return store.Holding{}, nil
	case err != nil:
		return store.Holding{}, err
	case owner == "" || micros <= 0:
		return store.Holding{Token: store.Token(token)}, nil
	default:
		return store.Holding{Owner: owner, Token: store.Token(token), Left: time.Duration(micros) * time.Microsecond}, nil
	}
}

// scan reads what was granted to owner.
func scan(owner string, row *sql.Row) (store.Holding, error) {
	var token, micros int64
	if err := row.Scan(&token, &micros); err != nil {
		return store.Holding{}, err
	}
	return store.Holding{Owner: owner, Token: store.Token(token), Left: time.Duration(micros) * time.Microsecond}, nil
}
