package main

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
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
		`^#engineering · DadBot: I would tell you a UDP joke, .+$`,
		`^Repeated joke in #engineering!$`,
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
	if strings.Contains(stdout.String(), "Repeated joke in #random!") {
		t.Errorf("a Dad who has not moved repeats himself:\n%s", &stdout)
	}
}
