// Package postgres keeps what a cluster coordinates through in a PostgreSQL
// database, for nodes on many machines.
//
// The clock of the database is clock_timestamp() of its server. Setting it
// forward, or a failover to a server whose clock is ahead, lets leases run out
// early; by more than a lease's margin, another may get it while its holder
// believes in it until the next renewal. The tokens still tell the two apart, as
// long as no commit is lost: use synchronous replication if there is a standby.
//
// Calls run side by side on a bounded pool of connections and are bounded by
// their contexts; the server ends statements and transactions of a client that
// vanished. Standbys are refused, since their answers may be old. Sessions must
// be whole: a pooler between has to keep them (PgBouncer: pool_mode=session).
package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/troupe-go/troupe/store"
)

// Config says where the database is and how it is used.
type Config struct {
	// URL, or a list of key=value pairs, as libpq takes it. Required. The
	// variables PGHOST, PGPASSWORD and so on fill in what it leaves out.
	URL string
	// Schema holds the tables; it is made if it does not exist. "troupe" by
	// default. Clusters of different names may share one.
	Schema string
	// MaxConns bounds the connections; 4 by default.
	MaxConns int
	// Timeout is how long the server works on one statement, or waits for a
	// client within a transaction, and how long a connection takes to be made;
	// 5 s by default. Contexts bound the calls themselves.
	Timeout time.Duration
}

// Store is a pool of connections. It implements [store.Store].
type Store struct{ pool *pgxpool.Pool }

var _ store.Store = (*Store)(nil)

//go:embed migrations/*.sql
var migrations embed.FS

// Open connects and brings the tables up to date. The context bounds that.
func Open(ctx context.Context, c Config) (*Store, error) {
	c.Schema = cmp.Or(c.Schema, "troupe")
	settings, err := c.settings()
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, settings)
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	if err := migrate(ctx, pool, c.Schema); err != nil {
		pool.Close()
		return nil, fmt.Errorf("prepare schema %q in PostgreSQL: %w", c.Schema, err)
	}
	return &Store{pool: pool}, nil
}

// settings are those of the pool.
func (c Config) settings() (*pgxpool.Config, error) {
	timeout := cmp.Or(c.Timeout, 5*time.Second)
	conns := cmp.Or(c.MaxConns, 4)
	switch {
	case c.URL == "":
		return nil, fmt.Errorf("%w: no URL: name a database as in postgres://user@host/database", store.ErrBadArgument)
	case timeout < time.Millisecond || timeout > time.Hour:
		return nil, fmt.Errorf("%w: Timeout %v: choose one from 1ms to 1h", store.ErrBadArgument, timeout)
	case conns < 1 || conns > math.MaxInt32:
		return nil, fmt.Errorf("%w: MaxConns %d: at least one connection is needed", store.ErrBadArgument, conns)
	}
	p, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrBadArgument, err) // without the password
	}
	p.MaxConns = int32(conns)
	p.PingTimeout = timeout / 5 // a connection that hangs leaves time for another one
	p.ConnConfig.ConnectTimeout = timeout
	p.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	millis := strconv.FormatInt(timeout.Milliseconds(), 10)
	for name, value := range map[string]string{
		"application_name":                    "troupe",
		"default_transaction_isolation":       "read committed", // who waited for a row sees what it is then
		"search_path":                         pgx.Identifier{c.Schema}.Sanitize(),
		"statement_timeout":                   millis,
		"idle_in_transaction_session_timeout": millis, // a paused node must not keep its locks
	} {
		p.ConnConfig.RuntimeParams[name] = value
	}
	return p, nil
}

// lock is the number of the advisory lock under which the tables are made:
// nodes that start at once do it one after the other.
const lock = 7_310_579_624_011

func migrate(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	c := pool.Config().ConnConfig // a connection beside the pool, which may be as small as one
	c.RuntimeParams["statement_timeout"] = "0"
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) // which unlocks as well
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(lock)); err != nil {
		return fmt.Errorf("wait for another node that prepares it: %w", err)
	}
	if err := makeSchema(ctx, conn, schema); err != nil {
		return err
	}
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	p, err := provider(db)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("bring the tables up to date: %w", err)
	}
	return nil
}

func provider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithTableName("migrations"),
		goose.WithDisableGlobalRegistry(true),
		goose.WithSlog(slog.New(slog.DiscardHandler)))
}

// makeSchema makes the schema unless it is there, which needs fewer rights.
func makeSchema(ctx context.Context, conn *pgx.Conn, schema string) error {
	var there bool
	err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", schema).Scan(&there)
	if err != nil || there {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE SCHEMA "+pgx.Identifier{schema}.Sanitize())
	return err
}

// Close waits for the calls at work and closes the connections.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

// unknown is what came of a call that the database did not clearly answer.
func unknown(what, name string, err error) error {
	return fmt.Errorf("%w: postgres: %s %.40q: %w", store.ErrUnknown, what, name, err)
}

// none tells whether a query gave no row.
func none(err error) bool { return errors.Is(err, pgx.ErrNoRows) }
