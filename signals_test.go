package troupe_test

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-go/troupe"
)

// TestMain runs the program of TestACT08SecondSignalForces when it is asked to.
func TestMain(m *testing.M) {
	if hang := os.Getenv("TROUPE_TEST_LEAVE"); hang != "" {
		os.Exit(program(hang == "hang"))
	}
	os.Exit(m.Run())
}

// program is a main function as a user writes it; a component of it may hang.
func program(hang bool) (status int) {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, stop := troupe.UntilSignal(context.Background(), log)
	defer stop()
	n, err := troupe.Start(ctx, troupe.Config{Log: log})
	if err != nil {
		return 1
	}
	err = n.OnLeave("database", func(ctx context.Context) error {
		if hang {
			<-ctx.Done()
		}
		return nil
	})
	if err = errors.Join(err, n.WhenUp(ctx)); err != nil {
		return 1
	}
	log.Info("up")
	<-ctx.Done()
	if n.Leave(context.Background()) != nil {
		return 1
	}
	return 0
}

// A process in which something hangs can be ended by a second signal, at once and
// with another status than success; without one, the first is enough.
func TestACT08SecondSignalForces(t *testing.T) {
	for _, tt := range []struct {
		program string
		status  int
	}{{"hang", troupe.ExitForced}, {"leave", 0}} {
		t.Run(tt.program, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // less than the plan of a leave
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0])
			cmd.Env = append(os.Environ(), "TROUPE_TEST_LEAVE="+tt.program)
			out, err := cmd.StderrPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			var log strings.Builder
			for lines := bufio.NewScanner(out); lines.Scan(); {
				log.WriteString(lines.Text() + "\n")
				switch line := lines.Text(); {
				case strings.Contains(line, "msg=up"), tt.program == "hang" && strings.Contains(line, `phase="hand over"`):
					if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
						t.Fatal(err)
					}
				}
			}
			err = cmd.Wait()
			if status := cmd.ProcessState.ExitCode(); status != tt.status {
				t.Errorf("the process exits with %d (%v), want %d; its log:\n%s", status, err, tt.status, &log)
			}
			if want := `waits for"=database`; tt.program == "hang" && !strings.Contains(log.String(), want) {
				t.Errorf("the log does not say %s:\n%s", want, &log)
			}
		})
	}
}
