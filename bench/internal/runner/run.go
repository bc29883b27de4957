package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-go/troupe/bench/work"
)

const (
	listWithin = 10 * time.Second
	endWithin  = 2 * time.Second // what a run's further processes have after its end
	keptErrors = 2000            // bytes of what a failed run printed
)

// Limits of one run.
type Limits struct {
	Procs  int           // GOMAXPROCS of each of its processes
	Within time.Duration // then it is killed
}

// Run does one work once in a process of its own; n is the number of
// operations, 0 for that of the work. The error tells what the system printed.
func (s System) Run(ctx context.Context, w work.Work, n int, l Limits) (work.Result, error) {
	limited, cancel := context.WithTimeout(ctx, l.Within)
	defer cancel()
	args := []string{"run", w.Name}
	if n > 0 {
		args = append(args, "-n", strconv.Itoa(n))
	}
	cmd := exec.CommandContext(limited, s.path, args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(l.Procs))
	cmd.WaitDelay = endWithin
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	var r work.Result
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case limited.Err() != nil:
		return r, fmt.Errorf("not done within %s%s", l.Within, said(&problems))
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // that: a further process still holds the pipe
		return r, fmt.Errorf("%w%s", err, said(&problems))
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return r, fmt.Errorf("it printed %q, not one JSON object: %w", out.String(), err)
	}
	return r, r.Check(w)
}

// said is the end of what a failed run wrote to its standard error.
func said(b *bytes.Buffer) string {
	text := strings.TrimSpace(b.String())
	if text == "" {
		return ""
	}
	return ":\n" + text[max(0, len(text)-keptErrors):]
}
