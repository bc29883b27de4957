package gossip

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/troupe-go/troupe/internal/member"
)

// world is a network of machines in virtual time: one goroutine, one seed, one
// outcome. Every message is delivered a little later, in the order of a link,
// unless the link is cut or the addressee is another incarnation.
type world struct {
	t     testing.TB
	cfg   Config // of each node, but for Self and Rand
	rand  *rand.Rand
	now   time.Time
	queue queue
	seq   int
	nodes []*node // in the order in which they were started
	uid   int64
	steps int
	cut   func(from, to member.ID) bool
	codec bool                                   // encode and decode each message
	delay func(from, to member.ID) time.Duration // added to each delivery; nil: none
}

// node is one incarnation.
type node struct {
	*Machine
	id     member.ID
	tick   time.Time // of the Tick in the queue
	dead   bool
	paused time.Time // until then, it does nothing
	stop   *Stop
	exits  bool // StartExiting was given
	gone   []member.ID
	events []Event
	last   map[member.ID]time.Time // delivery of the last message to it from each node
}

// item is an input for a node at a time.
type item struct {
	at   time.Time
	seq  int
	node *node
	in   Input
}

type queue []item

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if c := q[i].at.Compare(q[j].at); c != 0 {
		return c < 0
	}
	return q[i].seq < q[j].seq
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(item)) }
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

func newWorld(t testing.TB, seed uint64) *world {
	return &world{
		t: t, rand: rand.New(rand.NewPCG(seed, 1)), now: time.UnixMilli(1_700_000_000_000),
		cfg: Config{Cluster: "test"},
		cut: func(_, _ member.ID) bool { return false },
	}
}

// addr is the address of the i-th host; the order of numbers is that of addresses.
func addr(i int) member.Address { return member.Address{Host: fmt.Sprintf("n%03d", i), Port: 2552} }

// start runs a new incarnation on host i, with the first three hosts as seeds
// unless others are given.
func (w *world) start(i int, seeds ...int) *node {
	if seeds == nil {
		seeds = []int{0, 1, 2}
	}
	var addrs []member.Address
	for _, s := range seeds {
		addrs = append(addrs, addr(s))
	}
	n := w.boot(i, w.cfg)
	w.push(n, w.now, JoinSeeds{addrs})
	return n
}

func (w *world) boot(i int, cfg Config) *node {
	w.uid++
	cfg.Self = member.ID{Address: addr(i), UID: member.NewUID(time.UnixMilli(w.uid), w.rand.Uint64())}
	cfg.Rand = rand.New(rand.NewPCG(w.rand.Uint64(), uint64(w.uid)))
	n := &node{Machine: New(cfg), id: cfg.Self, last: map[member.ID]time.Time{}}
	w.nodes = append(w.nodes, n)
	return n
}

func (w *world) push(n *node, at time.Time, in Input) {
	w.seq++
	heap.Push(&w.queue, item{at, w.seq, n, in})
}

// do gives a node an input now.
func (w *world) do(n *node, in Input) { w.push(n, w.now, in) }

// crash ends an incarnation without a word.
func (w *world) crash(n *node) { n.dead = true }

// run lets virtual time pass.
func (w *world) run(d time.Duration) {
	end := w.now.Add(d)
	for len(w.queue) > 0 && !w.queue[0].at.After(end) {
		w.deliver(heap.Pop(&w.queue).(item))
	}
	w.now = end
}

func (w *world) deliver(it item) {
	w.now = it.at
	n := it.node
	if _, tick := it.in.(Tick); n.dead || tick && !it.at.Equal(n.tick) {
		return
	}
	if w.now.Before(n.paused) {
		w.push(n, n.paused, it.in)
		if _, tick := it.in.(Tick); tick {
			n.tick = n.paused
		}
		return
	}
	w.steps++
	out := n.Step(w.now, it.in)
	n.events = append(n.events, out.Events...)
	n.gone = append(n.gone, out.Quarantine...)
	n.exits = n.exits || out.StartExiting
	for _, p := range out.Send {
		w.send(n, p)
	}
	if out.Stop != nil {
		n.stop, n.dead = out.Stop, true
		return
	}
	if !out.Wake.Equal(n.tick) && !out.Wake.IsZero() {
		n.tick = out.Wake
		w.push(n, out.Wake, Tick{})
	}
}

func (w *world) send(from *node, p Packet) {
	for _, to := range slices.Backward(w.nodes) {
		if to.id.Address != p.To.Address || to.dead {
			continue
		}
		if p.To.UID != 0 && p.To.UID != to.id.UID || w.cut(from.id, to.id) || slices.Contains(to.gone, from.id) {
			return
		}
		at := w.now.Add(time.Millisecond + time.Duration(w.rand.IntN(4))*time.Millisecond)
		if w.delay != nil {
			at = at.Add(w.delay(from.id, to.id))
		}
		if last := to.last[from.id]; at.Before(last) {
			at = last
		}
		to.last[from.id] = at
		w.push(to, at, Received{From: from.id, Msg: w.travel(p.Msg)})
		return
	}
}

// travel takes a message over the wire.
func (w *world) travel(msg Message) Message {
	if !w.codec {
		return msg
	}
	return roundtrip(w.t, msg)
}

func roundtrip(t testing.TB, msg Message) Message {
	t.Helper()
	data, err := cbor.Marshal(msg)
	if err != nil {
		t.Fatalf("encode %T: %v", msg, err)
	}
	back, err := decode(data, msg)
	if err != nil {
		t.Fatalf("decode %T: %v", msg, err)
	}
	return back
}

// decode reads a message of the same type as like.
func decode(data []byte, like Message) (Message, error) {
	var err error
	switch msg := like.(type) {
	case InitJoin:
		err = cbor.Unmarshal(data, reset(&msg))
		return msg, err
	case InitJoinAck:
		err = cbor.Unmarshal(data, reset(&msg))
		return msg, err
	case InitJoinNack:
		err = cbor.Unmarshal(data, reset(&msg))
		return msg, err
	case Join:
		err = cbor.Unmarshal(data, reset(&msg))
		return msg, err
	case Welcome:
		err = cbor.Unmarshal(data, reset(&msg))
		return msg, err
	case GossipStatus:
		err = cbor.Unmarshal(data, reset(&msg))
		return msg, err
	case GossipEnvelope:
		err = cbor.Unmarshal(data, reset(&msg))
		return msg, err
	case ExitingConfirmed:
		err = cbor.Unmarshal(data, reset(&msg))
		return msg, err
	case Heartbeat:
		err = cbor.Unmarshal(data, reset(&msg))
		return msg, err
	case CrashVote:
		err = cbor.Unmarshal(data, reset(&msg))
		return msg, err
	case HeartbeatRsp:
		err = cbor.Unmarshal(data, reset(&msg))
		return msg, err
	}
	return nil, fmt.Errorf("unknown message %T", like)
}

func reset[T any](p *T) *T {
	var zero T
	*p = zero
	return p
}

// living are the nodes that run.
func (w *world) living() []*node {
	return slices.DeleteFunc(slices.Clone(w.nodes), func(n *node) bool { return n.dead })
}

// agreed tells whether all living nodes see exactly each other, all in a
// status, nobody unreachable, and have converged.
func (w *world) agreed(status member.Status) bool {
	living := w.living()
	for _, n := range living {
		v := n.View()
		if len(v.Members) != len(living) || !v.Converged || len(v.Unreachable) > 0 {
			return false
		}
		for _, other := range living {
			if m, ok := v.Member(other.id); !ok || m.Status != status {
				return false
			}
		}
	}
	return true
}

// within runs until something holds, and fails when it does not in time. It
// returns how long it took, to the tenth of a second.
func (w *world) within(d time.Duration, what string, holds func() bool) time.Duration {
	w.t.Helper()
	start := w.now
	for w.now.Sub(start) < d {
		if holds() {
			return w.now.Sub(start)
		}
		w.run(100 * time.Millisecond)
	}
	if !holds() {
		for _, n := range w.living() {
			w.t.Log(n.Describe())
		}
		w.t.Fatalf("not within %v: %s", d, what)
	}
	return d
}

// cluster starts nodes 0 to n-1 and waits until all are up.
func (w *world) cluster(n int) []*node {
	w.t.Helper()
	var nodes []*node
	for i := range n {
		nodes = append(nodes, w.start(i))
	}
	w.within(time.Minute, fmt.Sprintf("%d nodes up", n), w.up)
	return nodes
}

func (w *world) up() bool { return w.agreed(member.Up) }

// partition cuts all links between a group and the rest.
func (w *world) partition(group ...*node) {
	in := func(id member.ID) bool {
		return slices.ContainsFunc(group, func(n *node) bool { return n.id == id })
	}
	w.cut = func(from, to member.ID) bool { return in(from) != in(to) }
}

func (w *world) heal() { w.cut = func(_, _ member.ID) bool { return false } }

// status is what a node believes of another.
func (n *node) status(id member.ID) member.Status {
	m, _ := n.View().Member(id)
	return m.Status
}
