package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A server is a private PostgreSQL in a temporary folder, reached by a socket
// there. It is run by one goroutine outside all synctest bubbles, on one
// thread: the kernel kills the server when that thread ends, whatever happens.
type server struct {
	dir    string
	as     *syscall.Credential // nil for the one who runs the test
	pid    int                 // 0 when it does not run
	exited chan struct{}       // closed when it has ended
	work   chan func() error
	done   chan error
}

var shared *server // of all tests, and set once, by TestMain

func TestMain(m *testing.M) {
	os.Exit(withServer(m.Run))
}

func withServer(run func() int) int {
	s := &server{work: make(chan func() error), done: make(chan error)}
	go s.serve()
	defer close(s.work)
	defer func() {
		if err := s.do(s.remove); err != nil {
			fmt.Fprintln(os.Stderr, "remove the PostgreSQL of our own:", err)
		}
	}()
	if err := s.do(s.create); err != nil {
		fmt.Fprintln(os.Stderr, "a PostgreSQL of our own:", err)
		return 1
	}
	shared = s
	return run()
}

func (s *server) serve() {
	runtime.LockOSThread()
	for f := range s.work {
		s.done <- f()
	}
}

// do runs f on the server's goroutine.
func (s *server) do(f func() error) error {
	s.work <- f
	return <-s.done
}

// url names a database of the server.
func (s *server) url() string {
	return fmt.Sprintf("postgres:///postgres?host=%s&user=postgres", s.dir)
}

func (s *server) create() error {
	initdb, err := program("initdb")
	if err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "pg"); err != nil { // short: sockets have paths of at most 107 bytes
		return err
	}
	if os.Getuid() == 0 { // as whom PostgreSQL does not run
		if err := s.lower(); err != nil {
			return err
		}
	}
	cmd := s.command(initdb, "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s.start()
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

// lower has the server run as user postgres.
func (s *server) lower() error {
	u, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(s.dir, int(uid), int(gid))
}

func (s *server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// start waits until the server answers. After a crash it refuses to start as
// long as processes of the one before are about to end.
func (s *server) start() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		if err := s.launch(); err != nil {
			return err
		}
		up, err := s.answers(ctx)
		if err != nil {
			text, _ := os.ReadFile(s.log())
			return fmt.Errorf("%w\n%s", err, text)
		}
		if up {
			return nil
		}
	}
}

func (s *server) log() string { return filepath.Join(s.dir, "log") }

func (s *server) launch() error {
	postgres, err := program("postgres")
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := s.command(postgres, "-D", s.data(), "-k", s.dir, "-F",
		"-c", "listen_addresses=", "-c", "max_connections=50", "-c", "shared_buffers=32MB", "-c", "autovacuum=off",
		"-c", "dynamic_shared_memory_type=mmap") // in the folder, where a crash leaves nothing behind
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	s.pid, s.exited = cmd.Process.Pid, make(chan struct{})
	go func(exited chan struct{}) {
		defer close(exited)
		_ = cmd.Wait() // "signal: killed"
	}(s.exited)
	return nil
}

// answers waits until the server answers, or has ended.
func (s *server) answers(ctx context.Context) (bool, error) {
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case <-s.exited:
			s.pid = 0
			return false, nil
		case <-ctx.Done():
			return false, fmt.Errorf("the server does not answer: %w", ctx.Err())
		case <-poll.C:
		}
		if conn, err := pgx.Connect(ctx, s.url()); err == nil {
			return true, conn.Close(ctx)
		}
	}
}

// end sends the signal and waits for the end.
func (s *server) end(sig syscall.Signal) error {
	if s.pid == 0 {
		return nil
	}
	err := syscall.Kill(s.pid, sig)
	<-s.exited
	s.pid = 0
	return err
}

// restart ends the server as a crash does.
func (s *server) restart() error {
	if err := s.end(syscall.SIGKILL); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(s.data(), "postmaster.pid")); err != nil {
		return err
	}
	return s.start()
}

// remove leaves nothing behind. The server ends its own processes first.
func (s *server) remove() error {
	return errors.Join(s.end(syscall.SIGQUIT), os.RemoveAll(s.dir))
}

// program finds a program of PostgreSQL's server, and installs it on machines
// with Debian's packages when it is missing.
func program(name string) (string, error) {
	if at, err := find(name); err == nil {
		return at, nil
	}
	const install = `set -e
mkdir -p /etc/postgresql-common
echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends -o Dpkg::Options::=--force-confold postgresql-15`
	if out, err := exec.Command("sh", "-c", install).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s is missing, and apt-get cannot install postgresql-15: %w\n%s", name, err, out)
	}
	return find(name)
}

func find(name string) (string, error) {
	if at, err := exec.LookPath(name); err == nil {
		return at, nil
	}
	all, err := filepath.Glob(filepath.Join("/usr/lib/postgresql", "*", "bin", name))
	if err != nil || len(all) == 0 {
		return "", fmt.Errorf("no %s of PostgreSQL on this machine", name)
	}
	return slices.Max(all), nil
}
