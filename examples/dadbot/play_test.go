package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// TestThePlay runs the command as a newcomer would, with its output piped.
func TestThePlay(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(binary)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("dadbot: %v\n%s%s", err, &stdout, &stderr)
	}
	// What must be there, in this order; other lines may be between.
	next := []string{
		`^Dad for #engineering has entered the chat on node-0$`,
		`^#engineering → shard 320 → node-0$`,
		`^#engineering · \w+: .+  \(via node-1\)$`,
		`^#engineering · \w+: .+  \(via node-2\)$`,
		`^#random → shard 878 → node-[12]$`,
		`^#engineering · DadBot: I would tell you a UDP joke, .+$`,
		`^--- node-0 leaves the cluster ---$`,
		`^Dad for #engineering has entered the chat on node-[12]$`,
		`^#engineering → shard 320 → node-[12]$`,
		`^#engineering · DadBot: I would tell you a TCP joke, .+$`,
		`^node-1 has left$`,
		`^node-2 has left$`,
	}
	stamp := regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d\d\d  `)
	for line := range strings.Lines(stdout.String()) {
		clock := stamp.FindString(line)
		if clock == "" || strings.Contains(line, "\x1b") {
			t.Errorf("a line without a time, or with colours: %q", line)
		}
		text := strings.TrimSuffix(strings.TrimPrefix(line, clock), "\n")
		if len(next) > 0 && regexp.MustCompile(next[0]).MatchString(text) {
			next = next[1:]
		}
	}
	if len(next) > 0 {
		t.Errorf("no line is, in its place, %s:\n%s", next[0], &stdout)
	}
	if strings.Contains(stdout.String(), "Repeated joke") {
		t.Errorf("a joke is told twice in a chat:\n%s", &stdout)
	}
}

// TestAnInterruptedPlayEndsAtOnce interrupts before the first message: no node
// takes leave of the others, and the reason is said once.
func TestAnInterruptedPlayEndsAtOnce(t *testing.T) {
	t.Parallel()
	p := &process{name: "the play", exited: make(chan struct{})}
	var stdout watched
	p.stdout = &stdout
	p.start(t)
	eventually(t, "the play has begun", func() error { return stdout.has("node-0 is up") })
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.wantExit(t, exitFailure)
	if got, want := p.log.String(), "dadbot: the play was interrupted: interrupt signal received\n"; !strings.HasSuffix(got, want) {
		t.Errorf("it says %q, want %q last", got, want)
	}
	if stdout.has("has left") == nil {
		t.Errorf("it takes its time to leave:\n%s", &stdout.b)
	}
}

// watched is an output that is read while it grows.
type watched struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

// has is an error until the output has a text.
func (w *watched) has(text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !strings.Contains(w.b.String(), text) {
		return fmt.Errorf("it has written %q", w.b.String())
	}
	return nil
}
