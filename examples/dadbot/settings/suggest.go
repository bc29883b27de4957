package settings

import (
	"fmt"
	"strings"
)

// Suggest completes an error about a word that is none of the known ones: with the
// nearest of them, in whatever case it is written, if one is near.
func Suggest(word string, known []string, otherwise string) string {
	best := nearest(word, known)
	if best == "" {
		return ": " + otherwise
	}
	return fmt.Sprintf(": did you mean %s? (%s)", best, otherwise)
}

// nearest is empty where no known word is near.
func nearest(word string, known []string) (best string) {
	distance := min(len(word)/2, 3) + 1 // a word with half its letters wrong is another one
	if len(word) > longest {
		return ""
	}
	for _, k := range known {
		if d := edits(strings.ToLower(word), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	return best
}

const longest = 100 // letters of a word that may be meant for a known one

// edits is the Levenshtein distance: how many letters to insert, delete or
// replace to make b of a.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
