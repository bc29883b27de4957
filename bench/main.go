// Bench measures Troupe beside what plain Go needs for the same work and beside
// other actor systems: run it from the repository's root.
//
//	go run ./bench -h
//
// README.md says what is measured and how a system is added from outside.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/troupe-go/troupe/bench/internal/report"
	"github.com/troupe-go/troupe/bench/internal/runner"
	"github.com/troupe-go/troupe/bench/work"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := bench(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	rounds         int
	works, systems *regexp.Regexp
	within         time.Duration
	procs          int
	extra          string
	json, page     string
}

func parse(args []string, usage io.Writer) (o options, err error) {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(usage)
	works, systems := "", ""
	f.IntVar(&o.rounds, "rounds", 5, "runs of each work on each system")
	f.StringVar(&works, "works", "", "only works that match this `regexp`")
	f.StringVar(&systems, "systems", "", "only systems that match this `regexp`")
	f.DurationVar(&o.within, "within", 2*time.Minute, "limit of one run")
	f.IntVar(&o.procs, "procs", runtime.NumCPU(), "GOMAXPROCS of each process")
	f.StringVar(&o.extra, "extra", os.Getenv("BENCH_EXTRA"), "`folder` of executables that are further systems; default $BENCH_EXTRA")
	f.StringVar(&o.json, "json", "", "write the report to this `file` too, with every run")
	f.StringVar(&o.page, "page", "", "write the tables into this Markdown `file`, between its markers, and the chart into a folder beside it that is named like it")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.works, err = regexp.Compile(works); err != nil {
		return o, fmt.Errorf("-works: %w", err)
	}
	if o.systems, err = regexp.Compile(systems); err != nil {
		return o, fmt.Errorf("-systems: %w", err)
	}
	if f.NArg() > 0 || o.rounds < 1 || o.procs < 1 || o.within <= 0 {
		return o, errors.New("-rounds, -procs and -within are positive, and there is nothing but flags")
	}
	return o, nil
}

func bench(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := parse(args, progress)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintln(progress, "building the systems")
	plan, err := o.plan(ctx, dir)
	if err != nil {
		return err
	}
	plan.Progress = func(round int, c report.Cell) { tell(progress, round, o.rounds, c) }
	cells, stopped := plan.Measure(ctx)
	r := report.Report{Machine: machine(o.procs), Rounds: o.rounds, Cells: cells}
	r.Judge()
	fmt.Fprint(out, r.Text())
	if stopped != nil {
		return fmt.Errorf("stopped before the end, nothing is written: %w", stopped)
	}
	return cmp.Or(o.write(&r), failure(&r))
}

// plan gives the works and systems that were chosen.
func (o options) plan(ctx context.Context, dir string) (runner.Plan, error) {
	p := runner.Plan{Rounds: o.rounds, Limits: runner.Limits{Procs: o.procs, Within: o.within}}
	systems, err := runner.Build(ctx, dir)
	if err != nil {
		return p, err
	}
	if o.extra != "" {
		more, err := runner.Extra(ctx, o.extra)
		if err != nil {
			return p, err
		}
		systems = append(systems, more...)
	}
	p.Systems = slices.DeleteFunc(systems, func(s runner.System) bool { return !o.systems.MatchString(s.Name) })
	p.Works = slices.DeleteFunc(work.All(), func(w work.Work) bool { return !o.works.MatchString(w.Name) })
	if len(p.Systems) == 0 || len(p.Works) == 0 {
		return p, errors.New("-works and -systems leave nothing to measure")
	}
	return p, nil
}

func tell(out io.Writer, round, rounds int, c report.Cell) {
	result := "FAILED"
	if c.Error == "" {
		result = fmt.Sprintf("%.4g %s", c.Runs[len(c.Runs)-1].Value, c.Unit)
	}
	fmt.Fprintf(out, "round %d of %d  %-18s  %-12s  %s\n", round+1, rounds, c.Work, c.System, result)
}

// write writes the files that were asked for. A report with failures is no
// page to publish.
func (o options) write(r *report.Report) error {
	if o.json != "" {
		text, err := json.MarshalIndent(r, "", "\t")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.json, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	if o.page == "" || r.Failed() {
		return nil
	}
	if err := r.UpdatePage(o.page); err != nil {
		return err
	}
	folder := o.page[:len(o.page)-len(filepath.Ext(o.page))]
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return r.WriteChart(filepath.Join(folder, "bench"))
}

func failure(r *report.Report) error {
	if r.Failed() {
		return errors.New("some systems failed some works")
	}
	return nil
}

func machine(procs int) report.Machine {
	return report.Machine{
		CPU: fmt.Sprintf("%d × %s", runtime.NumCPU(), cpu()), GOMAXPROCS: procs,
		Go: runtime.Version(), Date: time.Now().UTC().Format(time.DateOnly),
	}
}

// cpu is the processor's name, where Linux tells it.
func cpu() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // elsewhere the architecture will do
	for line := range bytes.Lines(text) {
		if key, name, ok := bytes.Cut(line, []byte(":")); ok && string(bytes.TrimSpace(key)) == "model name" {
			return string(bytes.TrimSpace(name))
		}
	}
	return runtime.GOARCH
}
