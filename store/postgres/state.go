package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-go/troupe/store"
)

// A fenced is a transaction that may write to a shard.
type fenced struct {
	tx    pgx.Tx
	shard int64 // its id
	fence store.Fence
}

// fenced runs f in a transaction in which the tenure's epoch is the shard's. The
// shard's row is locked until its end: a claim waits for the writes before it, and
// who reads after a claim reads them. What is no refusal is unknown.
func (s *Store) fenced(ctx context.Context, what string, t store.Tenure, f func(fenced) error) error {
	const claim = `UPDATE shards SET term = $2, n = $3 WHERE id = $1`
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		id, before, err := lockShard(ctx, tx, t.Shard)
		if err != nil {
			return err
		}
		fence, err := before.Admit(t)
		if err != nil {
			return err
		}
		if fence != before {
			if _, err := tx.Exec(ctx, claim, id, int64(t.Epoch.Term), int64(t.Epoch.N)); err != nil {
				return err
			}
		}
		return f(fenced{tx: tx, shard: id, fence: fence})
	})
	if err != nil && !store.Refused(err) {
		err = unknown(what, t.Shard.String(), err)
	}
	return err
}

// lockShard locks the row of a shard, which it makes if there is none.
func lockShard(ctx context.Context, tx pgx.Tx, s store.Shard) (id int64, f store.Fence, err error) {
	const (
		look = `
SELECT id, term, n, deleted FROM shards
WHERE cluster = $1 AND type = $2 AND shard = $3 FOR UPDATE`
		enter = `
INSERT INTO shards (cluster, type, shard, term, n, deleted) VALUES ($1, $2, $3, 0, 0, 0)
ON CONFLICT DO NOTHING`
	)
	for {
		var term, n, deleted int64
		err := tx.QueryRow(ctx, look, s.Cluster, s.Type, s.ID).Scan(&id, &term, &n, &deleted)
		if !none(err) {
			return id, store.Fence{Epoch: epoch(term, n), Deleted: store.Revision(deleted)}, err
		}
		if _, err := tx.Exec(ctx, enter, s.Cluster, s.Type, s.ID); err != nil {
			return 0, store.Fence{}, err
		}
	}
}

// entry reads what is under a key.
func (w fenced) entry(ctx context.Context, key string) (store.Entry, error) {
	const look = `SELECT key, revision, term, n, value FROM state WHERE shard = $1 AND key = $2`
	rows, err := w.tx.Query(ctx, look, w.shard, key)
	if err != nil {
		return store.Entry{}, err
	}
	e, err := pgx.CollectExactlyOneRow(rows, entry)
	if none(err) {
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
INSERT INTO state (shard, key, revision, term, n, value) VALUES ($1, $2, $3, $4, $5, coalesce($6, ''::bytea))
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
		_, err = w.tx.Exec(ctx, put, w.shard, key, int64(e.Revision), int64(e.Epoch.Term), int64(e.Epoch.N), e.Value)
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
		remove = `DELETE FROM state WHERE shard = $1 AND key = $2`
		rise   = `UPDATE shards SET deleted = $2 WHERE id = $1`
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
		if _, err := w.tx.Exec(ctx, remove, w.shard, key); err != nil {
			return err
		}
		_, err = w.tx.Exec(ctx, rise, w.shard, int64(fence.Deleted))
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
FROM shards s LEFT JOIN state v ON v.shard = s.id AND v.key = $4
WHERE s.cluster = $1 AND s.type = $2 AND s.shard = $3`
	e := store.Entry{Key: key}
	var revision, term, n int64
	err := s.pool.QueryRow(ctx, get, shard.Cluster, shard.Type, shard.ID, key).Scan(&revision, &term, &n, &e.Value)
	switch {
	case none(err):
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
	// The server adds up the sizes, so that it sends no more than is read.
	const list = `
SELECT key, revision, term, n, value
FROM (
	SELECT v.*, sum(octet_length(v.value)) OVER (ORDER BY v.key) - octet_length(v.value) AS before
	FROM (
		SELECT v.* FROM state v JOIN shards s ON s.id = v.shard
		WHERE s.cluster = $1 AND s.type = $2 AND s.shard = $3 AND v.key > $4
		ORDER BY v.key LIMIT $5
	) v
) v
WHERE before < $6
ORDER BY key`
	rows, err := s.pool.Query(ctx, list, shard.Cluster, shard.Type, shard.ID, after, limit, store.PageBytes)
	if err != nil {
		return nil, unknown("list", shard.String(), err)
	}
	page, err := pgx.CollectRows(rows, entry)
	if err != nil {
		return nil, unknown("list", shard.String(), err)
	}
	return page, nil
}

// entry reads a row of key, revision, term, n and value.
func entry(row pgx.CollectableRow) (store.Entry, error) {
	var e store.Entry
	var revision, term, n int64
	if err := row.Scan(&e.Key, &revision, &term, &n, &e.Value); err != nil {
		return store.Entry{}, err
	}
	e.Revision, e.Epoch = store.Revision(revision), epoch(term, n)
	return e, nil
}

func epoch(term, n int64) store.Epoch { return store.Epoch{Term: uint64(term), N: uint64(n)} }
