package driver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// What the first process writes to the others, a line each.
const (
	askMallocs  = "mallocs"
	askProfile  = "profile" // and a file
	askProfiled = "profiled"
)

// Peer is another process of the same work. It ends with this one.
type Peer struct {
	Address string // what its function returned
	in      io.Writer
	lines   <-chan string // closed when it has ended
}

// Peer starts another process of this executable in a role of System.Peers and
// waits until it serves.
func (r *Run) Peer(role string, args ...string) (*Peer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, append([]string{"peer", role}, args...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start peer %s: %w", role, err)
	}
	lines := make(chan string)
	go func() { // lives as long as this process
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	p := &Peer{in: in, lines: lines}
	if p.Address, err = p.line(); err != nil {
		return nil, fmt.Errorf("start peer %s: %w", role, err)
	}
	r.peers = append(r.peers, p)
	return p, nil
}

func (p *Peer) line() (string, error) {
	select {
	case line, ok := <-p.lines:
		if !ok {
			return "", errors.New("it has ended")
		}
		return line, nil
	case <-time.After(within):
		return "", fmt.Errorf("it said nothing within %s", within)
	}
}

func (p *Peer) mallocs() (uint64, error) {
	if _, err := fmt.Fprintln(p.in, askMallocs); err != nil {
		return 0, fmt.Errorf("peer: %w", err)
	}
	line, err := p.line()
	if err != nil {
		return 0, fmt.Errorf("peer: count of allocations: %w", err)
	}
	return strconv.ParseUint(line, 10, 64)
}

// allMallocs counts the objects that all processes of the run have allocated.
func (r *Run) allMallocs() (uint64, error) {
	sum := mallocs()
	for _, p := range r.peers {
		n, err := p.mallocs()
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}
