package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// binary is the command under test, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	lastPort.Store(20000 + rand.Int32N(8000))
	dir, err := os.MkdirTemp("", "dadbot")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "dadbot")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build dadbot: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// quick are times for processes on one machine: every node hears of a silent
// one within about a second, and waits 1.5 s, twice, until its Dads live elsewhere.
var quick = strings.Fields("-initial-delay 200ms -gossip 200ms -leader-actions 200ms -reaper 200ms -join-retry 200ms -seed-timeout 2s " +
	"-heartbeat 200ms -acceptable-pause 1s -stable-after 1500ms -quiet 300ms -think 200ms")

// process is one real node, in one of its lives.
type process struct {
	name         string
	life         int       // from 0, when it is started again
	listen       string    // address of its links
	http, manage string    // URLs
	audit        string    // file
	stdout       io.Writer // nil for nowhere
	args         []string
	cmd          *exec.Cmd
	log          bytes.Buffer  // its stderr; read after exit
	exited       chan struct{} // closed then
}

// newProcess is node i with three ports of its own, before it is started.
func newProcess(i int, dir string, ports []string) *process {
	p := &process{
		name: fmt.Sprintf("node-%d", i), listen: ports[0], http: "http://" + ports[1], manage: "http://" + ports[2],
		audit: filepath.Join(dir, fmt.Sprintf("node-%d.jsonl", i)), exited: make(chan struct{}),
	}
	p.args = []string{"node", fmt.Sprint(i), "-listen", ports[0], "-http", ports[1], "-manage", ports[2], "-audit", p.audit}
	return p
}

// label tells the lives of one node apart.
func (p *process) label() string {
	if p.life == 0 {
		return p.name
	}
	return fmt.Sprintf("%s.%d", p.name, p.life)
}

// startCluster starts n nodes with quick times; see startNodes.
func startCluster(t *testing.T, n int, flags ...string) []*process {
	t.Helper()
	return startNodes(t, n, slices.Concat(quick, flags)...)
}

// startNodes starts n nodes on free ports, which find each other by seeds unless a
// flag names a store, and waits until all are ready and see each other.
func startNodes(t *testing.T, n int, flags ...string) []*process {
	t.Helper()
	dir := t.TempDir()
	ports := freePorts(t, 3*n)
	seeds := ports[0]
	if n > 1 {
		seeds += "," + ports[3]
	}
	nodes := make([]*process, n)
	for i := range nodes {
		nodes[i] = newProcess(i, dir, ports[3*i:])
		nodes[i].start(t, withSeeds(flags, seeds)...)
	}
	for _, p := range nodes {
		eventually(t, p.name+" is ready and sees all", func() error { return p.sees(n) })
	}
	return nodes
}

// lastPort is the port that was given out last. Those below 32768 are not taken by
// connections that others make, so what is free now is free when a node binds it.
var lastPort atomic.Int32

func freePorts(t *testing.T, n int) []string {
	t.Helper()
	var ports []string
	for len(ports) < n {
		port := lastPort.Add(1)
		if port >= 32000 {
			t.Fatalf("no %d ports are free below %d", n, port)
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		l, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		l.Close()
		ports = append(ports, address)
	}
	return ports
}

// withSeeds adds seeds to flags that name no store.
func withSeeds(flags []string, seeds string) []string {
	if slices.Contains(flags, "-store") {
		return flags
	}
	return append([]string{"-seeds", seeds}, flags...)
}

// start runs the process, with flags behind its arguments so far.
func (p *process) start(t *testing.T, flags ...string) {
	t.Helper()
	p.args = append(p.args, flags...)
	p.cmd = exec.Command(binary, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // the outcome is in ProcessState
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // in vain when it has exited
		<-p.exited
		if t.Failed() {
			t.Logf("%s, %v:\n%s", p.label(), p.cmd.ProcessState, &p.log)
		}
	})
}

// again starts the node in its next life, when this one is over. A killed one may
// have left a line half written, so the next has an audit file of its own.
func (p *process) again(t *testing.T) *process {
	t.Helper()
	next := &process{
		name: p.name, life: p.life + 1, listen: p.listen, http: p.http, manage: p.manage,
		audit: fmt.Sprintf("%s.%d", p.audit, p.life+1), args: slices.Clone(p.args), exited: make(chan struct{}),
	}
	next.args[slices.Index(next.args, "-audit")+1] = next.audit
	next.start(t)
	return next
}

// kill ends it as a crash does, and tells when.
func (p *process) kill(t *testing.T) time.Time {
	t.Helper()
	at := time.Now()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatalf("kill %s: %v", p.label(), err)
	}
	return at
}

// sees is an error until the node is ready and all n members are Up.
func (p *process) sees(n int) error {
	if status, body, err := get(p.manage + "/ready"); err != nil || status != http.StatusOK {
		return fmt.Errorf("/ready: %d %s %w", status, body, orNil(err))
	}
	_, body, err := get(p.manage + "/cluster/members")
	if err != nil {
		return err
	}
	if up := strings.Count(body, `"status":"Up"`); up != n {
		return fmt.Errorf("%d members of %d are up: %s", up, n, body)
	}
	return nil
}

func orNil(err error) error {
	if err == nil {
		return fmt.Errorf("(no error)")
	}
	return err
}

// leave sends SIGTERM and wants a graceful end.
func (p *process) leave(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("signal %s: %v", p.name, err)
	}
	p.wantExit(t, 0)
}

func (p *process) wantExit(t *testing.T, code int) {
	t.Helper()
	select {
	case <-p.exited:
		if got := p.cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("%s exited with %d, want %d", p.name, got, code)
		}
	case <-time.After(patience):
		t.Errorf("%s did not exit within %v", p.name, patience)
	}
}

// patience is how long a condition may take on a slow machine.
const patience = 40 * time.Second

// eventually waits until a condition gives no error any more.
func eventually(t *testing.T, what string, holds func() error) {
	t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(patience)
	for {
		err := holds()
		if err == nil {
			return
		}
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("after %v it is not so that %s: %v", patience, what, err)
		}
	}
}

var client = &http.Client{Timeout: 10 * time.Second}

func get(url string) (status int, body string, err error) {
	r, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	return read(r)
}

func post(url, id, from, text string) (status int, body string, err error) {
	return postBy(client, url, id, from, text)
}

func postBy(client *http.Client, url, id, from, text string) (status int, body string, err error) {
	m, err := json.Marshal(map[string]string{"id": id, "from": from, "text": text})
	if err != nil {
		return 0, "", err
	}
	r, err := client.Post(url, "application/json", bytes.NewReader(m))
	if err != nil {
		return 0, "", err
	}
	return read(r)
}

func read(r *http.Response) (status int, body string, err error) {
	defer r.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(r.Body)
	return r.StatusCode, strings.TrimSpace(b.String()), err
}

// crowd are the senders of one test: one per node and chat, each of which
// numbers its messages.
type crowd struct {
	all sync.WaitGroup

	mu      sync.Mutex
	refused []string
	sent    int
}

// talk lets one sender per chat talk through node until stop is closed: a
// message each 100 ms for a second, and then silence for one, in which Dad may
// joke. Half the chats talk while the others are silent.
func (c *crowd) talk(node *process, chats int, stop <-chan struct{}) {
	for chat := range chats {
		c.all.Go(func() {
			beat := time.NewTicker(100 * time.Millisecond)
			defer beat.Stop()
			said := 0
			for tick := 0; ; tick++ {
				select {
				case <-stop:
					return
				case <-beat.C:
				}
				if (tick/10+chat)%2 == 0 {
					c.say(node, fmt.Sprintf("c%d", chat), said)
					said++
				}
			}
		})
	}
}

func (c *crowd) say(node *process, chat string, number int) {
	sender := "sender-at-" + node.name
	id := fmt.Sprintf("%s/%s/%d", sender, chat, number)
	status, body, err := post(node.http+"/chats/"+chat+"/messages", id, sender, fmt.Sprint("message ", number))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent++
	if err != nil || status != http.StatusAccepted {
		c.refused = append(c.refused, fmt.Sprintf("%s: %d %s %v", id, status, body, err))
	}
}

// wantNoneRefused is asked when all senders have stopped.
func (c *crowd) wantNoneRefused(t *testing.T) {
	t.Helper()
	for i, r := range c.refused {
		if i == 10 {
			t.Errorf("... and %d more", len(c.refused)-i)
			return
		}
		t.Errorf("refused: %s", r)
	}
}
