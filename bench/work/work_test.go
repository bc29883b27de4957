package work

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestSizesAreWhole(t *testing.T) {
	for _, w := range All() {
		for _, n := range []int{w.N, w.Few} {
			if err := w.Check(n); err != nil {
				t.Errorf("%s: %v", w.Name, err)
			}
		}
	}
	for name, n := range map[string]int{"tell-1-1": 0, "skynet-1m": 2000, "fanout-1000": 1500} {
		if w, err := Find(name); err != nil || w.Check(n) == nil {
			t.Errorf("%s takes %d operations (%v), want an error", name, n, err)
		}
	}
}

// README.md is what drivers elsewhere are written from.
func TestReadmeHasEveryWorkWithItsSize(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range All() {
		if row := "| `" + w.Name + "` | " + thousands(w.N) + " | " + string(w.Unit) + " |"; !strings.Contains(string(text), row) {
			t.Errorf("bench/README.md has no row that begins with %q", row)
		}
	}
}

// thousands writes n with a comma after each three digits.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
