package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/bench/internal/report"
	"github.com/troupe-go/troupe/bench/work"
)

// systemsOf are scripts by name: each gets "list" or "run WORK -n N".
func systemsOf(t *testing.T, scripts map[string]string) []System {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		text := "#!/bin/sh\n[ \"$1\" = list ] && { echo tell-1-1 ask-1 of-another-version; exit; }\n" + script
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "README"), []byte("no system"), 0o600); err != nil {
		t.Fatal(err)
	}
	systems, err := Extra(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return systems
}

const goodScript = `echo '{"work":"'$2'","unit":"msg/s","value":'$GOMAXPROCS$4'}'`

var limits = Limits{Procs: 3, Within: time.Minute}

func find(t *testing.T, name string) work.Work {
	t.Helper()
	w, err := work.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestBuiltinAreAllSystems(t *testing.T) {
	dirs, err := os.ReadDir("../../systems")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range dirs {
		names = append(names, d.Name())
	}
	if got := slices.Sorted(slices.Values(builtin)); !slices.Equal(got, names) {
		t.Errorf("systems that are measured = %v, want all folders of systems: %v", got, names)
	}
}

func TestRunGivesOneResult(t *testing.T) {
	s := systemsOf(t, map[string]string{"good": goodScript})[0]
	if !s.Can(find(t, "ask-1")) || s.Can(find(t, "pingpong")) {
		t.Errorf("%+v: want it to do ask-1 and not pingpong", s)
	}
	r, err := s.Run(t.Context(), find(t, "tell-1-1"), 7, limits)
	if err != nil || r.Value != 37 { // GOMAXPROCS is 3, N is 7
		t.Errorf("run = %+v, %v, want the value 37", r, err)
	}
}

func TestRunSaysHowASystemFailed(t *testing.T) {
	for _, tt := range []struct {
		name, script, want string
		within             time.Duration
	}{
		{"exit", "echo no port >&2; exit 3", "exit status 3:\nno port", time.Minute},
		{"garbage", "echo done", `it printed "done\n"`, time.Minute},
		{"silent", "true", `it printed ""`, time.Minute},
		{"other", `echo '{"work":"ask-1","unit":"ns","value":1}'`, `of work "ask-1"`, time.Minute},
		{"unit", `echo '{"work":"tell-1-1","unit":"ns","value":1}'`, "in ns, not in msg/s", time.Minute},
		{"zero", `echo '{"work":"tell-1-1","unit":"msg/s","value":0}'`, "must be positive", time.Minute},
		{"hangs", "exec sleep 600", "not done within 10ms", 10 * time.Millisecond},
	} {
		s := systemsOf(t, map[string]string{tt.name: tt.script})[0]
		_, err := s.Run(t.Context(), find(t, "tell-1-1"), 0, Limits{Procs: 1, Within: tt.within})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error = %v, want one with %q", tt.name, err, tt.want)
		}
	}
}

func TestMeasureInterleavesAndLeavesOutWhatFailed(t *testing.T) {
	var order []string
	p := Plan{
		Systems: systemsOf(t, map[string]string{"a": goodScript, "b": "exit 1", "c": goodScript}),
		Works:   []work.Work{find(t, "tell-1-1"), find(t, "pingpong")}, // nobody plays
		Rounds:  2, Limits: limits,
		Progress: func(_ int, c report.Cell) { order = append(order, c.System) },
	}
	cells, err := p.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "c", "a", "c"}; !slices.Equal(order, want) {
		t.Errorf("order of runs = %v, want %v", order, want)
	}
	if len(cells) != 3 || len(cells[0].Runs) != 2 || cells[1].Error == "" || len(cells[2].Runs) != 2 {
		t.Errorf("cells = %+v, want two runs of a and c, and a failure of b", cells)
	}
}

func TestMeasureEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := Plan{
		Systems: systemsOf(t, map[string]string{"a": goodScript}),
		Works:   []work.Work{find(t, "tell-1-1")}, Rounds: 1000, Limits: limits,
		Progress: func(int, report.Cell) { cancel() },
	}
	cells, err := p.Measure(ctx)
	if !errors.Is(err, context.Canceled) || len(cells) != 1 || len(cells[0].Runs) != 1 {
		t.Errorf("Measure = %+v, %v, want one run and context.Canceled", cells, err)
	}
}
