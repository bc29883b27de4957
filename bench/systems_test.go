package main

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/bench/internal/report"
	"github.com/troupe-go/troupe/bench/internal/runner"
	"github.com/troupe-go/troupe/bench/work"
)

// Every system does each of its works, in a tiny size: a driver that no longer
// fits what it drives fails here and not in a measurement.
func TestEverySystemDoesItsWorks(t *testing.T) {
	systems, err := runner.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	limits := runner.Limits{Procs: 2, Within: time.Minute}
	for _, s := range systems {
		for _, w := range work.All() {
			if !s.Can(w) {
				if s.Name == report.Subject {
					t.Errorf("%s does not do %s", s.Name, w.Name)
				}
				continue
			}
			t.Run(s.Name+"/"+w.Name, func(t *testing.T) {
				r, err := s.Run(t.Context(), w, w.Few, limits)
				if err != nil {
					t.Fatalf("run %s -n %d: %v", w.Name, w.Few, err)
				}
				if p50, p99 := r.Extra["p50"], r.Extra["p99"]; p50 > p99 {
					t.Errorf("run %s -n %d: p50 is %v, p99 %v: want them in order", w.Name, w.Few, p50, p99)
				}
			})
		}
	}
}
