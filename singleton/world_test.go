package singleton_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/singleton"
	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/wire"
)

// The singleton of the tests notes what it is told, and where.
type (
	msg  interface{ isMsg() }
	note struct {
		From string
		N    int
	}
	where struct {
		Reply actor.Reply[string] `cbor:"-"`
	}
	fail   struct{}
	stop   struct{} // without a wire name
	secret struct{} // without a wire name
)

func (note) isMsg()   {}
func (where) isMsg()  {}
func (fail) isMsg()   {}
func (stop) isMsg()   {}
func (secret) isMsg() {}

func (m where) WithReply(r actor.Reply[string]) msg { m.Reply = r; return m }

func protocol() *wire.Protocol[msg] {
	return wire.MustProtocol[msg](wire.Message("note", note{}), wire.Request("where", where{}), wire.Message("fail", fail{}))
}

// A world is nodes in virtual time, and what their instances did.
type world struct {
	t     *testing.T
	net   *transport.Memory
	cfg   troupe.Config // of all nodes
	nodes []*troupe.Node

	mu     sync.Mutex
	live   map[string][]troupe.ID // by singleton: where it is
	starts map[string]int
	heard  map[string][]int // by who told it
	work   time.Duration    // for each message
}

// inWorld runs a test in virtual time. In the end all nodes are killed.
func inWorld(t *testing.T, cfg troupe.Config, test func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			t: t, net: transport.NewMemory(), cfg: cfg,
			live: map[string][]troupe.ID{}, starts: map[string]int{}, heard: map[string][]int{},
		}
		defer func() {
			for _, n := range w.nodes {
				n.Kill()
			}
		}()
		test(w)
	})
}

// start starts a node at a port that joins through whoever is there.
func (w *world) start(port int) *troupe.Node {
	w.t.Helper()
	cfg := w.cfg
	cfg.Listen, cfg.Transport, cfg.Log = fmt.Sprintf("127.0.0.1:%d", port), w.net, slog.New(slog.DiscardHandler)
	for i := range 16 {
		cfg.Seeds = append(cfg.Seeds, fmt.Sprintf("127.0.0.1:%d", 9000+i))
	}
	n, err := troupe.Start(w.t.Context(), cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.nodes = append(w.nodes, n)
	return n
}

func (w *world) up(port int) *troupe.Node {
	w.t.Helper()
	n := w.start(port)
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	if err := n.WhenUp(ctx); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// cluster starts nodes, the oldest first, that all have the type.
func (w *world) cluster(nodes int, t singleton.Type[msg]) []*singleton.Singleton[msg] {
	w.t.Helper()
	var all []*singleton.Singleton[msg]
	for i := range nodes {
		all = append(all, w.join(w.up(9000+i), t))
	}
	return all
}

func (w *world) join(n *troupe.Node, t singleton.Type[msg]) *singleton.Singleton[msg] {
	w.t.Helper()
	s, err := singleton.Join(n, w.typ(n, t))
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// typ completes a declaration for a node.
func (w *world) typ(n *troupe.Node, t singleton.Type[msg]) singleton.Type[msg] {
	if t.Name == "" {
		t.Name = "clerk"
	}
	t.Protocol = protocol()
	t.Start = func(c *actor.Ctx[msg]) (actor.Behavior[msg], error) {
		w.enter(c.Name(), n.ID())
		c.Cleanup(func() { w.leave(c.Name(), n.ID()) })
		return func(c *actor.Ctx[msg], m msg) error { return w.hear(c, n, m) }, nil
	}
	return t
}

func (w *world) hear(c *actor.Ctx[msg], n *troupe.Node, m msg) error {
	switch m := m.(type) {
	case note:
		time.Sleep(w.work)
		w.mu.Lock()
		w.heard[m.From] = append(w.heard[m.From], m.N)
		w.mu.Unlock()
	case where:
		return m.Reply.Send(c, n.ID().String())
	case fail:
		return fmt.Errorf("told to fail")
	case stop:
		time.Sleep(3 * time.Second) // it has much to save
		w.mu.Lock()
		w.heard["stop"] = append(w.heard["stop"], 1)
		w.mu.Unlock()
		c.Stop()
	}
	return nil
}

// enter fails the test when there is one already.
func (w *world) enter(name string, id troupe.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if others := w.live[name]; len(others) > 0 {
		w.t.Errorf("%s: %s starts on %s while it lives on %v", time.Now().Format(time.TimeOnly), name, id, others)
	}
	w.live[name] = append(w.live[name], id)
	w.starts[name]++
}

func (w *world) leave(name string, id troupe.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live[name] = slices.DeleteFunc(w.live[name], func(o troupe.ID) bool { return o == id })
}

// lives tells where the clerk is, if there is one.
func (w *world) lives() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.live["clerk"]) == 0 {
		return "nowhere"
	}
	return w.live["clerk"][0].String()
}

func (w *world) hears(from string) []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.heard[from])
}

// sort puts in order what was heard.
func (w *world) sort(from string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.heard[from])
}

// ask asks where the instance is.
func (w *world) ask(s *singleton.Singleton[msg], within time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), within)
	defer cancel()
	return actor.Ask(ctx, s.Ref(), where{})
}

// at fails the test unless the instance answers from that node.
func (w *world) at(s *singleton.Singleton[msg], n *troupe.Node, within time.Duration) {
	w.t.Helper()
	if got, err := w.ask(s, within); got != n.ID().String() {
		w.t.Fatalf("the instance answers from %q, %v; want %s; waits: %+v", got, err, n.ID(), s.Why())
	}
}

// inOrder fails the test unless everything that a teller has told was heard, once, in order.
func (w *world) inOrder(from string, count int) {
	w.t.Helper()
	got := w.hears(from)
	for i := range max(count, len(got)) {
		if i >= len(got) || got[i] != i {
			w.t.Fatalf("of what %s told from 0 to %d was heard: %v", from, count-1, got[max(0, i-5):min(len(got), i+15)])
		}
	}
}

// tell tells numbers, a moment apart, and again what was refused for want of room.
func (w *world) tell(s *singleton.Singleton[msg], from string, count int, every time.Duration) {
	for i := range count {
		err := s.Ref().Tell(w.t.Context(), note{from, i})
		for ; errors.Is(err, actor.ErrFull); err = s.Ref().Tell(w.t.Context(), note{from, i}) {
			time.Sleep(10 * time.Millisecond)
		}
		if err != nil {
			w.t.Errorf("%s tells %d: %v", from, i, err)
		}
		time.Sleep(every)
	}
}

// split cuts all links between two groups of nodes.
func (w *world) split(a, b []*troupe.Node) {
	for _, n := range a {
		for _, o := range b {
			w.net.Cut(n.ID().Address, o.ID().Address)
			w.net.Cut(o.ID().Address, n.ID().Address)
		}
	}
}
