package record

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTailReadsFinishedLinesOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node.jsonl")
	tail := Tail{Path: path}
	want := func(what string, kinds ...Kind) {
		t.Helper()
		events, err := tail.Next()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if len(events) != len(kinds) {
			t.Fatalf("%s: got %v, want %v", what, events, kinds)
		}
		for i, e := range events {
			if e.Kind != kinds[i] || e.Node != 3 || e.At == 0 || e.Wall.IsZero() {
				t.Errorf("%s: event %d: got %+v, want %s of node 3 with its times", what, i, e, kinds[i])
			}
		}
	}
	want("no file")
	w, err := Create(path, 3)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(Event{Kind: Answered, Entity: "e"})
	w.Write(Event{Kind: Viewed})
	want("two lines", Answered, Viewed)
	if _, err := w.f.WriteString(`{"at":1,"wall":"2026-01-02T03:04:05Z","node":3,`); err != nil {
		t.Fatal(err)
	}
	want("half a line")
	if _, err := w.f.WriteString("\"kind\":\"ended\"}\n"); err != nil {
		t.Fatal(err)
	}
	want("the other half", Ended)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTailNamesABadLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node.jsonl")
	if err := os.WriteFile(path, []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tail := Tail{Path: path}
	if _, err := tail.Next(); err == nil {
		t.Error("a line of nonsense was read without an error")
	}
}
