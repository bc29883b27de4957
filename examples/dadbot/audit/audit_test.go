package audit_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/troupe-go/troupe/examples/dadbot/audit"
)

func TestEventsAreLinesOfJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	synctest.Test(t, func(t *testing.T) { // for its clock
		f, err := audit.Open(path, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		record := audit.Stamp("node-1", f.Record)
		record(audit.Event{Event: audit.Accepted, Chat: "#c1", ID: "a"})
		record(audit.Event{Event: audit.Joke, Chat: "#c1", IDs: []string{"a", "b"}, Text: "ha"})
		record(audit.Event{Event: audit.Stopped, Chat: "#c1"})
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	})
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"t":"2000-01-01T00:00:00Z","node":"node-1","event":"accepted","chat":"#c1","id":"a"}
{"t":"2000-01-01T00:00:00Z","node":"node-1","event":"joke","chat":"#c1","ids":["a","b"],"text":"ha"}
{"t":"2000-01-01T00:00:00Z","node":"node-1","event":"stopped","chat":"#c1"}
`
	if string(got) != want {
		t.Errorf("the file is\n%swant\n%s", got, want)
	}
}

func TestConcurrentWritersOfOneFileDoNotMixLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	const writers, each = 4, 200
	var all sync.WaitGroup
	for range writers {
		f, err := audit.Open(path, slog.New(slog.DiscardHandler)) // as several processes would
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer f.Close()
			for range each {
				f.Record(audit.Event{Event: audit.Joke, Chat: "#c1", Text: strings.Repeat("ha", 500)})
			}
		})
	}
	all.Wait()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSuffix(got, []byte("\n")), []byte("\n"))
	if len(lines) != writers*each {
		t.Fatalf("got %d lines, want %d", len(lines), writers*each)
	}
	for _, line := range lines {
		if !bytes.Equal(line, lines[0]) {
			t.Fatalf("a line is broken: %s", line)
		}
	}
}

func TestALostEventIsLogged(t *testing.T) {
	var log bytes.Buffer
	f, err := audit.Open(filepath.Join(t.TempDir(), "audit.jsonl"), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f.Record(audit.Event{Event: audit.Heard, Chat: "#c1"})
	if got := log.String(); !strings.Contains(got, "audit event lost") || !strings.Contains(got, "#c1") {
		t.Errorf("the log says %q, want the lost event", got)
	}
}
