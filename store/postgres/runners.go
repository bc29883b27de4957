package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-go/troupe/store"
)

// Whoever changes who is registered, or which cluster it is, first locks the
// row of the cluster, so that a founding sees each registration before it.

// Found implements [store.Founding].
func (s *Store) Found(ctx context.Context, cluster, proposal string, ttl time.Duration) (string, error) {
	if err := store.CheckFounding(cluster, proposal, ttl); err != nil {
		return "", err
	}
	const (
		first = `
INSERT INTO clusters (name, id, generation, until) VALUES ($1, $2, 0, clock() + $3::interval)
ON CONFLICT (name) DO NOTHING`
		agreed = `SELECT id, until <= clock() FROM clusters WHERE name = $1 FOR UPDATE`
		live   = `SELECT EXISTS (SELECT FROM runners WHERE cluster = $1 AND until > clock())`
		anew   = `UPDATE clusters SET id = $2, until = clock() + $3::interval WHERE name = $1`
		clean  = `DELETE FROM runners WHERE cluster = $1`
	)
	var id string
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, first, cluster, proposal, ttl); err != nil {
			return err
		}
		var lapsed, served bool
		if err := tx.QueryRow(ctx, agreed, cluster).Scan(&id, &lapsed); err != nil || !lapsed {
			return err
		}
		if err := tx.QueryRow(ctx, live, cluster).Scan(&served); err != nil || served {
			return err
		}
		id = proposal
		if _, err := tx.Exec(ctx, anew, cluster, proposal, ttl); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, clean, cluster)
		return err
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
		clean = `DELETE FROM runners WHERE cluster = $1 AND until + $2::interval < clock()`
		known = `
UPDATE runners SET until = clock() + $4::interval
WHERE cluster = $1 AND address = $2 AND incarnation = $3
RETURNING generation`
		next  = `UPDATE clusters SET generation = generation + 1 WHERE name = $1 RETURNING generation`
		enter = `
INSERT INTO runners (cluster, address, incarnation, generation, until)
VALUES ($1, $2, $3, $4, clock() + $5::interval)
ON CONFLICT (cluster, address) DO UPDATE
	SET incarnation = excluded.incarnation, generation = excluded.generation, until = excluded.until`
	)
	var g int64
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := sameCluster(ctx, tx, r, "FOR UPDATE"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, clean, r.Cluster, ttl); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, known, r.Cluster, r.Address, r.Incarnation, ttl).Scan(&g)
		if !none(err) {
			return err
		}
		if err := tx.QueryRow(ctx, next, r.Cluster).Scan(&g); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, enter, r.Cluster, r.Address, r.Incarnation, g, ttl)
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
UPDATE runners SET until = clock() + $4::interval
WHERE cluster = $1 AND address = $2 AND generation = $3`
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := sameCluster(ctx, tx, r, "FOR SHARE"); err != nil { // many refresh at once
			return err
		}
		done, err := tx.Exec(ctx, refresh, r.Cluster, r.Address, int64(g), ttl)
		if err == nil && done.RowsAffected() == 0 {
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
	const remove = `DELETE FROM runners WHERE cluster = $1 AND address = $2 AND generation = $3`
	if _, err := s.pool.Exec(ctx, remove, r.Cluster, r.Address, int64(g)); err != nil {
		return unknown("remove", r.Address, err)
	}
	return nil
}

// Live implements [store.Runners].
func (s *Store) Live(ctx context.Context, cluster string) ([]store.LiveRunner, error) {
	const live = `
SELECT c.name, c.id, r.address, r.incarnation, r.generation, r.until - clock()
FROM runners r JOIN clusters c ON c.name = r.cluster
WHERE c.name = $1
ORDER BY r.address COLLATE "C"`
	rows, err := s.pool.Query(ctx, live, cluster)
	if err != nil {
		return nil, unknown("list runners of", cluster, err)
	}
	var (
		all []store.LiveRunner
		r   store.LiveRunner
		g   int64
	)
	_, err = pgx.ForEachRow(rows, []any{&r.Cluster, &r.ClusterID, &r.Address, &r.Incarnation, &g, &r.Left}, func() error {
		if r.Left > 0 {
			r.Generation = store.Generation(g)
			all = append(all, r)
		}
		return nil
	})
	if err != nil {
		return nil, unknown("list runners of", cluster, err)
	}
	return all, nil
}

// sameCluster refuses a runner whose cluster has another id now, and locks the
// cluster's row until the end of the transaction.
func sameCluster(ctx context.Context, tx pgx.Tx, r store.Runner, lock string) error {
	var id string
	err := tx.QueryRow(ctx, `SELECT id FROM clusters WHERE name = $1 `+lock, r.Cluster).Scan(&id)
	switch {
	case none(err):
		return fmt.Errorf("%w: %q was never founded", store.ErrOtherCluster, r.Cluster)
	case err != nil:
		return err
	case id != r.ClusterID:
		return fmt.Errorf("%w: %q is %s, not %s", store.ErrOtherCluster, r.Cluster, id, r.ClusterID)
	default:
		return nil
	}
}

// outcome keeps a refusal, and takes all else for unknown.
func outcome(what string, r store.Runner, err error) error {
	if store.Refused(err) {
		return fmt.Errorf("%s %s: %w", what, r.Address, err)
	}
	return unknown(what, r.Address, err)
}
