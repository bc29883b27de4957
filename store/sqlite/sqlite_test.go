package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/store/storetest"
)

// bubble is the clock of a synctest bubble.
func bubble() clock {
	return clock{boot: "bubble", now: func() time.Duration { return time.Duration(time.Now().UnixNano()) }}
}

// folder is a temporary one, in memory where that is possible: thousands of
// transactions need not wait for a disk.
func folder(t testing.TB) string {
	t.Helper()
	const memory = "/dev/shm"
	if _, err := os.Stat(memory); err != nil {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "troupe") //nolint:usetesting // t.TempDir is on the disk
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t testing.TB) storetest.Harness {
		path := filepath.Join(folder(t), "a b?#%.db")
		return storetest.Harness{Open: func(t testing.TB) store.Store {
			s, err := open(t.Context(), Config{Path: path}, bubble())
			if err != nil {
				t.Fatal(err)
			}
			return s
		}}
	})
}

func BenchmarkPut(b *testing.B)   { bench(b, storetest.BenchmarkPut) }
func BenchmarkLocks(b *testing.B) { bench(b, storetest.BenchmarkLocks) }

func bench(b *testing.B, run func(*testing.B, store.Store)) {
	s, err := Open(b.Context(), Config{Path: filepath.Join(b.TempDir(), "bench.db")}) // on the disk
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	run(b, s)
}

func TestOpenOfManyAtOnce(t *testing.T) {
	path := filepath.Join(folder(t), "many.db")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := Open(t.Context(), Config{Path: path})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := s.Found(t.Context(), "many", "id", time.Minute); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestMigrations: a file of any earlier version is brought up to date with what is
// in it, and every step can be taken back.
func TestMigrations(t *testing.T) {
	path := filepath.Join(folder(t), "old.db")
	opened := func() *Store {
		s, err := open(t.Context(), Config{Path: path}, bubble())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := opened()
	if _, err := s.Acquire(t.Context(), "lease", "a", time.Hour); err != nil {
		t.Fatal(err)
	}
	p, err := provider(s.db)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []int64{2, 1, 0} {
		if _, err := p.DownTo(t.Context(), version); err != nil {
			t.Fatalf("down to version %d: %v", version, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = opened()
		if h, err := s.Holder(t.Context(), "lease"); err != nil || (h.Owner == "a") != (version > 0) {
			t.Errorf("Holder in a file of version %d = %+v, %v; want a if there were leases", version, h, err)
		}
		if err := s.Claim(t.Context(), tenure(1)); err != nil {
			t.Errorf("Claim in a file of version %d = %v", version, err)
		}
		if p, err = provider(s.db); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestReboot: what was held before the machine was started anew is free, and
// the numbers go on.
func TestReboot(t *testing.T) {
	path := filepath.Join(folder(t), "reboot.db")
	boot := func(id string, now time.Duration) *Store {
		s, err := open(t.Context(), Config{Path: path}, clock{boot: id, now: func() time.Duration { return now }})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	r := store.Runner{Cluster: "c", ClusterID: "first", Address: "a:1", Incarnation: 1}
	s := boot("first", 100*time.Hour)
	_, err1 := s.Acquire(t.Context(), "lease", "a", time.Hour)
	_, err2 := s.Found(t.Context(), "c", "first", time.Hour)
	g, err3 := s.Register(t.Context(), r, time.Hour)
	if err := errors.Join(err1, err2, err3, s.Close()); err != nil {
		t.Fatal(err)
	}

	s = boot("second", time.Minute)
	defer s.Close()
	if h, err := s.Holder(t.Context(), "lease"); err != nil || h != (store.Holding{Token: 1}) {
		t.Errorf("Holder after a reboot = %+v, %v; want nobody, after token 1", h, err)
	}
	if _, err := s.Renew(t.Context(), "lease", "a", 1, time.Hour); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("Renew after a reboot = %v; want %v", err, store.ErrLeaseLost)
	}
	if h, err := s.Acquire(t.Context(), "lease", "b", time.Hour); err != nil || h.Token != 2 || h.Left != time.Hour {
		t.Errorf("Acquire after a reboot = %+v, %v; want token 2 for an hour", h, err)
	}
	if live, err := s.Live(t.Context(), "c"); err != nil || len(live) != 0 {
		t.Errorf("Live after a reboot = %+v, %v; want none", live, err)
	}
	if id, err := s.Found(t.Context(), "c", "second", time.Hour); err != nil || id != "second" {
		t.Errorf("Found after a reboot = %q, %v; want a new cluster", id, err)
	}
	r.ClusterID = "second"
	if later, err := s.Register(t.Context(), r, time.Hour); err != nil || later <= g {
		t.Errorf("Register after a reboot = %d, %v; want a generation above %d", later, err, g)
	}
}

// TestDWN06BusyFile: a call waits for another process's transaction no longer
// than its context allows, and is not done later.
func TestDWN06BusyFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(folder(t), "busy.db")
		var stores []*Store
		for range 2 {
			s, err := open(t.Context(), Config{Path: path, Busy: time.Hour}, bubble())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			stores = append(stores, s)
		}
		tx, err := stores[0].db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = stores[1].Acquire(ctx, "lease", "a", time.Minute)
		if !errors.Is(err, store.ErrUnknown) || ctx.Err() == nil {
			t.Fatalf("Acquire while another process writes = %v; want %v when the context has ended", err, store.ErrUnknown)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if h, err := stores[1].Holder(t.Context(), "lease"); err != nil || h != (store.Holding{}) {
			t.Errorf("Holder = %+v, %v; want nobody ever", h, err)
		}
	})
}

// A file that is deleted, or replaced by a copy, lives on for who has it open: there
// would be two stores, and two holders of one lease.
func TestFileThatIsNotInPlace(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"deleted":  os.Remove,
		"replaced": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) },
	} {
		path := filepath.Join(folder(t), "a.db")
		s, err := Open(t.Context(), Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		held, err := s.Acquire(t.Context(), "l", "o", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if err := harm(path); err != nil {
			t.Fatal(err)
		}
		_, acquired := s.Acquire(t.Context(), "m", "o", time.Hour)
		_, renewed := s.Renew(t.Context(), "l", "o", held.Token, time.Hour)
		claimed := s.Claim(t.Context(), tenure(1))
		for _, err := range []error{acquired, renewed, claimed} {
			if !errors.Is(err, store.ErrUnknown) || !strings.Contains(err.Error(), "deleted or replaced") {
				t.Errorf("%s: %v, want an ErrUnknown that says so", name, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestBadConfig(t *testing.T) {
	for what, c := range map[string]Config{
		"no path":                  {},
		"a negative busy time-out": {Path: filepath.Join(t.TempDir(), "x"), Busy: -1},
	} {
		if _, err := Open(t.Context(), c); !errors.Is(err, store.ErrBadArgument) {
			t.Errorf("Open with %s = %v; want %v", what, err, store.ErrBadArgument)
		}
	}
	missing := filepath.Join(t.TempDir(), "none", "x.db")
	if _, err := Open(t.Context(), Config{Path: missing}); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("Open in a folder that is missing = %v; want an error with the path", err)
	}
}

// TestMachineClock: the real one goes on, and is the same for all.
func TestMachineClock(t *testing.T) {
	a, err := machine()
	if err != nil {
		t.Fatal(err)
	}
	b, err := machine()
	if err != nil {
		t.Fatal(err)
	}
	if a.boot == "" || a.boot != b.boot {
		t.Errorf("boots %q and %q; want the same", a.boot, b.boot)
	}
	first, then := a.now(), b.now()
	if first <= 0 || then < first {
		t.Errorf("read %v and then %v; want time to go on", first, then)
	}
}
