// Package sqlite keeps what a cluster coordinates through in an SQLite file,
// shared by the processes of one machine.
//
// The clock of the database is the machine's time since boot, which all its
// processes read alike. After a reboot all leases and runners have run out;
// tokens, generations and cluster ids go on. The file must not be shared between
// machines, nor between containers with time namespaces of their own.
//
// What was answered is on the disk (synchronous=FULL), so that no token is
// given twice, not even after a power loss. Calls are made one after the other;
// those of [store.State] line up by themselves, so that a lease or a seat that is
// renewed waits for two of them at most, however many there are. Each call waits
// for other processes that write, but no longer than its context and
// [Config.Busy] allow. A process that is stopped in the midst of a write holds up
// all others that write, until it goes on or ends.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
	"github.com/pressly/goose/v3"

	"github.com/troupe-go/troupe/store"
)

// Config says where the file is and how it is used.
type Config struct {
	// Path of the file, which is made if it does not exist; its folder must
	// exist. Required. SQLite keeps two more files beside it, with the endings
	// -wal and -shm.
	Path string
	// Busy is how long a call waits for other processes that write; 5 s by
	// default. The context of a call bounds it as well.
	Busy time.Duration
}

// A clock is the database's. It is the same for all processes that use the file.
type clock struct {
	boot string // moments of different boots cannot be compared
	now  func() time.Duration
}

// Store is an open file. It implements [store.Store].
type Store struct {
	db    *sql.DB       // one connection, for which callers wait in no order
	state chan struct{} // holds a token while a call of store.State has, or waits for, the connection
	path  string
	file  os.FileInfo // what was at the path when it was opened
}

var _ store.Store = (*Store)(nil)

//go:embed migrations/*.sql
var migrations embed.FS

// Open opens the file and brings its tables up to date. The context bounds that.
func Open(ctx context.Context, c Config) (*Store, error) {
	machine, err := machine()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", c.Path, err)
	}
	return open(ctx, c, machine)
}

func open(ctx context.Context, c Config, clock clock) (*Store, error) {
	if c.Path == "" || c.Busy < 0 {
		return nil, fmt.Errorf("%w: path %q, busy time-out %v: name a file, and a time that is not negative", store.ErrBadArgument, c.Path, c.Busy)
	}
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", c.Path, err)
	}
	db, err := driver.Open(source(path, cmp.Or(c.Busy, 5*time.Second)), clock.register)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1) // a second one would only wait for the first
	if err := migrate(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	file, err := os.Stat(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	return &Store{db: db, state: make(chan struct{}, 1), path: path, file: file}, nil
}

// inPlace is an error when the file that is open is not the one at the path any
// more. It goes on to work for those who have it open, while those who open the
// path find another store, and nobody would notice.
func (s *Store) inPlace() error {
	if now, err := os.Stat(s.path); err != nil || !os.SameFile(s.file, now) {
		return fmt.Errorf("%s was deleted or replaced while it was open: stop all nodes that use it, and start them anew", s.path)
	}
	return nil
}

// source names the file and how to open it.
func source(path string, busy time.Duration) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: url.Values{
		"_txlock": {"immediate"}, // no transaction finds out halfway that it must wait
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()),
			"journal_mode(wal)",
			"synchronous(full)",
			"foreign_keys(on)",
		},
	}.Encode()}
	return u.String()
}

// register gives SQL the functions boot() and clock(), in microseconds, which
// are thus read when a statement has its lock, not before it waits for it.
func (c clock) register(conn *sqlite3.Conn) error {
	return errors.Join(
		conn.CreateFunction("boot", 0, sqlite3.DETERMINISTIC, func(ctx sqlite3.Context, _ ...sqlite3.Value) { ctx.ResultText(c.boot) }),
		conn.CreateFunction("clock", 0, 0, func(ctx sqlite3.Context, _ ...sqlite3.Value) { ctx.ResultInt64(c.now().Microseconds()) }),
	)
}

// migrate makes the tables. Several processes may try it at once: all but one
// then find a table that is there already, and look again.
func migrate(ctx context.Context, db *sql.DB) error {
	p, err := provider(db)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	const tries = 5
	for range tries {
		if _, err = p.Up(ctx); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("bring the tables up to date: %w", err)
	}
	return nil
}

func provider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectSQLite3, db, files,
		goose.WithTableName("migrations"),
		goose.WithDisableGlobalRegistry(true),
		goose.WithSlog(slog.New(slog.DiscardHandler)))
}

// Close closes the file when the calls at work are done.
func (s *Store) Close() error { return s.db.Close() }

// unknown is what came of a call that the database did not clearly answer.
func unknown(what, name string, err error) error {
	return fmt.Errorf("%w: sqlite: %s %.40q: %w", store.ErrUnknown, what, name, err)
}
