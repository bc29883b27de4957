package troupe

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// progress is how far a node's end has come: the phase that runs, and the tasks
// that it waits for. The zero value is a node that does not end.
type progress struct {
	mu           sync.Mutex
	phase        string // empty: none runs
	since, until time.Time
	tasks        []string // in the order of their start
}

// begin ends the phase that runs, if one does, and begins the next, with its tasks.
func (p *progress) begin(phase string, within time.Duration, tasks ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since = time.Now()
	p.phase, p.until, p.tasks = phase, p.since.Add(within), slices.Clone(tasks)
}

// done takes a task off the list of a phase. One that was left behind may be done
// when its phase is over.
func (p *progress) done(phase, task string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.tasks, task); i >= 0 && p.phase == phase {
		p.tasks = slices.Delete(p.tasks, i, i+1)
	}
}

// state tells which phase runs, since when, until when, and what it waits for.
func (p *progress) state() (phase string, since, until time.Time, tasks []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.phase, p.since, p.until, slices.Clone(p.tasks)
}

// waits tells what a node that ends waits for.
func (p *progress) waits() []Wait {
	phase, since, until, tasks := p.state()
	if phase == "" {
		return nil
	}
	why := "this node ends; phase: " + phase
	if len(tasks) > 0 {
		why += ", waiting for " + strings.Join(tasks, ", ")
	}
	return []Wait{{What: member.WaitLeave, Why: why, Since: since, Until: until}}
}

// progressEvery is how often a phase that goes on is named in the log.
const progressEvery = 5 * time.Second

// watch names, until stop is closed, the phase that goes on and what it waits for.
func (p *progress) watch(log *slog.Logger, stop <-chan struct{}) {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			phase, since, until, tasks := p.state()
			log.Warn("this node is still ending", slog.String("phase", phase), slog.String("waits for", strings.Join(tasks, ", ")),
				slog.Duration("for", time.Since(since)), slog.Duration("limit", until.Sub(since)))
		}
	}
}

// An OverdueError names what did not end in time when a node ended, so that it
// went on without it. It may still be running.
type OverdueError struct {
	Phase string
	Tasks []string      // what it waited for; empty: the phase as a whole
	After time.Duration // how long the phase had
	Cause error         // what the task said; nil when it said nothing
}

func (e *OverdueError) Error() string {
	text := fmt.Sprintf("%s: not done within %v", e.Phase, e.After)
	if len(e.Tasks) > 0 {
		text += ": " + strings.Join(e.Tasks, ", ")
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap gives the cause.
func (e *OverdueError) Unwrap() error { return e.Cause }
