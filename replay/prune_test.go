package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestPruneKeepsTheNewest(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"c", "a", "b"} { // from old to new
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		when := time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	prune(dir, 3)
	prune(dir, 2)
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if want := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}; !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
}
