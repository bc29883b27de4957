package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/bench/work"
)

// cellOf makes a cell of values, each with a p99.
func cellOf(workName, system string, unit work.Unit, values ...float64) Cell {
	c := Cell{Work: workName, System: system, Unit: unit}
	for _, v := range values {
		allocs := v / 10
		c.Runs = append(c.Runs, work.Result{Work: workName, Unit: unit, Value: v, AllocsPerOp: &allocs, Extra: map[string]float64{"p99": 2 * v}})
	}
	return c
}

func sample() *Report {
	failed := cellOf("tell-1-1", "broken", work.MessagesPerSecond, 1e9)
	failed.Error = "exit status 1"
	return &Report{Rounds: 3, Cells: []Cell{
		cellOf("tell-1-1", "troupe", work.MessagesPerSecond, 30, 10, 20),
		cellOf("tell-1-1", "channel", work.MessagesPerSecond, 25, 25, 1),
		failed,
		cellOf("ask-1", "troupe", work.Nanoseconds, 100, 200),
		cellOf("ask-1", "slow", work.Nanoseconds, 900),
		cellOf("ask-1", "quick", work.Nanoseconds, 300),
	}}
}

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name    string
		bar     Bar
		ratio   float64
		verdict Verdict
	}{
		{"at least, held", Bar{Work: "tell-1-1", Of: Value, Than: system("channel"), AtLeast: 0.8}, 0.8, Held},
		{"at least, missed", Bar{Work: "tell-1-1", Of: Value, Than: system("channel"), AtLeast: 0.9}, 0.8, Missed},
		{"at most, of the best peer", Bar{Work: "ask-1", Of: Value, Than: bestPeer, AtMost: 0.5}, 0.5, Held},
		{"at most, of the best peer's p99", Bar{Work: "ask-1", Of: P99, Than: bestPeer, AtMost: 0.4}, 0.5, Missed},
		{"as it is", Bar{Work: "ask-1", Of: Allocs, AtMost: 15}, 15, Held},
		{"as it is, missed", Bar{Work: "ask-1", Of: Allocs, AtMost: 14}, 15, Missed},
		{"another work of its own", Bar{Work: "ask-1", Of: Value, Than: own("tell-1-1"), AtMost: 8}, 7.5, Held},
		{"not measured", Bar{Work: "pingpong", Of: Value, AtMost: 1}, 0, Open},
		{"no such system", Bar{Work: "tell-1-1", Of: Value, Than: system("frames"), AtLeast: 1}, 20, Open},
		{"a peer that failed is none", Bar{Work: "tell-1-1", Of: Value, Than: bestPeer, AtLeast: 1}, 20, Open},
		{"no such quantity", Bar{Work: "tell-1-1", Of: P50, AtMost: 1}, 0, Open},
	} {
		if got := sample().judge(tt.bar); got.Verdict != tt.verdict || got.Ratio != tt.ratio {
			t.Errorf("%s: judge(%+v) = %s with ratio %v, want %s with %v", tt.name, tt.bar, got.Verdict, got.Ratio, tt.verdict, tt.ratio)
		}
	}
}

func TestBarsNameWorksAndOneLimit(t *testing.T) {
	for _, b := range bars {
		if _, err := work.Find(b.Work); err != nil {
			t.Errorf("bar %+v: %v", b, err)
		}
		if (b.AtLeast > 0) == (b.AtMost > 0) {
			t.Errorf("bar %+v: want one limit", b)
		}
	}
}

func TestMeritIsAboveOneForTheBetter(t *testing.T) {
	r := sample()
	for _, tt := range []struct {
		work, system string
		want         float64
	}{
		{"tell-1-1", "troupe", 1},
		{"tell-1-1", "channel", 1.25}, // a rate: more is better
		{"ask-1", "quick", 0.5},       // a time: less is
	} {
		c, _ := r.cell(tt.work, tt.system)
		if got, ok := r.Merit(c); !ok || got != tt.want {
			t.Errorf("merit of %s in %s = %v, %v, want %v", tt.system, tt.work, got, ok, tt.want)
		}
	}
}

func TestTextShowsAllSystemsBarsAndFailures(t *testing.T) {
	r := sample()
	r.Judge()
	text := r.Text()
	for _, want := range []string{
		"\ntell-1-1  troupe       20   10   30  msg/s       2.00       0 µs       1.00\n",
		"\ntell-1-1  broken   FAILED\n",
		"\ntell-1-1  value   at least 1 × channel       20     25   0.80  missed\n",
		"broken failed at tell-1-1: exit status 1\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	if !r.Failed() {
		t.Error("Failed is false for a report with a failed run")
	}
}

func TestPageAndChart(t *testing.T) {
	r, dir := sample(), t.TempDir()
	r.Judge()
	page := filepath.Join(dir, "page.md")
	if err := os.WriteFile(page, []byte("before\n"+pageBegin+"old\n"+pageEnd+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // again over its own result
		if err := r.UpdatePage(page); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := "before\n" + pageBegin + r.markdown() + pageEnd + "after\n"
	if string(text) != want || strings.Count(want, "**missed**") != 3 {
		t.Errorf("the page is\n%s\nwant\n%s", text, want)
	}
	if err := os.WriteFile(page, []byte("no markers\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.UpdatePage(page); err == nil {
		t.Error("a page without markers was taken")
	}
	if err := r.WriteChart(filepath.Join(dir, "bench")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bench.svg", "bench.png"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
