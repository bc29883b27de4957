package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-go/troupe/store"
)

// limit is how long the names of leases in the table get, in bytes. An index
// takes no more than 2,700.
const limit = 255

// Acquire implements [store.Leases].
func (s *Store) Acquire(ctx context.Context, name, owner string, ttl time.Duration) (store.Holding, error) {
	if err := store.CheckLease(name, owner, ttl); err != nil {
		return store.Holding{}, err
	}
	// One statement decides; who waits for the row decides by what it is then.
	const acquire = `
INSERT INTO leases AS l (name, owner, token, until)
VALUES ($1, $2, 1, clock() + $3::interval)
ON CONFLICT (name) DO UPDATE
	SET owner = excluded.owner, token = l.token + 1, until = clock() + $3::interval
	WHERE l.owner = '' OR l.until <= clock()
RETURNING token, until - clock()`
	for {
		h, err := scan(owner, s.pool.QueryRow(ctx, acquire, store.Key(name, limit), owner, ttl))
		if none(err) {
			h, err = s.look(ctx, name)
		}
		switch {
		case err != nil:
			return store.Holding{}, unknown("acquire", name, err)
		case h.Owner == owner:
			return h, nil
		case h.Owner != "": // else it became free in between
			return h, &store.HeldError{Name: name, By: h.Owner, For: h.Left}
		}
	}
}

// Renew implements [store.Leases].
func (s *Store) Renew(ctx context.Context, name, owner string, token store.Token, ttl time.Duration) (store.Holding, error) {
	if err := store.CheckLease(name, owner, ttl); err != nil {
		return store.Holding{}, err
	}
	const renew = `
UPDATE leases SET until = clock() + $4::interval
WHERE name = $1 AND owner = $2 AND token = $3 AND until > clock()
RETURNING token, until - clock()`
	h, err := scan(owner, s.pool.QueryRow(ctx, renew, store.Key(name, limit), owner, int64(token), ttl))
	switch {
	case none(err):
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
	const release = `UPDATE leases SET owner = '' WHERE name = $1 AND owner = $2 AND token = $3`
	if _, err := s.pool.Exec(ctx, release, store.Key(name, limit), owner, int64(token)); err != nil {
		return unknown("release", name, err)
	}
	return nil
}

// Holder implements [store.Leases].
func (s *Store) Holder(ctx context.Context, name string) (store.Holding, error) {
	h, err := s.look(ctx, name)
	if err != nil {
		return store.Holding{}, unknown("look at", name, err)
	}
	return h, nil
}

func (s *Store) look(ctx context.Context, name string) (store.Holding, error) {
	const look = `SELECT owner, token, until - clock() FROM leases WHERE name = $1`
	var owner string
	var token int64
	var left time.Duration
	err := s.pool.QueryRow(ctx, look, store.Key(name, limit)).Scan(&owner, &token, &left)
	switch {
	case none(err):
		return store.Holding{}, nil
	case err != nil:
		return store.Holding{}, err
	case owner == "" || left <= 0:
		return store.Holding{Token: store.Token(token)}, nil
	default:
		return store.Holding{Owner: owner, Token: store.Token(token), Left: left}, nil
	}
}

// scan reads what was granted to owner.
func scan(owner string, row pgx.Row) (store.Holding, error) {
	var token int64
	var left time.Duration
	if err := row.Scan(&token, &left); err != nil {
		return store.Holding{}, err
	}
	return store.Holding{Owner: owner, Token: store.Token(token), Left: left}, nil
}
