// Package drivertest shows that a system still does its works. The test binary
// of the system's package takes the part of its executable:
//
//	func TestMain(m *testing.M) { drivertest.Main(m, main) }
//	func TestWorks(t *testing.T) { drivertest.Works(t) }
package drivertest

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/bench/internal/runner"
	"github.com/troupe-go/troupe/bench/work"
)

var limits = runner.Limits{Procs: 2, Within: time.Minute}

// Main runs the system if the process was started as one, else the tests. It
// does not return.
func Main(m *testing.M, system func()) {
	if len(os.Args) > 1 && slices.Contains([]string{"list", "run", "peer"}, os.Args[1]) {
		system()
	}
	os.Exit(m.Run())
}

// Works runs each work that the system lists, in a tiny size, and gives their
// names.
func Works(t *testing.T) []string {
	t.Helper()
	t.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector's pause at each exit
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := runner.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, w := range work.All() {
		if !s.Can(w) {
			continue
		}
		names = append(names, w.Name)
		t.Run(w.Name, func(t *testing.T) {
			r, err := s.Run(t.Context(), w, w.Few, limits)
			if err != nil {
				t.Fatalf("run %s -n %d: %v", w.Name, w.Few, err)
			}
			if p50, p99 := r.Extra["p50"], r.Extra["p99"]; p50 > p99 {
				t.Errorf("run %s -n %d: p50 is %v, p99 %v: want them in order", w.Name, w.Few, p50, p99)
			}
		})
	}
	return names
}
