package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-go/troupe/store"
)

// The tests here run the test binary once more as another process, with what to
// do in these variables.
const (
	fileOf = "TROUPE_TEST_FILE" // which file to open; unset in the test itself
	taskOf = "TROUPE_TEST_TASK" // "hold", "count" or "write"
)

func TestMain(m *testing.M) {
	path, other := os.LookupEnv(fileOf)
	if !other {
		os.Exit(m.Run())
	}
	s, err := Open(context.Background(), Config{Path: path})
	if err == nil {
		switch os.Getenv(taskOf) {
		case "hold":
			err = hold(s)
		case "count":
			err = count(s, path+".count")
		case "write":
			err = write(s)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// ttl is short, since these tests wait for it on a real clock.
const ttl = time.Second

// hold holds a lease and says so, each time that it is asked.
func hold(s *Store) error {
	lost := make(chan error, 1)
	l, err := store.NewLease(s, store.LeaseConfig{Name: "lease", Owner: "child", TTL: ttl, Lost: func(err error) { lost <- err }})
	if err != nil {
		return err
	}
	token, err := l.Acquire(context.Background())
	if err != nil {
		return err
	}
	fmt.Println("held", token)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		token, held := l.Held() // before anything else in this process has run
		fmt.Println(token, held)
		if !held {
			fmt.Println(<-lost)
		}
	}
	return nil
}

// rounds are how often each process counts.
const rounds = 50

// count adds to the number in a file, under a lease: read, then written, so that
// two at once would lose a number. It writes the tokens, too.
func count(s *Store, file string) error {
	owner := strconv.Itoa(os.Getpid())
	for n := 0; n < rounds; {
		h, err := s.Acquire(context.Background(), "lease", owner, time.Minute)
		if errors.Is(err, store.ErrHeld) {
			continue
		}
		if err != nil {
			return err
		}
		old, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := os.WriteFile(file, fmt.Appendln(old, h.Token), 0o600); err != nil {
			return err
		}
		if err := s.Release(context.Background(), "lease", owner, h.Token); err != nil {
			return err
		}
		n++
	}
	return nil
}

// tenure is the n-th ownership of the shard of these tests.
func tenure(n uint64) store.Tenure {
	return store.Tenure{Shard: store.Shard{Cluster: "c", Type: "Dad", ID: "7"}, Epoch: store.Epoch{Term: 1, N: n}}
}

// write claims a shard, and writes to it each time that it is asked.
func write(s *Store) error {
	ctx, as := context.Background(), tenure(1)
	if err := s.Claim(ctx, as); err != nil {
		return err
	}
	fmt.Println("claimed")
	var at store.Revision
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		next, err := s.Put(ctx, as, "key", at, in.Bytes())
		fmt.Println(next, err)
		at = next
	}
	return nil
}

// process starts the test binary once more.
func process(t *testing.T, task, path string) (*exec.Cmd, io.Writer, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self) // which ends it at the latest
	cmd.Env = append(os.Environ(), fileOf+"="+path, taskOf+"="+task)
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	return cmd, in, bufio.NewScanner(out)
}

func TestProcessesExcludeEachOther(t *testing.T) {
	path := filepath.Join(folder(t), "processes.db")
	const processes = 3
	var all []*exec.Cmd
	for range processes {
		cmd, _, _ := process(t, "count", path)
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(path + ".count")
	if err != nil {
		t.Fatal(err)
	}
	tokens := strings.Fields(string(text))
	if len(tokens) != processes*rounds {
		t.Errorf("%d processes counted to %d; want %d times each", processes, len(tokens), rounds)
	}
	for i, token := range tokens {
		if token != strconv.Itoa(i+1) {
			t.Fatalf("token %d of %d is %s; want them in order: %v", i+1, len(tokens), token, tokens)
		}
	}
}

// TestDWN03PausedProcess: the lease of a stopped process is free after its ttl,
// and the first thing that it sees on going on is that it holds nothing.
func TestDWN03PausedProcess(t *testing.T) {
	path := filepath.Join(folder(t), "paused.db")
	child, in, out := process(t, "hold", path)
	if !out.Scan() || out.Text() != "held 1" {
		t.Fatalf("the other process says %q; want that it holds token 1", out.Text())
	}
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for {
		h, err := s.Acquire(t.Context(), "lease", "heir", time.Hour)
		if err == nil {
			if h.Token != 2 {
				t.Errorf("the heir has token %d; want 2", h.Token)
			}
			break
		}
		var held *store.HeldError
		if !errors.As(err, &held) || held.For > ttl {
			t.Fatalf("Acquire = %v; want it held for at most %v", err, ttl)
		}
		<-time.After(held.For) // on a real clock: the other process has no other
	}
	if _, err := fmt.Fprintln(in, "do you hold it?"); err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if !out.Scan() || out.Text() != "0 false" {
		t.Errorf("the woken process says %q; want that it holds nothing", out.Text())
	}
	if !out.Scan() || !strings.HasPrefix(out.Text(), string(store.ErrLeaseLost)) {
		t.Errorf("the woken process heard %q; want %q", out.Text(), store.ErrLeaseLost)
	}
	if err := child.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = child.Wait() // "signal: killed"
}

// TestDWN03PausedWriter: the first write of a process that was stopped is refused
// by the file, since another process has claimed the shard meanwhile.
func TestDWN03PausedWriter(t *testing.T) {
	path := filepath.Join(folder(t), "writer.db")
	child, in, out := process(t, "write", path)
	says := func(want string) {
		t.Helper()
		if !out.Scan() || out.Text() != want {
			t.Errorf("the other process says %q; want %q", out.Text(), want)
		}
	}
	ask := func(value string) {
		t.Helper()
		if _, err := fmt.Fprintln(in, value); err != nil {
			t.Fatal(err)
		}
	}
	says("claimed")
	ask("one")
	says("1 <nil>")
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ask("of the woken one")
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Claim(t.Context(), tenure(2)); err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	says("0 store: stale epoch: shard c/Dad/7 is owned under epoch 1.2 now, not 1.1: the owner of then must stop")
	if e, err := s.Get(t.Context(), tenure(2).Shard, "key"); err != nil || string(e.Value) != "one" || e.Epoch != tenure(1).Epoch {
		t.Errorf("Get = %+v, %v; want what was written before the pause", e, err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = child.Wait() // "signal: killed"
}

// TestKilledProcess: a crash in the middle of its work costs a process its
// lease after the ttl, and nobody the file.
func TestKilledProcess(t *testing.T) {
	path := filepath.Join(folder(t), "killed.db")
	child, _, out := process(t, "hold", path)
	if !out.Scan() || out.Text() != "held 1" {
		t.Fatalf("the other process says %q; want that it holds token 1", out.Text())
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // "signal: killed"
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if h, err := s.Holder(t.Context(), "lease"); err != nil || h.Token != 1 {
		t.Errorf("Holder after a crash = %+v, %v; want token 1", h, err)
	}
}
