package shard

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/store/storetest"
	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/wire"
)

// A world is a cluster without membership protocol and links: the test says who
// is a member, all nodes see it at once, and frames of one lane arrive in order
// after a delay.
type world struct {
	t     *testing.T
	log   *slog.Logger
	delay time.Duration // of each frame
	store store.Store   // of all nodes; nil for none
	ring  *Ring         // of the type, unless a coordinator has it

	mu      sync.Mutex
	nodes   map[member.ID]*fakeNode
	members []member.Member
	gone    []member.Departure
	age     int
}

func newWorld(t *testing.T) *world {
	return &world{t: t, log: slog.New(slog.DiscardHandler), delay: time.Millisecond, nodes: map[member.ID]*fakeNode{}}
}

// start adds a node that is Up.
func (w *world) start(roles ...string) *fakeNode {
	w.mu.Lock()
	w.age++
	id := member.ID{Address: member.Address{Host: "node", Port: w.age}, UID: int64(w.age)}
	n := &fakeNode{
		w: w, id: id, system: actor.NewSystem(actor.Config{Name: id.String(), Log: w.log}),
		done: make(chan struct{}), links: map[laneKey]chan sent{}, ports: map[string]troupe.PortHandler{},
		asks: map[uint64]fakeAsk{}, components: map[any]any{},
	}
	w.nodes[id] = n
	w.members = append(w.members, member.Member{ID: id, Status: member.Up, UpNumber: w.age, Roles: roles, DataCenter: "default"})
	w.mu.Unlock()
	w.publish()
	return n
}

// set gives a member another status; Removed takes it out.
func (w *world) set(n *fakeNode, s member.Status) {
	w.mu.Lock()
	members := slices.Clone(w.members)
	i := slices.IndexFunc(members, func(m member.Member) bool { return m.ID == n.id })
	was := members[i].Status
	members[i].Status = s
	if s == member.Removed {
		d := member.Departure{ID: n.id}
		if was == member.Exiting {
			d.End = member.Exited
		}
		if was == member.Down {
			d.End = member.Downed
		}
		w.gone = append(w.gone, d)
		slices.SortFunc(w.gone, func(a, b member.Departure) int { return a.Compare(b.ID) })
		members = slices.Delete(members, i, i+1)
	}
	w.members = members
	nodes := slices.Collect(maps.Values(w.nodes))
	w.mu.Unlock()
	w.publish()
	for _, other := range nodes {
		if s == member.Removed {
			other.without(n.id)
		}
	}
}

func (w *world) view(self member.ID) *troupe.View {
	members := slices.Clone(w.members)
	slices.SortFunc(members, func(a, b member.Member) int { return a.ID.Compare(b.ID) })
	return &member.View{Self: self, DataCenter: "default", Members: members, Departed: slices.Clone(w.gone), Converged: true}
}

func (w *world) publish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, n := range w.nodes {
		for _, f := range n.watchers {
			f(w.view(id))
		}
	}
}

// end closes all nodes that are left.
func (w *world) end() {
	w.mu.Lock()
	nodes := w.nodes
	w.nodes = nil
	w.mu.Unlock()
	for _, n := range nodes {
		n.end()
	}
}

func (w *world) node(id member.ID) *fakeNode {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nodes[id]
}

// fakeNode is what package shard needs of a node.
type fakeNode struct {
	w      *world
	id     member.ID
	system *actor.System
	done   chan struct{}
	wg     sync.WaitGroup

	mu         sync.Mutex
	ended      bool
	deaf       func(kind byte) bool // frames that get lost on their way here
	lanesFull  bool
	refuses    error // what links to others answer; nil: they take all
	once       sync.Once
	way        *storetest.Faulty // to the store
	watchers   []func(*troupe.View)
	links      map[laneKey]chan sent
	ports      map[string]troupe.PortHandler
	asks       map[uint64]fakeAsk
	asked      uint64
	components map[any]any
	onLeave    []func(context.Context) error
	onEnd      []func()
	roundtrip  bool
	frames     atomic.Int64
}

type laneKey struct {
	to   member.ID
	port string
	lane transport.Lane
}

func (n *fakeNode) ID() troupe.ID   { return n.id }
func (n *fakeNode) office() *office { return nil }
func (n *fakeNode) Name() string    { return "world" }

// Store is the node's own way to the store of all.
func (n *fakeNode) Store() store.Store {
	if n.w.store == nil {
		return nil
	}
	n.once.Do(func() { n.way = storetest.NewFaulty(n.w.store) })
	return n.way
}
func (n *fakeNode) Log() *slog.Logger               { return n.w.log }
func (n *fakeNode) Roundtrip() bool                 { return n.roundtrip }
func (n *fakeNode) DowningMargin(int) time.Duration { return time.Second }
func (n *fakeNode) Home() actor.Home                { return n.system.Home() }
func (n *fakeNode) Done() <-chan struct{}           { return n.done }

func (n *fakeNode) Subscribe(f func(*troupe.View)) func() {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	n.watchers = append(n.watchers, f)
	f(n.w.view(n.id))
	return func() {}
}

func (n *fakeNode) Component(key any, create func() any) any {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.components[key]; !ok {
		n.components[key] = create()
	}
	return n.components[key]
}

func (n *fakeNode) OnLeave(_ string, f func(context.Context) error) error {
	n.onLeave = append(n.onLeave, f)
	return nil
}

func (n *fakeNode) OnEnd(_ string, f func()) error {
	n.onEnd = append(n.onEnd, f)
	return nil
}

func (n *fakeNode) Open(name string, h troupe.PortHandler) (port, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ports[name] = h
	return &fakePort{n, name}, nil
}

type sent struct {
	at    time.Time
	frame []byte
}

type fakePort struct {
	n    *fakeNode
	name string
}

func (p *fakePort) Lane(hash uint32) transport.Lane { return transport.User + transport.Lane(hash%2) }

// Retire tells nobody: nobody on these worlds waits for who has ended.
func (p *fakePort) Retire() {}

func (p *fakePort) Close() {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	delete(p.n.ports, p.name)
}

func (p *fakePort) Send(to troupe.ID, lane transport.Lane, frame []byte) error {
	n := p.n
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended {
		return transport.ErrClosed
	}
	if n.refuses != nil {
		return n.refuses
	}
	if n.lanesFull && lane != transport.Control {
		return transport.ErrFull
	}
	n.frames.Add(1)
	l := laneKey{to, p.name, lane}
	ch, ok := n.links[l]
	if !ok {
		ch = make(chan sent, 100_000)
		n.links[l] = ch
		n.wg.Go(func() { n.carry(l, ch) })
	}
	ch <- sent{time.Now(), slices.Clone(frame)}
	return nil
}

// carry is one lane of one link.
func (n *fakeNode) carry(l laneKey, frames <-chan sent) {
	for f := range frames {
		time.Sleep(time.Until(f.at.Add(n.w.delay)))
		frame := f.frame
		to := n.w.node(l.to)
		if to == nil {
			continue
		}
		to.mu.Lock()
		h, open := to.ports[l.port]
		lost := to.ended || to.deaf != nil && to.deaf(frame[0])
		to.mu.Unlock()
		switch {
		case lost:
		case open:
			h.Receive(n.id, l.lane, frame)
		default:
			n.mu.Lock()
			mine := n.ports[l.port]
			n.mu.Unlock()
			if h, ok := mine.(interface{ NoPort(troupe.ID) }); ok {
				h.NoPort(l.to)
			}
		}
	}
}

// fakeAsk is an ask that waits for an answer, and the node that has it.
type fakeAsk struct {
	to      member.ID
	pending wire.Pending
}

func (n *fakeNode) Expect(to troupe.ID, p wire.Pending) uint64 {
	n.mu.Lock()
	n.asked++
	id := n.asked
	n.asks[id] = fakeAsk{to, p}
	n.mu.Unlock()
	p.OnEnd(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.asks, id)
	})
	return id
}

func (n *fakeNode) Awaits(correlation uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.asks[correlation]
	return ok
}

func (n *fakeNode) Redirect(correlation uint64, to troupe.ID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a, ok := n.asks[correlation]; ok && !a.to.IsZero() {
		n.asks[correlation] = fakeAsk{to, a.pending}
	}
}

// without ends the asks that a removed node has.
func (n *fakeNode) without(gone member.ID) {
	n.mu.Lock()
	var ended []wire.Pending
	for _, a := range n.asks {
		if a.to == gone {
			ended = append(ended, a.pending)
		}
	}
	n.mu.Unlock()
	for _, p := range ended {
		p.Reject(troupe.ErrPeerRemoved)
	}
}

func (n *fakeNode) Replier(asker troupe.ID, correlation uint64) wire.Replier {
	return fakeReplier{n, asker, correlation}
}

type fakeReplier struct {
	by          *fakeNode
	asker       member.ID
	correlation uint64
}

// pending is the ask; nil if the asker is gone, or this node, whose word does not
// get out any more.
func (r fakeReplier) pending() wire.Pending {
	r.by.mu.Lock()
	gone := r.by.ended
	r.by.mu.Unlock()
	n := r.by.w.node(r.asker)
	if n == nil || gone {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asks[r.correlation].pending
}

func (r fakeReplier) Origin() (asker troupe.ID, correlation uint64) { return r.asker, r.correlation }

func (r fakeReplier) Reply(payload []byte) error {
	if p := r.pending(); p != nil {
		p.Resolve(payload)
	}
	return nil
}

func (r fakeReplier) Fail(err error) error {
	if p := r.pending(); p != nil {
		p.Fail(wire.DecodeError(wire.AppendError(nil, err)))
	}
	return nil
}

// leave is what a node does when it leaves gracefully.
func (n *fakeNode) leave() {
	n.w.set(n, member.Leaving)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, f := range n.onLeave {
		if err := f(ctx); err != nil {
			n.w.t.Errorf("leave of %v: %v", n.id, err)
		}
	}
	n.w.set(n, member.Exiting)
	time.Sleep(time.Second)
	n.w.set(n, member.Removed)
	n.gone()
}

// crash ends the node without a word; the others remove it after a while.
func (n *fakeNode) crash(after time.Duration) {
	n.gone()
	time.Sleep(after)
	n.w.set(n, member.Down)
	time.Sleep(time.Second)
	n.w.set(n, member.Removed)
}

func (n *fakeNode) gone() {
	n.w.mu.Lock()
	delete(n.w.nodes, n.id)
	n.w.mu.Unlock()
	n.end()
}

func (n *fakeNode) end() {
	n.mu.Lock()
	n.ended = true
	for _, ch := range n.links {
		close(ch)
	}
	n.links = map[laneKey]chan sent{}
	n.mu.Unlock()
	for _, f := range n.onEnd {
		f()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := n.system.Stop(ctx); err != nil {
		n.w.t.Errorf("stop of %v: %v", n.id, err)
	}
	close(n.done)
	n.wg.Wait()
}

// in runs a test in a bubble with a world, where a coordinator decides.
func in(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		f(w)
	})
}

// inRing runs it where a ring decides.
func inRing(t *testing.T, f func(w *world)) {
	t.Helper()
	in(t, func(w *world) {
		w.store, w.ring = store.NewMemory(), &Ring{}
		f(w)
	})
}

// both runs a test under either authority.
func both(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("coordinator", func(t *testing.T) { in(t, func(w *world) { f(t, w) }) })
	t.Run("ring", func(t *testing.T) { inRing(t, func(w *world) { f(t, w) }) })
}
