//go:build chaos && linux

package chaos

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A set is some nodes: their numbers as one text, or "-" for none.
type set string

const nobody set = "-"

// setOf writes numbers from 1 to 9.
func setOf(nodes []int) set {
	if len(nodes) == 0 {
		return nobody
	}
	var b strings.Builder
	for _, n := range slices.Sorted(slices.Values(nodes)) {
		fmt.Fprint(&b, n)
	}
	return set(b.String())
}

// outcomes are the sets of nodes that may be left, in one text: "12|34|5". With
// "of 345" any of these may be left, or none.
type outcomes string

func (o outcomes) allow(s set) bool {
	return slices.ContainsFunc(strings.Split(string(o), "|"), func(want string) bool {
		if of, ok := strings.CutPrefix(want, "of "); ok {
			return s == nobody || !strings.ContainsFunc(string(s), func(n rune) bool { return !strings.ContainsRune(of, n) })
		}
		return string(s) == want
	})
}

func TestOutcomes(t *testing.T) {
	for _, tt := range []struct {
		o    outcomes
		s    set
		want bool
	}{
		{"345", "345", true},
		{"345", "34", false},
		{"345", nobody, false},
		{"12|34|-", "34", true},
		{"12|34|-", nobody, true},
		{"of 12|of 345", "35", true},
		{"of 12|of 345", "13", false},
		{"of 12|of 345", nobody, true},
	} {
		if got := tt.o.allow(tt.s); got != tt.want {
			t.Errorf("%q allows %s: got %v, want %v", tt.o, tt.s, got, tt.want)
		}
	}
}
