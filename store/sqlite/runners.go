package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/store"
)

// Found implements [store.Founding].
func (s *Store) Found(ctx context.Context, cluster, proposal string, ttl time.Duration) (string, error) {
	if err := store.CheckFounding(cluster, proposal, ttl); err != nil {
		return "", err
	}
	const found = `
INSERT INTO clusters (name, id, generation, boot, until)
VALUES (?1, ?2, 0, boot(), clock() + ?3)
ON CONFLICT (name) DO UPDATE
	SET id = excluded.id, boot = excluded.boot, until = excluded.until
	WHERE ` + left + ` <= 0
		AND NOT EXISTS (SELECT 1 FROM runners WHERE cluster = ?1 AND ` + left + ` > 0)`
	var id string
	err := s.transact(ctx, func(tx *sql.Tx) error {
		done, err := changed(tx.ExecContext(ctx, found, cluster, proposal, ttl.Microseconds()))
		if err != nil {
			return err
		}
		if done {
			if _, err := tx.ExecContext(ctx, `DELETE FROM runners WHERE cluster = ?1`, cluster); err != nil {
				return err
			}
		}
		return tx.QueryRowContext(ctx, `SELECT id FROM clusters WHERE name = ?1`, cluster).Scan(&id)
	})
	if err != nil {
		return "", unknown("found cluster", cluster, err)
	}
	return id, nil
}

// Register implements [store.Runners].
func (s *Store) Register(ctx context.Context, r store.Runner, ttl time.Duration) (store.Generation, error) {
	if err := store.CheckRunner(r, ttl); err != nil {
		return 0, err
	}
	const (
		clean = `DELETE FROM runners WHERE cluster = ?1 AND (boot <> boot() OR until + ?2 < clock())`
		known = `
UPDATE runners SET boot = boot(), until = clock() + ?4
WHERE cluster = ?1 AND address = ?2 AND incarnation = ?3
RETURNING generation`
		next  = `UPDATE clusters SET generation = generation + 1 WHERE name = ?1 RETURNING generation`
		enter = `
INSERT OR REPLACE INTO runners (cluster, address, incarnation, generation, boot, until)
VALUES (?1, ?2, ?3, ?4, boot(), clock() + ?5)`
	)
	var g int64
	err := s.transact(ctx, func(tx *sql.Tx) error {
		if err := sameCluster(ctx, tx, r); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, clean, r.Cluster, ttl.Microseconds()); err != nil {
			return err
		}
		err := tx.QueryRowContext(ctx, known, r.Cluster, r.Address, r.Incarnation, ttl.Microseconds()).Scan(&g)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := tx.QueryRowContext(ctx, next, r.Cluster).Scan(&g); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, enter, r.Cluster, r.Address, r.Incarnation, g, ttl.Microseconds())
		return err
	})
	if err != nil {
		return 0, outcome("register", r, err)
	}
	return store.Generation(g), nil
}

// Refresh implements [store.Runners].
func (s *Store) Refresh(ctx context.Context, r store.Runner, g store.Generation, ttl time.Duration) error {
	if err := store.CheckRunner(r, ttl); err != nil {
		return err
	}
	const refresh = `
UPDATE runners SET boot = boot(), until = clock() + ?4
WHERE cluster = ?1 AND address = ?2 AND generation = ?3`
	err := s.transact(ctx, func(tx *sql.Tx) error {
		if err := sameCluster(ctx, tx, r); err != nil {
			return err
		}
		done, err := changed(tx.ExecContext(ctx, refresh, r.Cluster, r.Address, int64(g), ttl.Microseconds()))
		if err == nil && !done {
			err = fmt.Errorf("%w: generation %d", store.ErrRunnerGone, g)
		}
		return err
	})
	if err != nil {
		return outcome("refresh", r, err)
	}
	return nil
}

// Remove implements [store.Runners].
func (s *Store) Remove(ctx context.Context, r store.Runner, g store.Generation) error {
	const remove = `DELETE FROM runners WHERE cluster = ?1 AND address = ?2 AND generation = ?3`
	if _, err := s.db.ExecContext(ctx, remove, r.Cluster, r.Address, int64(g)); err != nil {
		return unknown("remove", r.Address, err)
	}
	return nil
}

// Live implements [store.Runners].
func (s *Store) Live(ctx context.Context, cluster string) ([]store.LiveRunner, error) {
	const live = `
SELECT c.name, c.id, r.address, r.incarnation, r.generation, r.until - clock() AS micros
FROM runners r JOIN clusters c ON c.name = r.cluster
WHERE c.name = ?1 AND r.boot = boot() AND micros > 0
ORDER BY r.address`
	rows, err := s.db.QueryContext(ctx, live, cluster)
	if err != nil {
		return nil, unknown("list runners of", cluster, err)
	}
	defer rows.Close()
	var all []store.LiveRunner
	for rows.Next() {
		var r store.LiveRunner
		var g, micros int64
		if err := rows.Scan(&r.Cluster, &r.ClusterID, &r.Address, &r.Incarnation, &g, &micros); err != nil {
			return nil, unknown("list runners of", cluster, err)
		}
		r.Generation, r.Left = store.Generation(g), time.Duration(micros)*time.Microsecond
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		return nil, unknown("list runners of", cluster, err)
	}
	return all, nil
}

// sameCluster refuses a runner whose cluster has another id now.
func sameCluster(ctx context.Context, tx *sql.Tx, r store.Runner) error {
	var id string
	err := tx.QueryRowContext(ctx, `SELECT id FROM clusters WHERE name = ?1`, r.Cluster).Scan(&id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%w: %q was never founded", store.ErrOtherCluster, r.Cluster)
	case err != nil:
		return err
	case id != r.ClusterID:
		return fmt.Errorf("%w: %q is %s, not %s", store.ErrOtherCluster, r.Cluster, id, r.ClusterID)
	default:
		return nil
	}
}

// transact runs f in a transaction that holds the file's lock for writing.
func (s *Store) transact(ctx context.Context, f func(*sql.Tx) error) error {
	if err := s.inPlace(); err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback() // what failed says more
		return err
	}
	return tx.Commit()
}

// changed tells whether a statement changed a row.
func changed(r sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n > 0, err
}

// outcome keeps a refusal, and takes all else for unknown.
func outcome(what string, r store.Runner, err error) error {
	if store.Refused(err) {
		return fmt.Errorf("%s %s: %w", what, r.Address, err)
	}
	return unknown(what, r.Address, err)
}
