package settings

import (
	"strings"
	"testing"
)

func TestSuggestions(t *testing.T) {
	known := []string{"quiet", "think", "http", "role"}
	for word, want := range map[string]string{
		"quite": "did you mean quiet?", "htpp": "did you mean http?", "roles": "did you mean role?",
		"completely-different": ": see", "x": ": see", "rule": "did you mean role?", "QUIET": "did you mean quiet?",
	} {
		if got := Suggest(word, known, "see"); !strings.Contains(got, want) {
			t.Errorf("Suggest(%q) = %q, want %q", word, got, want)
		}
	}
}
