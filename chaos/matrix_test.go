//go:build chaos && linux

package chaos

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	whole = flag.Bool("whole", false, "rehearse every scenario with every strategy; else those of the short form with some")
	page  = flag.String("page", "", "`file` at whose end, below its heading Verdicts, to write them")
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
					v := rehearse(t, 5, strategy, append(sc.times.flags(), sc.with...)...).judge(sc)
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
	if *page != "" {
		if err := renew(*page, b.String()); err != nil {
			t.Error(err)
		}
	}
}

// renew writes the verdicts in place of those that a page ends with.
func renew(page, verdicts string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	const heading = "\n## Verdicts\n\n"
	before, _, ok := strings.Cut(string(text), heading)
	if !ok {
		return fmt.Errorf("%s has no heading Verdicts", page)
	}
	return os.WriteFile(page, []byte(before+heading+verdicts), 0o644)
}
