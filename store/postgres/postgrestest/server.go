// Package postgrestest runs a PostgreSQL server of a test's own.
package postgrestest

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
	"time"

	"github.com/jackc/pgx/v5"
)

// A Server is a private PostgreSQL in a temporary folder, reached by a socket
// there. Its processes are children of one thread, which runs nothing else: the
// kernel kills them when that thread ends, whatever happens to this process. All
// methods may be called from any goroutine, outside of synctest bubbles too.
type Server struct {
	dir    string
	as     *syscall.Credential // nil for the one who runs the test
	pid    int                 // 0 when it does not run
	exited chan struct{}       // closed when it has ended
	work   chan func() error
	done   chan error
}

// Start starts a server and waits until it answers. Without PostgreSQL on a machine
// with Debian's packages it is installed first, which may take a minute.
func Start() (*Server, error) {
	s := &Server{work: make(chan func() error), done: make(chan error)}
	go s.serve()
	if err := s.do(s.create); err != nil {
		return nil, errors.Join(fmt.Errorf("a PostgreSQL of our own: %w", err), s.Close())
	}
	return s, nil
}

// Close ends the server and leaves nothing behind.
func (s *Server) Close() error {
	err := s.do(s.remove)
	close(s.work)
	return err
}

// Restart ends the server as a crash does, and starts it again.
func (s *Server) Restart() error { return s.do(s.restart) }

// PID is the process id of the server, whose children serve one connection each.
func (s *Server) PID() int { return s.pid }

// URL names a database of the server.
func (s *Server) URL() string {
	return fmt.Sprintf("postgres:///postgres?host=%s&user=postgres", s.dir)
}

func (s *Server) serve() {
	runtime.LockOSThread()
	for f := range s.work {
		s.done <- f()
	}
}

// do runs f on the server's goroutine.
func (s *Server) do(f func() error) error {
	s.work <- f
	return <-s.done
}

func (s *Server) create() error {
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

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// lower has the server run as user postgres.
func (s *Server) lower() error {
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

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// start waits until the server answers. After a crash it refuses to start as
// long as processes of the one before are about to end.
func (s *Server) start() error {
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

func (s *Server) log() string { return filepath.Join(s.dir, "log") }

func (s *Server) launch() error {
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
func (s *Server) answers(ctx context.Context) (bool, error) {
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
		if conn, err := pgx.Connect(ctx, s.URL()); err == nil {
			return true, conn.Close(ctx)
		}
	}
}

// end sends the signal and waits for the end.
func (s *Server) end(sig syscall.Signal) error {
	if s.pid == 0 {
		return nil
	}
	err := syscall.Kill(s.pid, sig)
	<-s.exited
	s.pid = 0
	return err
}

// restart ends the server as a crash does.
func (s *Server) restart() error {
	if err := s.end(syscall.SIGKILL); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(s.data(), "postmaster.pid")); err != nil {
		return err
	}
	return s.start()
}

// remove leaves nothing behind. The server ends its own processes first.
func (s *Server) remove() error {
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
