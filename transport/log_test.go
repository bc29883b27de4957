package transport

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// lines are what was logged, of Info and above.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// having gives the lines with all parts.
func (l *lines) having(parts ...string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
next:
	for line := range strings.Lines(l.buf.String()) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue next
			}
		}
		found = append(found, line)
	}
	return found
}

// want checks how many lines have a part.
func (l *lines) want(t *testing.T, part string, n int) {
	t.Helper()
	if found := l.having(part); len(found) != n {
		t.Errorf("%d lines with %q, want %d:\n%s", len(found), part, n, strings.Join(found, ""))
	}
}
