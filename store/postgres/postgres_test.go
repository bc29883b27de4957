package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/store/storetest"
)

var schemas atomic.Int64

// fresh is a configuration with an empty schema.
func fresh() Config {
	return Config{URL: shared.URL(), MaxConns: 4, Schema: fmt.Sprintf(`Schema "%d"`, schemas.Add(1))}
}

func connect(t testing.TB, c Config) *Store {
	t.Helper()
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t testing.TB) storetest.Harness {
		c := fresh()
		w := &watch{t: t, config: c}
		w.install()
		return storetest.Harness{
			Open: func(t testing.TB) store.Store { return connect(t, c) },
			Tick: w.set,
			Restart: func(t testing.TB) {
				if err := shared.Restart(); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

// A watch replaces the clock of a schema by one that the test sets.
type watch struct {
	t      testing.TB
	config Config
	conn   *pgx.Conn
}

func (w *watch) install() {
	s := connect(w.t, w.config)
	defer s.Close()
	for _, q := range []string{
		`CREATE TABLE test_clock (at timestamptz NOT NULL)`,
		`INSERT INTO test_clock VALUES (clock_timestamp())`,
		`CREATE OR REPLACE FUNCTION clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT at FROM test_clock'`,
	} {
		if _, err := s.pool.Exec(w.t.Context(), q); err != nil {
			w.t.Fatal(err)
		}
	}
	w.t.Cleanup(func() {
		if w.conn != nil {
			_ = w.conn.Close(w.t.Context())
		}
	})
}

func (w *watch) set(t testing.TB, now time.Time) {
	for range 2 { // the server may have been restarted
		if w.conn == nil || w.conn.IsClosed() {
			var err error
			if w.conn, err = pgx.Connect(t.Context(), w.config.URL); err != nil {
				t.Fatal(err)
			}
		}
		_, err := w.conn.Exec(t.Context(), `UPDATE `+pgx.Identifier{w.config.Schema, "test_clock"}.Sanitize()+` SET at = $1`, now)
		if err == nil {
			return
		}
		t.Log(err)
		_ = w.conn.Close(t.Context())
	}
	t.Fatal("the clock of the schema cannot be set")
}

func TestSmallestPool(t *testing.T) {
	c := fresh()
	c.MaxConns = 1
	s := connect(t, c)
	defer s.Close()
	if _, err := s.Found(t.Context(), "small", "id", time.Minute); err != nil {
		t.Error(err)
	}
}

// TestOpenOfManyAtOnce: nodes that start together make the tables once.
func TestOpenOfManyAtOnce(t *testing.T) {
	c := fresh()
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			s, err := Open(t.Context(), c)
			if err != nil {
				t.Error(err)
				return
			}
			_ = s.Close()
		})
	}
	wg.Wait()
}

// TestMigrations: a schema of any earlier version is brought up to date with what
// is in it, and every step can be taken back.
func TestMigrations(t *testing.T) {
	c := fresh()
	s := connect(t, c)
	defer s.Close()
	if _, err := s.Acquire(t.Context(), "lease", "a", time.Hour); err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDBFromPool(s.pool)
	defer db.Close()
	p, err := provider(db)
	if err != nil {
		t.Fatal(err)
	}
	as := store.Tenure{Shard: store.Shard{Cluster: "c", Type: "Dad", ID: "7"}, Epoch: store.Epoch{Term: 1}}
	for _, version := range []int64{2, 1, 0} {
		if _, err := p.DownTo(t.Context(), version); err != nil {
			t.Fatalf("down to version %d: %v", version, err)
		}
		if err := connect(t, c).Close(); err != nil {
			t.Fatal(err)
		}
		if h, err := s.Holder(t.Context(), "lease"); err != nil || (h.Owner == "a") != (version > 0) {
			t.Errorf("Holder in a schema of version %d = %+v, %v; want a if there were leases", version, h, err)
		}
		if err := s.Claim(t.Context(), as); err != nil {
			t.Errorf("Claim in a schema of version %d = %v", version, err)
		}
	}
}

// TestServerClock: without a test's clock, time is the server's.
func TestServerClock(t *testing.T) {
	s := connect(t, fresh())
	defer s.Close()
	h, err := s.Acquire(t.Context(), "lease", "a", time.Hour)
	if err != nil || h.Left <= 59*time.Minute || h.Left > time.Hour {
		t.Errorf("Acquire = %+v, %v; want an hour left", h, err)
	}
	if _, err := s.Renew(t.Context(), "lease", "a", h.Token, time.Millisecond); err != nil {
		t.Error(err)
	}
	for { // until the server's clock has gone on by a millisecond
		h, err := s.Holder(t.Context(), "lease")
		if err != nil {
			t.Fatal(err)
		}
		if h.Owner == "" {
			break
		}
	}
}

// TestDWN06HungServer: when the server hangs, a call ends with its context, and
// the next one works when the server goes on.
func TestDWN06HungServer(t *testing.T) {
	s := connect(t, fresh())
	defer s.Close()
	h, err := s.Acquire(t.Context(), "lease", "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.pool.Query(t.Context(), `SELECT pid FROM pg_stat_activity`)
	if err != nil {
		t.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	freeze := func(sig syscall.Signal) {
		for _, pid := range append(pids, shared.PID()) {
			if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
				t.Errorf("%v to %d: %v", sig, pid, err)
			}
		}
	}
	freeze(syscall.SIGSTOP)
	defer freeze(syscall.SIGCONT)
	for range 2 * s.pool.Config().MaxConns { // also when each connection hangs
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err = s.Renew(ctx, "lease", "a", h.Token, time.Hour)
		cancel()
		if !errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Renew while the server hangs = %v; want an unknown outcome after the context's time", err)
		}
	}
	freeze(syscall.SIGCONT)
	if _, err := s.Renew(t.Context(), "lease", "a", h.Token, time.Hour); err != nil {
		t.Errorf("Renew when the server goes on = %v", err)
	}
}

// TestDWN03PausedInATransaction: who is stopped while it writes holds the shard no
// longer than its time-out, and what it was about to write is not there.
func TestDWN03PausedInATransaction(t *testing.T) {
	c := fresh()
	next := connect(t, c)
	defer next.Close()
	c.Timeout = 100 * time.Millisecond
	paused := connect(t, c)
	defer paused.Close()
	shard := store.Shard{Cluster: "c", Type: "Dad", ID: "7"}
	before, after := store.Tenure{Shard: shard, Epoch: store.Epoch{Term: 1, N: 1}}, store.Tenure{Shard: shard, Epoch: store.Epoch{Term: 1, N: 2}}
	at, err := paused.Put(t.Context(), before, "key", 0, []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	err = paused.fenced(t.Context(), "hold", before, func(w fenced) error {
		if _, err := w.tx.Exec(t.Context(), `UPDATE state SET value = 'two' WHERE shard = $1`, w.shard); err != nil {
			return err
		}
		return next.Claim(t.Context(), after) // meanwhile
	})
	if !errors.Is(err, store.ErrUnknown) {
		t.Errorf("a transaction that was paused ends with %v; want %v", err, store.ErrUnknown)
	}
	if e, err := next.Get(t.Context(), shard, "key"); err != nil || string(e.Value) != "one" {
		t.Errorf("Get after the claim = %+v, %v; want what was there before", e, err)
	}
	if _, err := paused.Put(t.Context(), before, "key", at, []byte("three")); !errors.Is(err, store.ErrStaleEpoch) {
		t.Errorf("the first Put of the woken one = %v; want %v", err, store.ErrStaleEpoch)
	}
}

// TestDWN03PausedWriterDelaysNoSeat: who is stopped while it writes to a shard keeps
// nobody from locking it, and the ring from nothing.
func TestDWN03PausedWriterDelaysNoSeat(t *testing.T) {
	c := fresh()
	next, paused := connect(t, c), connect(t, c)
	defer next.Close()
	defer paused.Close()
	ring, seat := store.Ring{Cluster: "c", Type: "Dad"}, store.Seat{Runner: "next"}
	before := store.Tenure{Shard: ring.Shard("7"), Epoch: store.Epoch{Term: 1, N: 1}}
	err := paused.fenced(t.Context(), "hold", before, func(fenced) error {
		token, err := next.Sit(t.Context(), ring, seat, time.Hour)
		if err != nil {
			return err
		}
		locks, err := next.Take(t.Context(), ring, seat.Runner, token, []string{"7", "8"})
		if err != nil || len(locks) != 2 {
			t.Errorf("Take meanwhile = %v, %v; want both shards", locks, err)
		}
		return next.Keep(t.Context(), ring, seat, token, time.Hour)
	})
	if err != nil {
		t.Error(err)
	}
}

func BenchmarkPut(b *testing.B) {
	s := connect(b, fresh())
	defer s.Close()
	storetest.BenchmarkPut(b, s)
}

func BenchmarkLocks(b *testing.B) {
	s := connect(b, fresh())
	defer s.Close()
	storetest.BenchmarkLocks(b, s)
}

// TestStandbyIsRefused: its answers may be old.
func TestStandbyIsRefused(t *testing.T) {
	c := fresh()
	connect(t, c).Close()
	c.URL += "&default_transaction_read_only=on"
	s, err := Open(t.Context(), c)
	if err == nil {
		_ = s.Close()
		t.Fatal("Open of a server that is read only = nil")
	}
	if !strings.Contains(err.Error(), "read only") {
		t.Errorf("Open of a server that is read only = %v; want an error that says so", err)
	}
}

func TestBadConfig(t *testing.T) {
	for what, c := range map[string]Config{
		"no URL":              {},
		"a broken URL":        {URL: "postgres://a:secret@b:port/"},
		"a negative time-out": {URL: "host=a", Timeout: -1},
		"a time-out for ever": {URL: "host=a", Timeout: 100 * time.Hour},
		"a negative pool":     {URL: "host=a", MaxConns: -1},
	} {
		s, err := Open(t.Context(), c)
		if !errors.Is(err, store.ErrBadArgument) || s != nil {
			t.Errorf("Open with %s = %v; want %v", what, err, store.ErrBadArgument)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("Open with %s = %v; want no password in it", what, err)
		}
	}
}
