package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// starting is a node that runs in this process, by a file of settings.
type starting struct {
	path      string
	addresses map[string]string // by flag
}

func newStarting(t *testing.T) *starting {
	t.Helper()
	ports := freePorts(t, 3)
	s := &starting{filepath.Join(t.TempDir(), "node.yaml"), map[string]string{"http": ports[0], "manage": ports[1], "listen": ports[2]}}
	text := fmt.Sprintf("addresses:\n  http: %s\n  manage: %s\n  listen: %s\ncluster:\n  seeds: %s\n", ports[0], ports[1], ports[2], ports[2])
	if err := os.WriteFile(s.path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *starting) run(ctx context.Context, more ...string) (code int, stderr string) {
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"node", "9", "-config", s.path}, more...), &out, &errs)
	return code, errs.String()
}

// wantStarts runs the node until it answers and then ends it.
func (s *starting) wantStarts(t *testing.T, more ...string) (stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code, ended := 0, make(chan struct{})
	go func() {
		defer close(ended)
		code, stderr = s.run(ctx, more...)
	}()
	eventually(t, "the node serves", func() error { return answersAt("http://" + s.addresses["manage"] + "/alive") })
	cancel()
	<-ended
	if code != exitOK {
		t.Errorf("the node ends with %d and says\n%s", code, stderr)
	}
	return stderr
}

func answersAt(url string) error {
	_, _, err := get(url)
	return err
}

// TestOPS03TakenPort occupies each port of a node in turn. The start says which
// address of which setting it is, and leaves nothing open; the next one succeeds.
func TestOPS03TakenPort(t *testing.T) {
	t.Parallel()
	for line, name := range []string{2: "http", 3: "manage", 4: "listen"} {
		if name == "" {
			continue
		}
		s := newStarting(t)
		taken, err := net.Listen("tcp", s.addresses[name])
		if err != nil {
			t.Fatal(err)
		}
		code, got := s.run(t.Context())
		want := fmt.Sprintf("dadbot: -%s %s: address already in use: another node may be running; stop it, or use another port (%s is from %s:%d)\n", name, s.addresses[name], name, s.path, line)
		if code != exitFailure || !strings.HasSuffix(got, want) {
			t.Errorf("with -%s taken: exit %d and %q, want %d and %q last", name, code, got, exitFailure, want)
		}
		taken.Close()
		for other, address := range s.addresses {
			l, err := net.Listen("tcp", address)
			if err != nil {
				t.Errorf("with -%s taken, the start leaves -%s open: %v", name, other, err)
				continue
			}
			l.Close()
		}
		s.wantStarts(t)
	}
}

// TestABadSettingIsNotBlamedOnTheAddress has the cluster refuse what no flag checks.
func TestABadSettingIsNotBlamedOnTheAddress(t *testing.T) {
	t.Parallel()
	s := newStarting(t)
	for _, tt := range []struct{ flag, value, want string }{
		{"-isolation", "1ns", "dadbot: start node: invalid configuration: Times: Isolation is 1ns: use at least 100ms\n"},
		{"-shards", "10000000", "dadbot: join type \"Dad\": invalid declaration: Shards is 10000000: use 1 to 1048576\n"},
	} {
		if code, got := s.run(t.Context(), tt.flag, tt.value); code != exitFailure || !strings.HasSuffix(got, tt.want) {
			t.Errorf("%s %s: exit %d and %q, want %d and %q last", tt.flag, tt.value, code, got, exitFailure, tt.want)
		}
	}
}

// TestOPS02LenientNodeStarts has a node warn of a misspelt setting, and start.
func TestOPS02LenientNodeStarts(t *testing.T) {
	t.Parallel()
	s := newStarting(t)
	f, err := os.OpenFile(s.path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("split-brian-resolver:\n  downing: keep-oldest\n")
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if code, got := s.run(t.Context()); code != exitUsage || !strings.Contains(got, "node.yaml:7: split-brian-resolver is no section: did you mean split-brain-resolver?") {
		t.Errorf("strictly: exit %d and %q, want %d and the line", code, got, exitUsage)
	}
	if got := s.wantStarts(t, "-config-lenient"); !strings.Contains(got, "a setting is ignored") || !strings.Contains(got, "did you mean split-brain-resolver?") {
		t.Errorf("with -config-lenient it says\n%s\nwant a warning", got)
	}
}

// TestOPS02NodesShareAFile starts real nodes by one file: what differs between them
// comes from their numbers and flags.
func TestOPS02NodesShareAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dads.yaml")
	if err := os.WriteFile(path, []byte("cluster:\n  cluster: dads\ndad:\n  style: loop\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	nodes := startCluster(t, 2, "-config", path)
	_, body, err := get(nodes[0].manage + "/cluster/members")
	if err != nil || strings.Count(body, `"node":"troupe://dads@`) != 2 {
		t.Errorf("the members are %s, %v; want two of the cluster dads", body, err)
	}
	for _, p := range nodes {
		p.leave(t)
	}
}
