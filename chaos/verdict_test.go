//go:build chaos && linux

package chaos

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/troupe-go/troupe/chaos/record"
)

// verdict is what came of a scenario under a strategy.
type verdict struct {
	scenario, strategy string
	want               outcomes
	left               set
	decided            time.Duration // from the fault to the last exit; 0 if all are left
	silent             time.Duration // the longest time in which nobody answered for an entity
	overlap            time.Duration // in which two nodes did, in all
	problems           []string
}

func (v *verdict) problem(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

// judge lets a scenario happen, and waits for its outcome and that it stays.
func (r *rehearsal) judge(sc scenario) verdict {
	v := verdict{scenario: sc.name, strategy: r.strategy, want: sc.left(r.strategy)}
	began := record.Now()
	if err := sc.do(r); err != nil {
		v.problem("%v", err)
		return v
	}
	healed := record.Now()
	settled := func() error { return r.settled(v.want, healed) }
	if err := within(patience, settled); err != nil {
		v.problem("after %v: %v", patience, err)
	} else {
		before := setOf(r.alive())
		pass(max(hold, sc.watch))
		if after := setOf(r.alive()); after != before {
			v.problem("%s were left at first, and %s in the end", before, after)
		}
		healed = record.Now()
		if err := within(patience, settled); err != nil {
			v.problem("%v later: %v", patience, err)
		}
	}
	v.left = setOf(r.alive())
	r.account(&v, began)
	return v
}

// settled is an error until the survivors are an outcome, and whole.
func (r *rehearsal) settled(want outcomes, since time.Duration) error {
	alive := r.alive()
	if s := setOf(alive); !want.allow(s) {
		return fmt.Errorf("%s are left, want %s", s, want)
	}
	return r.whole(alive, since)
}

// account reads the records of all.
func (r *rehearsal) account(v *verdict, began time.Duration) {
	events := r.events()
	for _, o := range record.Overlaps(events) {
		v.overlap += o.For
		v.problem("%v", o)
	}
	v.silent = record.Gap(events, began)
	for _, p := range r.nodes {
		if !p.hasExited() {
			continue
		}
		if p.ended.At > began {
			v.decided = max(v.decided, p.ended.At-began)
		}
		if code := p.cmd.ProcessState.ExitCode(); code != 1 && !p.killed {
			v.problem("node %d exited with %d, want 1", p.number, code)
		}
	}
	if n := r.net.Overflowed(); n > 0 {
		v.problem("the router was overrun and lost %d packets", n)
	}
}

// write is the table of verdicts.
func write(w io.Writer, all []verdict) {
	fmt.Fprintln(w, "| scenario | strategy | must survive | survived | last exit after | longest silence | overlap | verdict |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	for _, v := range all {
		says := "holds"
		if len(v.problems) > 0 {
			says = "**broken**"
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %d ms | %s |\n", cell(v.scenario), v.strategy,
			strings.NewReplacer("|", " or ", "of ", "some of ").Replace(string(v.want)), v.left, seconds(v.decided), seconds(v.silent), v.overlap.Milliseconds(), says)
	}
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func seconds(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
