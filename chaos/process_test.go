//go:build chaos && linux

package chaos

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/troupe-go/troupe/chaos/network"
	"github.com/troupe-go/troupe/chaos/record"
)

// binary is the command node, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if _, err := exec.LookPath("nft"); err != nil {
		fmt.Fprintln(os.Stderr, "nft cuts the links, and is not installed: use `make chaos`, which installs nftables, or `apt-get install nftables`")
		return 1
	}
	if err := network.Sweep(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "chaos")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "node")
	if out, err := exec.Command("go", "build", "-o", binary, "./node").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build node: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// process is one node.
type process struct {
	number int
	cmd    *exec.Cmd
	log    bytes.Buffer  // its stderr; read after exit
	exited chan struct{} // closed then
	killed bool

	tail   record.Tail
	events []record.Event // all that was read

	// The last event of a kind; zero until there is one.
	view, served, answered, ended record.Event
}

// start starts a node; it ends with the test at the latest.
func (r *rehearsal) start(number int, flags []string) {
	r.t.Helper()
	p := &process{number: number, exited: make(chan struct{}), tail: record.Tail{Path: filepath.Join(r.dir, fmt.Sprintf("node-%d.jsonl", number))}}
	args := append([]string{
		"netns", "exec", r.net.Namespace(number), binary,
		"-number", fmt.Sprint(number), "-record", p.tail.Path, "-listen", address(number),
	}, flags...)
	p.cmd = exec.Command("ip", args...) // ip becomes the node: one process
	p.cmd.Stderr = &p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // the outcome is in ProcessState
	}()
	r.nodes = append(r.nodes, p)
	r.t.Cleanup(func() { p.end(r.t) })
}

// end kills the process, and shows its log if the test has failed.
func (p *process) end(t *testing.T) {
	_ = p.cmd.Process.Kill() // in vain when it has exited
	<-p.exited
	if t.Failed() {
		t.Logf("node %d, %v:\n%s", p.number, p.cmd.ProcessState, &p.log)
	}
}

func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// read takes in what the node has written since.
func (p *process) read() error {
	events, err := p.tail.Next()
	for _, e := range events {
		switch e.Kind {
		case record.Viewed:
			p.view = e
		case record.Served:
			p.served = e
		case record.Answered:
			p.answered = e
		case record.Ended:
			p.ended = e
		default: // for people
		}
	}
	p.events = append(p.events, events...)
	return err
}
