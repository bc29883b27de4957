//go:build chaos && linux

package chaos

import (
	"cmp"
	"flag"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	whole = flag.Bool("whole", false, "rehearse every scenario with every strategy; else those of the short form with some")
	table = flag.String("table", "", "`file` to write the verdicts to")
)

// TestOneSideSurvives rehearses scenarios with strategies: of five nodes those are
// left who must be, all others exit with an error, the survivors answer for every
// entity, and never do two nodes answer for the same one. Two or three clusters
// run at a time: see -parallel.
func TestOneSideSurvives(t *testing.T) {
	var mu sync.Mutex
	var verdicts []verdict
	t.Run("matrix", func(t *testing.T) {
		for _, sc := range scenarios {
			for _, strategy := range strategies {
				if !*whole && (!sc.short || strategy != majority && strategy != lease) {
					continue
				}
				t.Run(strings.ReplaceAll(sc.name+", "+strategy, " ", "_"), func(t *testing.T) {
					t.Parallel()
					v := rehearse(t, 5, strategy, sc.times).judge(sc)
					for _, p := range v.problems {
						t.Errorf("%s, %s: %s", sc.name, strategy, p)
					}
					mu.Lock()
					defer mu.Unlock()
					verdicts = append(verdicts, v)
				})
			}
		}
	})
	order := func(v verdict) int {
		return slices.IndexFunc(scenarios, func(sc scenario) bool { return sc.name == v.scenario })
	}
	slices.SortFunc(verdicts, func(a, b verdict) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(slices.Index(strategies, a.strategy), slices.Index(strategies, b.strategy)))
	})
	var b strings.Builder
	write(&b, verdicts)
	t.Logf("verdicts:\n%s", &b)
	if *table != "" {
		if err := os.WriteFile(*table, []byte(b.String()), 0o644); err != nil {
			t.Error(err)
		}
	}
}
