package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/troupe-go/troupe/store"
)

// A fenced is a transaction that may write to a shard.
type fenced struct {
	tx    *sql.Tx
	shard int64 // its id
	fence store.Fence
}

// fenced runs f in a transaction in which the tenure's epoch is the shard's. The
// file's lock, which the transaction has, keeps it so. What is no refusal is unknown.
func (s *Store) fenced(ctx context.Context, what string, t store.Tenure, f func(fenced) error) error {
	const (
		enter = `INSERT INTO shards (cluster, type, shard, term, n, deleted) VALUES (?1, ?2, ?3, 0, 0, 0) ON CONFLICT DO NOTHING`
		look  = `SELECT id, term, n, deleted FROM shards WHERE cluster = ?1 AND type = ?2 AND shard = ?3`
		claim = `UPDATE shards SET term = ?2, n = ?3 WHERE id = ?1`
	)
	leave, err := s.lineUp(ctx, what, t.Shard)
	if err != nil {
		return err
	}
	defer leave()
	err = s.transact(ctx, func(tx *sql.Tx) error {
		name := []any{t.Shard.Cluster, t.Shard.Type, t.Shard.ID}
		if _, err := tx.ExecContext(ctx, enter, name...); err != nil {
			return err
		}
		w := fenced{tx: tx}
		var term, n, deleted int64
		if err := tx.QueryRowContext(ctx, look, name...).Scan(&w.shard, &term, &n, &deleted); err != nil {
			return err
		}
		before := store.Fence{Epoch: epoch(term, n), Deleted: store.Revision(deleted)}
		var err error
		if w.fence, err = before.Admit(t); err != nil {
			return err
		}
		if w.fence != before {
			if _, err := tx.ExecContext(ctx, claim, w.shard, int64(t.Epoch.Term), int64(t.Epoch.N)); err != nil {
				return err
			}
		}
		return f(w)
	})
	if err != nil && !store.Refused(err) {
		err = unknown(what, t.Shard.String(), err)
	}
	return err
}

// lineUp waits until no other call for an entity's state has the connection or is
// next to have it.
func (s *Store) lineUp(ctx context.Context, what string, shard store.Shard) (leave func(), err error) {
	select {
	case s.state <- struct{}{}:
		return func() { <-s.state }, nil
	case <-ctx.Done():
		return nil, unknown(what, shard.String(), context.Cause(ctx))
	}
}

// entry reads what is under a key.
func (w fenced) entry(ctx context.Context, key string) (store.Entry, error) {
	const look = `SELECT key, revision, term, n, value FROM state WHERE shard = ?1 AND key = ?2`
	e, err := entry(w.tx.QueryRowContext(ctx, look, w.shard, key))
	if errors.Is(err, sql.ErrNoRows) {
		return w.fence.Absent(key), nil
	}
	return e, err
}

// Claim implements [store.State].
func (s *Store) Claim(ctx context.Context, t store.Tenure) error {
	if err := store.CheckClaim(t); err != nil {
		return err
	}
	return s.fenced(ctx, "claim", t, func(fenced) error { return nil })
}

// Put implements [store.State].
func (s *Store) Put(ctx context.Context, t store.Tenure, key string, at store.Revision, value []byte) (store.Revision, error) {
	if err := store.CheckWrite(t, key, value); err != nil {
		return 0, err
	}
	const put = `
INSERT INTO state (shard, key, revision, term, n, value) VALUES (?1, ?2, ?3, ?4, ?5, coalesce(?6, x''))
ON CONFLICT (shard, key) DO UPDATE
	SET revision = excluded.revision, term = excluded.term, n = excluded.n, value = excluded.value`
	var e store.Entry
	err := s.fenced(ctx, "put to", t, func(w fenced) error {
		found, err := w.entry(ctx, key)
		if err != nil {
			return err
		}
		if e, err = w.fence.Put(t, found, at, value); err != nil {
			return err
		}
		_, err = w.tx.ExecContext(ctx, put, w.shard, key, int64(e.Revision), int64(e.Epoch.Term), int64(e.Epoch.N), e.Value)
		return err
	})
	if err != nil {
		return 0, err
	}
	return e.Revision, nil
}

// Delete implements [store.State].
func (s *Store) Delete(ctx context.Context, t store.Tenure, key string, at store.Revision) (store.Revision, error) {
	if err := store.CheckWrite(t, key, nil); err != nil {
		return 0, err
	}
	const (
		remove = `DELETE FROM state WHERE shard = ?1 AND key = ?2`
		rise   = `UPDATE shards SET deleted = ?2 WHERE id = ?1`
	)
	var fence store.Fence
	err := s.fenced(ctx, "delete from", t, func(w fenced) error {
		found, err := w.entry(ctx, key)
		if err != nil {
			return err
		}
		if fence, err = w.fence.Delete(t, found, at); err != nil || fence == w.fence {
			return err
		}
		if _, err := w.tx.ExecContext(ctx, remove, w.shard, key); err != nil {
			return err
		}
		_, err = w.tx.ExecContext(ctx, rise, w.shard, int64(fence.Deleted))
		return err
	})
	if err != nil {
		return 0, err
	}
	return fence.Deleted, nil
}

// Get implements [store.State].
func (s *Store) Get(ctx context.Context, shard store.Shard, key string) (store.Entry, error) {
	if err := store.CheckRead(shard, key); err != nil {
		return store.Entry{}, err
	}
	const get = `
SELECT coalesce(v.revision, s.deleted), coalesce(v.term, 0), coalesce(v.n, 0), v.value
FROM shards s LEFT JOIN state v ON v.shard = s.id AND v.key = ?4
WHERE s.cluster = ?1 AND s.type = ?2 AND s.shard = ?3`
	e := store.Entry{Key: key}
	var revision, term, n int64
	leave, err := s.lineUp(ctx, "get from", shard)
	if err != nil {
		return store.Entry{}, err
	}
	defer leave()
	err = s.db.QueryRowContext(ctx, get, shard.Cluster, shard.Type, shard.ID, key).Scan(&revision, &term, &n, &e.Value)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return e, nil
	case err != nil:
		return store.Entry{}, unknown("get from", shard.String(), err)
	}
	e.Revision, e.Epoch = store.Revision(revision), epoch(term, n)
	return e, nil
}

// List implements [store.State].
func (s *Store) List(ctx context.Context, shard store.Shard, after string, limit int) ([]store.Entry, error) {
	if err := store.CheckList(shard, after, limit); err != nil {
		return nil, err
	}
	const list = `
SELECT v.key, v.revision, v.term, v.n, v.value
FROM state v JOIN shards s ON s.id = v.shard
WHERE s.cluster = ?1 AND s.type = ?2 AND s.shard = ?3 AND v.key > ?4
ORDER BY v.key LIMIT ?5`
	leave, err := s.lineUp(ctx, "list", shard)
	if err != nil {
		return nil, err
	}
	defer leave()
	rows, err := s.db.QueryContext(ctx, list, shard.Cluster, shard.Type, shard.ID, after, limit)
	if err != nil {
		return nil, unknown("list", shard.String(), err)
	}
	defer rows.Close()
	var page []store.Entry
	for size := 0; size < store.PageBytes && rows.Next(); {
		e, err := entry(rows)
		if err != nil {
			return nil, unknown("list", shard.String(), err)
		}
		page = append(page, e)
		size += len(e.Value)
	}
	if err := rows.Err(); err != nil {
		return nil, unknown("list", shard.String(), err)
	}
	return page, nil
}

// entry reads a row of key, revision, term, n and value.
func entry(row interface{ Scan(...any) error }) (store.Entry, error) {
	var e store.Entry
	var revision, term, n int64
	if err := row.Scan(&e.Key, &revision, &term, &n, &e.Value); err != nil {
		return store.Entry{}, err
	}
	e.Revision, e.Epoch = store.Revision(revision), epoch(term, n)
	return e, nil
}

func epoch(term, n int64) store.Epoch { return store.Epoch{Term: uint64(term), N: uint64(n)} }
