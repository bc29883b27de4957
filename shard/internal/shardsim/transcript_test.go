package shardsim

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the transcripts in testdata anew")

// TestTranscripts keeps whole conversations for reading: what is said and done
// from the moment that something happens until all is quiet again.
func TestTranscripts(t *testing.T) {
	for _, tt := range []struct {
		name   string
		who    authority
		nodes  int
		happen func(*world)
	}{
		{"first-message", byCoordinator, 2, func(w *world) { w.nodes[1].tell("new") }},
		{"leave", byCoordinator, 3, func(w *world) { w.leave(w.nodes[1]); w.nodes[2].tell("s1") }},
		{"coordinator-leaves", byCoordinator, 2, func(w *world) { w.leave(w.nodes[0]) }},
		{"crash", byCoordinator, 3, func(w *world) { w.crash(w.nodes[1]); w.nodes[2].tell("s1") }},
		{"rebalance", byCoordinator, 2, func(w *world) { w.join() }},
		{"ring-first-message", byRing, 2, func(w *world) { w.nodes[1].tell("-2") }},
		{"ring-leave", byRing, 3, func(w *world) { w.leave(w.nodes[1]); w.nodes[2].tell("2") }},
		{"ring-crash", byRing, 3, func(w *world) { w.crash(w.nodes[1]); w.nodes[2].tell("2") }},
		{"ring-join", byRing, 2, func(w *world) { w.join() }},
		{"ring-outage", byRing, 2, func(w *world) { w.nodes[1].cutOff = w.now.Add(4 * time.Second) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := calm(t, tt.who, tt.nodes, 4, func(w *world) {
				w.cfg.coordinator.RebalanceEvery = 5 * time.Second
				w.cfg.ring.Poll = time.Minute // the rest is what happens
				w.cfg.ring.Exists = func(name string) bool { return name == "-1" || name == "-2" }
			})
			w.trace, w.start = nil, w.now
			tt.happen(w)
			w.run(20 * time.Second)
			w.mustHold(t)
			golden(t, filepath.Join("testdata", tt.name+".txt"), readable(w.trace))
		})
	}
}

var (
	incarnation = regexp.MustCompile(`(n\d\d):1#\d+`)
	deadline    = regexp.MustCompile(`Deadline:[^}]*`)
	packages    = regexp.MustCompile(`\b(protocol|region|coordinator|ring)\.`)
)

// readable strips what the reader knows.
func readable(trace []string) string {
	text := strings.Join(trace, "\n") + "\n"
	text = incarnation.ReplaceAllString(text, "$1")
	text = deadline.ReplaceAllString(text, "Deadline:…")
	text = packages.ReplaceAllString(text, "")
	text = strings.NewReplacer(":0#0", "-", "Header:", "", " (1)", "", "Tenure:", "").Replace(text)
	return text
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; make it with -update", err)
	}
	if got != string(want) {
		t.Errorf("%s differs; if that is meant, run with -update and read the diff\ngot:\n%s", path, got)
	}
}
