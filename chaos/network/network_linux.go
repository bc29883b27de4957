package network

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// prefix begins the names of namespaces, which are prefix, process, network, host.
const prefix = "troupe-chaos-"

// made counts the networks of this process, so that several can be up at once.
var made atomic.Int32

// Network is up from New to Close.
type Network struct {
	hosts   []*host
	routers sync.WaitGroup
	late    sync.WaitGroup // packets under way
	waiting atomic.Int64   // their number
	lost    atomic.Int64   // packets that met a full router or interface

	mu     sync.Mutex
	random *rand.Rand
	links  map[[2]int]Link // by from and to
	closed bool
}

// host is a namespace and the router's end of its interface.
type host struct {
	namespace string
	tun       *os.File
}

// New makes a network of so many hosts, whose links carry all packets as they
// are. It needs root and ip.
func New(hosts int, seed uint64) (_ *Network, err error) {
	if hosts < 1 || hosts > 250 {
		return nil, fmt.Errorf("a network of %d hosts: use 1 to 250", hosts)
	}
	if os.Geteuid() != 0 {
		return nil, errors.New("network namespaces and TUN interfaces need root: run this as root")
	}
	n := &Network{random: rand.New(rand.NewPCG(seed, seed)), links: make(map[[2]int]Link)}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	number := made.Add(1)
	for i := range hosts {
		h := &host{namespace: fmt.Sprintf("%s%d-%d-%d", prefix, os.Getpid(), number, i+1)}
		n.hosts = append(n.hosts, h)
		if err := h.up(Address(i + 1)); err != nil {
			return n, err
		}
	}
	for i, h := range n.hosts {
		n.routers.Go(func() { n.carry(i+1, h.tun) })
	}
	return n, nil
}

// Address of a host.
func Address(host int) string { return fmt.Sprintf("10.77.0.%d", host) }

// Namespace is the name of a host's: `ip netns exec NAME` runs a command on the host.
func (n *Network) Namespace(host int) string { return n.hosts[host-1].namespace }

// Overflowed is how many packets were lost because too many were under way.
func (n *Network) Overflowed() int64 { return n.lost.Load() }

// Set sets what happens to packets between all pairs of hosts, in both directions.
func (n *Network) Set(l Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for from := range len(n.hosts) {
		for to := range len(n.hosts) {
			n.links[[2]int{from + 1, to + 1}] = l
		}
	}
}

// Close removes all namespaces. Processes in them should have ended.
func (n *Network) Close() error {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	var problems []error
	for _, h := range n.hosts {
		problems = append(problems, h.down())
	}
	n.routers.Wait()
	n.late.Wait()
	return errors.Join(problems...)
}

func (h *host) up(address string) (err error) {
	if err := ip("netns", "add", h.namespace); err != nil {
		return err
	}
	if h.tun, err = openTUN(h.namespace, "t0"); err != nil {
		return fmt.Errorf("a TUN interface in %s: %w", h.namespace, err)
	}
	for _, args := range [][]string{
		{"addr", "add", address + "/24", "dev", "t0"},
		{"link", "set", "t0", "up"},
		{"link", "set", "lo", "up"},
	} {
		if err := ip(append([]string{"-n", h.namespace}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

func (h *host) down() error {
	var problems []error
	if h.tun != nil {
		problems = append(problems, h.tun.Close())
	}
	return errors.Join(append(problems, ip("netns", "del", h.namespace))...)
}

// maxWaiting is how many packets may be under way in all: at 1,500 bytes, 24 MB.
const maxWaiting = 16 << 10

// carry reads what a host sends until its interface is closed.
func (n *Network) carry(from int, tun *os.File) {
	buf := make([]byte, 64<<10)
	for {
		k, err := tun.Read(buf)
		if err != nil {
			return
		}
		source, to, ok := route(buf[:k], len(n.hosts))
		if !ok || source != from {
			continue
		}
		for _, after := range n.fate(from, to) {
			if after == 0 {
				n.deliver(to, buf[:k])
				continue
			}
			if n.waiting.Add(1) > maxWaiting {
				n.waiting.Add(-1)
				n.lost.Add(1)
				continue
			}
			packet := append([]byte(nil), buf[:k]...)
			n.late.Add(1)
			time.AfterFunc(after, func() {
				defer n.late.Done()
				n.waiting.Add(-1)
				n.deliver(to, packet)
			})
		}
	}
}

func (n *Network) fate(from, to int) []time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil
	}
	return n.links[[2]int{from, to}].fate(n.random)
}

func (n *Network) deliver(to int, packet []byte) {
	if _, err := n.hosts[to-1].tun.Write(packet); err != nil && !errors.Is(err, os.ErrClosed) {
		n.lost.Add(1)
	}
}

// Sweep removes the namespaces of processes that are gone, which were killed
// before they could do it. It is called once, before New.
func Sweep() error {
	out, err := exec.Command("ip", "netns", "list").Output()
	if err != nil {
		return fmt.Errorf("ip netns list: %w: install iproute2", err)
	}
	var problems []error
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest, ours := strings.CutPrefix(name, prefix)
		process, _, _ := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(process)
		if !ours || err != nil || unix.Kill(pid, 0) == nil {
			continue
		}
		problems = append(problems, ip("netns", "del", name))
	}
	return errors.Join(problems...)
}

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}
