package arch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheReadmeShowsAProgramThatRuns compares the README's code block with the
// example that it names.
func TestTheReadmeShowsAProgramThatRuns(t *testing.T) {
	const at = "examples/counter/main.go"
	program, err := os.ReadFile(filepath.Join(root(t), at))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	mark := "<!-- " + at + " -->\n```go\n"
	_, rest, ok := strings.Cut(string(readme), mark)
	if !ok {
		t.Fatalf("README.md has no code block after %q", mark)
	}
	shown, _, _ := strings.Cut(rest, "```\n")
	if shown == string(program) {
		return
	}
	want := strings.Split(string(program), "\n")
	for i, line := range strings.Split(shown, "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("README.md differs from %s in line %d of it: got %q; copy the program there", at, i+1, line)
		}
	}
	t.Fatalf("README.md shows only the beginning of %s: copy the program there", at)
}
