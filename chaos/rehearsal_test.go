//go:build chaos && linux

package chaos

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-go/troupe/chaos/network"
	"github.com/troupe-go/troupe/chaos/record"
)

// port of the links, on every host.
const port = 25520

// times are what nodes run with.
type times string

const (
	quickTimes   times = "" // decide within about 8 s
	defaultTimes times = "default"
)

// flags of the command node.
func (t times) flags() []string {
	if t == defaultTimes {
		return nil
	}
	return strings.Fields("-heartbeat 500ms -acceptable-pause 2s -stable-after 3s -gossip 300ms -leader-actions 300ms -reaper 300ms -join-retry 300ms")
}

// patience is how long nodes may take on a busy machine until the outcome of a
// scenario is there; a check of outcomes, not of speed.
const patience = 150 * time.Second

// hold is how long an outcome must stay as it is.
const hold = 6 * time.Second

// pass lets time go by.
func pass(d time.Duration) { <-time.After(d) }

// rehearsal is a cluster of processes on a network of its own.
type rehearsal struct {
	t        *testing.T
	net      *network.Network
	dir      string
	nodes    []*process
	strategy string
}

// rehearse starts n nodes and waits until they are one cluster that serves.
func rehearse(t *testing.T, n int, strategy string, more ...string) *rehearsal {
	t.Helper()
	r := &rehearsal{t: t, dir: t.TempDir(), strategy: strategy}
	var err error
	if r.net, err = network.New(n, seedOf(t.Name())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.net.Close(); err != nil {
			t.Error(err)
		}
	})
	flags := append(r.flags(n), more...)
	for i := range n {
		r.start(i+1, flags)
	}
	all := r.alive()
	if len(all) < n {
		t.Fatalf("of %d nodes only %s have lived to be started", n, setOf(all))
	}
	r.eventually("all nodes are one cluster that serves, and each hosts an entity", func() error { return errors.Join(r.whole(all, 0), r.spread()) })
	return r
}

// flags that the nodes of one rehearsal share. Links are secured, but for one strategy.
func (r *rehearsal) flags(n int) []string {
	var seeds []string
	for i := range min(n, 3) {
		seeds = append(seeds, address(i+1))
	}
	flags := []string{"-seeds", strings.Join(seeds, ","), "-downing", r.strategy, "-min-members", fmt.Sprint(n)}
	if r.strategy != oldest {
		secret := filepath.Join(r.dir, "secret")
		if err := os.WriteFile(secret, []byte("a secret of a rehearsal, and no more\n"), 0o600); err != nil {
			r.t.Fatal(err)
		}
		flags = append(flags, "-secret-file", secret)
	}
	if r.strategy == lease {
		flags = append(flags, "-store", filepath.Join(r.dir, "store.db"))
	}
	return flags
}

func address(node int) string { return fmt.Sprintf("%s:%d", network.Address(node), port) }

// alive are the nodes whose processes have not exited.
func (r *rehearsal) alive() (nodes []int) {
	for _, p := range r.nodes {
		if !p.hasExited() {
			nodes = append(nodes, p.number)
		}
	}
	return nodes
}

// whole is an error unless each of the nodes holds exactly all of them for
// members, reaches them, and was answered by all entities since a time.
func (r *rehearsal) whole(nodes []int, since time.Duration) error {
	var want []string
	for _, n := range nodes {
		want = append(want, address(n))
	}
	slices.Sort(want)
	for _, n := range nodes {
		p := r.nodes[n-1]
		if err := p.read(); err != nil {
			return err
		}
		if p.hasExited() {
			return fmt.Errorf("node %d has exited", n)
		}
		if up := slices.Sorted(slices.Values(p.view.Up)); !slices.Equal(up, want) || len(p.view.Absent) > 0 {
			return fmt.Errorf("node %d sees %v, of which it cannot reach %v", n, up, p.view.Absent)
		}
		if p.served.Since <= since {
			return fmt.Errorf("not all entities have answered to node %d since %v, but since %v", n, since, p.served.Since)
		}
	}
	return nil
}

// spread is an error unless each node hosts an entity that was asked lately.
func (r *rehearsal) spread() error {
	for _, p := range r.nodes {
		if since := record.Now() - p.answered.At; since > 2*time.Second {
			return fmt.Errorf("no entity of node %d has answered for %v", p.number, since)
		}
	}
	return nil
}

// eventually waits until a condition gives no error any more.
func (r *rehearsal) eventually(what string, holds func() error) {
	r.t.Helper()
	if err := within(patience, holds); err != nil {
		r.t.Fatalf("after %v it is not so that %s: %v", patience, what, err)
	}
}

func within(limit time.Duration, holds func() error) error {
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(limit)
	for {
		err := holds()
		if err == nil {
			return nil
		}
		select {
		case <-look.C:
		case <-deadline:
			return err
		}
	}
}

// signal sends one to a node's process.
func (r *rehearsal) signal(node int, s syscall.Signal) error {
	p := r.nodes[node-1]
	p.killed = p.killed || s == syscall.SIGKILL
	return p.cmd.Process.Signal(s)
}

// flap parts and joins 12 and 345, so often.
func (r *rehearsal) flap(turns int, every time.Duration) error {
	for range turns {
		if err := r.net.Part([]int{1, 2}, []int{3, 4, 5}); err != nil {
			return err
		}
		pass(every)
		if err := r.net.Heal(); err != nil {
			return err
		}
		pass(every)
	}
	return nil
}

// events of all nodes.
func (r *rehearsal) events() (all []record.Event) {
	for _, p := range r.nodes {
		if err := p.read(); err != nil {
			r.t.Error(err)
		}
		all = append(all, p.events...)
	}
	return all
}

// seedOf gives each test its own randomness, the same each time.
func seedOf(name string) (seed uint64) {
	for _, b := range []byte(name) {
		seed = seed*31 + uint64(b)
	}
	return seed
}
