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
	taskOf = "TROUPE_TEST_TASK" // "hold", "count", "write" or "divide"
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
		case "divide":
			err = divide(s, path+".shard")
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

// dads is the ring of these tests, and shards are those that are divided.
var (
	dads   = store.Ring{Cluster: "c", Type: "Dad"}
	shards = []string{"0", "1", "2", "3", "4", "5", "6", "7"}
)

// divide adds the epoch of each lock that it gets to the file of its shard, then
// gives the lock back: read, then written, so that two at once would lose one. What
// it has in the end it keeps, as one does that crashes.
func divide(s *Store, file string) error {
	ctx, seat := context.Background(), store.Seat{Runner: strconv.Itoa(os.Getpid())}
	token, err := s.Sit(ctx, dads, seat, time.Minute)
	if err != nil {
		return err
	}
	for n := range rounds {
		locks, err := s.Take(ctx, dads, seat.Runner, token, shards)
		if err != nil {
			return err
		}
		for _, l := range locks {
			old, err := os.ReadFile(file + l.Shard)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			if err := os.WriteFile(file+l.Shard, fmt.Appendln(old, l.Epoch.N), 0o600); err != nil {
				return err
			}
		}
		if n < rounds-1 {
			if err := s.Give(ctx, dads, seat.Runner, token, locks); err != nil {
				return err
			}
		}
	}
	return s.Keep(ctx, dads, seat, token, ttl)
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

// stop stops a process and waits until all of its threads have stopped.
func stop(t *testing.T, child *exec.Cmd) {
	t.Helper()
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(child.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the other process has status %v, %v; want it stopped", status, err)
	}
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
	stop(t, child)
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
	stop(t, child)
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

// TestProcessesDivideShards: no shard is locked by two processes at once, each lock
// has the next epoch, and what a process had when it crashed is free after its time.
func TestProcessesDivideShards(t *testing.T) {
	path := filepath.Join(folder(t), "divided.db")
	var all []*exec.Cmd
	for range 3 {
		cmd, _, _ := process(t, "divide", path)
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	heir := store.Seat{Runner: "heir"}
	token, err := s.Sit(t.Context(), dads, heir, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var locks []store.Lock
	for len(locks) < len(shards) {
		if locks, err = s.Take(t.Context(), dads, heir.Runner, token, shards); err != nil {
			t.Fatal(err)
		}
		seats, _, err := s.Table(t.Context(), dads)
		if err != nil {
			t.Fatal(err)
		}
		for _, seat := range seats {
			if seat.Runner != heir.Runner {
				<-time.After(seat.Left) // on a real clock: the other processes had no other
			}
		}
	}
	for _, l := range locks {
		text, err := os.ReadFile(path + ".shard" + l.Shard)
		if err != nil {
			t.Fatal(err)
		}
		epochs := strings.Fields(string(text))
		for i, n := range epochs {
			if n != strconv.Itoa(i+1) {
				t.Fatalf("shard %s was locked under the epochs %v; want them in order", l.Shard, epochs)
			}
		}
		if l.Epoch.N != uint64(len(epochs)+1) {
			t.Errorf("the heir has shard %s by epoch %v; want the one after %d", l.Shard, l.Epoch, len(epochs))
		}
	}
}
