package sqlite

import (
	"os"
	"path/filepath"
	"testing"
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
	dir, err := os.MkdirTemp(memory, "troupe")
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
