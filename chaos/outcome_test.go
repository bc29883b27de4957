//go:build chaos && linux

package chaos

import (
	"fmt"
	"slices"
	"strings"
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

// outcomes are the sets of nodes that may be left, in one text: "12|34|5".
type outcomes string

func (o outcomes) allow(s set) bool { return slices.Contains(strings.Split(string(o), "|"), string(s)) }

// reachable tells whether an outcome is left that such survivors can still become.
func (o outcomes) reachable(s set) bool {
	return slices.ContainsFunc(strings.Split(string(o), "|"), func(want string) bool {
		return want == string(nobody) || !strings.ContainsFunc(want, func(n rune) bool { return !strings.ContainsRune(string(s), n) })
	})
}
