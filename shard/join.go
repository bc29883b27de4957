package shard

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"sync/atomic"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/shard/internal/coordinator"
	"github.com/troupe-go/troupe/shard/internal/region"
	"github.com/troupe-go/troupe/shard/internal/ring"
	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/wire"
)

// Join makes a node take part in a type: it routes messages to its entities and,
// unless the type asks for a role that the node has not, hosts some of them. It
// returns at once; messages wait until the homes of their shards are known. The
// node hands its shards over when it leaves, and stops them when it ends.
//
// All problems of the declaration are reported together. A type can be joined
// once per node: errors.Is(err, ErrJoined); and not on a node that is leaving or
// has ended: errors.Is(err, troupe.ErrEnding).
func Join[M any](n *troupe.Node, t Type[M]) (*Entities[M], error) {
	o, err := openOffice(n)
	if err != nil {
		return nil, fmt.Errorf("join type %q: %w", t.Name, err)
	}
	return join(clusterNode{n, o}, t)
}

// Entities is a node's part in a type: where refs to its entities come from.
type Entities[M any] struct{ r *shell[M] }

// Ref gives the address of the entity with an id, wherever it lives; it need not
// exist: its first message starts it. Refs of one id are equal on one node.
//
// Tell never blocks. nil from it means accepted; see the package comment. An
// error means certainly not: wire.ErrNotNamed for a message that the protocol
// does not list, actor.ErrFull for a full mailbox, buffer or lane, [ErrEnded].
// TellWait waits in place of ErrFull, and has it together with its context's
// error when that ends first.
func (e *Entities[M]) Ref(id string) actor.Ref[M] { return e.r.ref(id) }

// Region is the same part for tools, whatever M is.
func (e *Entities[M]) Region() Region { return regionOf[M]{e.r} }

// A node is what a type needs of the node that it is joined on.
type node interface {
	actor.Host
	ID() troupe.ID
	Name() string
	Store() store.Store
	Log() *slog.Logger
	Roundtrip() bool
	Done() <-chan struct{}
	DowningMargin(members int) time.Duration
	Subscribe(func(*troupe.View)) (unsubscribe func())
	Open(name string, h troupe.PortHandler) (port, error)
	Expect(to troupe.ID, p wire.Pending) (correlation uint64)
	Awaits(correlation uint64) bool
	Redirect(correlation uint64, to troupe.ID)
	Replier(asker troupe.ID, correlation uint64) wire.Replier
	OnLeave(name string, f func(context.Context) error) error
	OnEnd(name string, f func()) error
	Component(key any, create func() any) any
	office() *office // nil: other nodes are not asked
}

// A port is where a type's frames leave.
type port interface {
	Lane(hash uint32) transport.Lane
	Send(to troupe.ID, lane transport.Lane, frame []byte) error
	Close()
	Retire()
}

// clusterNode is a real node.
type clusterNode struct {
	*troupe.Node
	o *office
}

func (n clusterNode) office() *office { return n.o }

func (n clusterNode) Open(name string, h troupe.PortHandler) (port, error) {
	return n.Node.Open(name, h)
}

func join[M any](n node, t Type[M]) (*Entities[M], error) {
	t, err := t.withDefaults()
	if err = errors.Join(err, t.Ring.needs(n.Store()), t.needs(n.Store())); err != nil {
		return nil, fmt.Errorf("join type %q: invalid declaration: %w", t.Name, err)
	}
	all := joinedOn(n)
	if err := all.reserve(t.Name); err != nil {
		return nil, fmt.Errorf("join type %q: %w", t.Name, err)
	}
	r, err := connect(n, t)
	if err != nil {
		all.free(t.Name)
		return nil, fmt.Errorf("join type %q: %w", t.Name, err)
	}
	all.add(regionOf[M]{r})
	n.Subscribe(r.control.views.Set) // for as long as the node lives
	r.foresee()
	return &Entities[M]{r}, nil
}

// connect makes a type that sends and receives, but has not seen the membership yet.
// After an error nothing of it is left.
func connect[M any](n node, t Type[M]) (*shell[M], error) {
	r, err := newShell(n, t)
	if err != nil {
		return nil, err
	}
	if err := r.checkRemembered(); err != nil {
		r.control.authority.end(false)
		return nil, err
	}
	p, err := n.Open("troupe.shard/"+t.Name, r)
	if err != nil {
		r.control.authority.end(false)
		return nil, err
	}
	r.port, r.control.port = p, p
	close(r.ready)
	go r.control.run(n.Done()) // end waits for it
	if err := r.last(); err != nil {
		p.Close()
		r.end()
		return nil, err
	}
	return r, nil
}

// foresee warns of a strategy by which shards will move for minutes when a node
// joins, or without end.
func (r *shell[M]) foresee() {
	if r.typ.Ring != nil || r.typ.RebalanceEvery < 0 {
		return
	}
	for _, trap := range placement.Traps(r.typ.Strategy, r.typ.Shards, placement.Pace{Every: r.typ.RebalanceEvery}) {
		r.log.Warn("strategy moves shards too slowly", "strategy", r.typ.Strategy.Name(), "plan", trap)
	}
}

// last registers what is to be done when the node leaves or ends. The end comes
// last: once it is registered it is the node's to run.
func (r *shell[M]) last() error {
	name := "shards of " + r.typ.Name
	if err := r.node.OnLeave(name, r.leave); err != nil {
		return err
	}
	return r.node.OnEnd(name, r.end)
}

// newShell prepares a type that is not connected to the cluster yet.
func newShell[M any](n node, t Type[M]) (*shell[M], error) {
	r := &shell[M]{
		node: n, self: n.ID(), typ: t,
		log:   n.Log().With(slog.String("type", t.Name)),
		slots: make([]atomic.Pointer[slot[M]], 2*t.Shards),
		ready: make(chan struct{}),
		room:  room{limit: int64(t.Buffer)},
	}
	ours := agreed(t)
	r.control = newControl(r.self, r, region.Settings{
		Role: t.Role, Agree: ours.text, Own: t.Ring != nil, Exists: ours.exists, Retry: t.Retry, HandOffTimeout: t.HandOffTimeout,
	})
	r.complain = newComplaints(r.log)
	r.control.counts, r.control.complain, r.control.log = &r.counts, r.complain, r.log
	r.control.watch = newWatch(t.Name, t.Overdue, t.HandOffTimeout)
	r.control.observe = r.overdue
	r.control.role = t.Role
	r.control.hosts.Store(t.Role == "") // until the node is a member, whose roles are known
	r.active.init()
	r.limit, r.rests = newLimits(t), newRests(t.Backoff)
	if t.Remember {
		r.keeper = newKeeper(r)
	}
	if t.recovers() {
		r.recovery, r.always = newRecovery(r), newAlways(t)
	}
	r.roundtrip = n.Roundtrip()
	if t.Ring == nil {
		r.loads = newLoads(t.Strategy)
	}
	r.reliable = t.Delivery == AtLeastOnce
	r.confirms.wake = r.control.posts.Signal
	r.began = time.Now()
	now := time.Now()
	r.expireAt = now.Add(expireEvery)
	if t.Idle > 0 {
		r.sweep.next = now.Add(r.sweepEvery())
	}
	r.options = append(r.options, t.Options...)
	if t.Mailbox > 0 {
		r.options = append(r.options, actor.Mailbox(t.Mailbox))
	}
	var err error
	r.control.authority, err = r.authority(ours)
	return r, err
}

// authority makes what decides on this node where shards live. With a ring it also
// says how long the entities may act.
func (r *shell[M]) authority(ours agreement) (authority, error) {
	locks := ringLocks{r.node.Store(), store.Ring{Cluster: r.node.Name(), Type: r.typ.Name}, r.self.String()}
	if r.typ.Ring == nil {
		return &coordinating{
			core: r.coordinator(ours), desk: newDesk(raiseWithin), log: r.control.logCoordinator,
			notes: notes{r.node.Store(), locks.ring, r.complain},
		}, nil
	}
	a, err := newRinging(r.ring(ours), locks, r.typ.Ring.Lease, r.control.logRing)
	if err != nil {
		return nil, err
	}
	r.options = append(r.options, actor.Held(a.valid.hold()))
	return a, nil
}

// An agreement is what all nodes must declare alike of a type. Two that divide ids
// differently must not serve it together, so it travels and is compared.
type agreement struct {
	text   string
	exists func(shard string) bool
}

func agreed[M any](t Type[M]) agreement {
	text := t.division() + t.census()
	if t.Ring != nil {
		text += fmt.Sprintf(", ring by %s of group %s", t.Ring.Assign.Name(), t.Ring.Group)
	}
	return agreement{
		text:   text,
		exists: func(shard string) bool { _, ok := shardNumber(shard, t.Shards); return ok },
	}
}

// coordinator makes the core that is this node's readiness to coordinate the type.
func (r *shell[M]) coordinator(ours agreement) *coordinator.Core {
	t := r.typ
	return coordinator.New(r.self, coordinator.Settings{
		Role: t.Role, Agree: ours.text, Exists: ours.exists, Always: r.always.shards(), Strategy: t.Strategy, Retry: t.Retry,
		HandOffTimeout: t.HandOffTimeout, ShardStartTimeout: t.ShardStartTimeout,
		RebalanceEvery: t.RebalanceEvery, RollOut: t.RollOut, Margin: r.node.DowningMargin, Stored: r.node.Store() != nil,
	})
}

// ring makes the core that is this node's part in the ring of the type.
func (r *shell[M]) ring(ours agreement) *ring.Core {
	t := r.typ
	return ring.New(r.self, ring.Settings{
		Role: t.Role, Agree: ours.text, Shards: t.Shards, Exists: ours.exists, Always: r.always.shards(),
		Group: t.Ring.Group, Groups: []string{t.Ring.Group}, Assign: t.Ring.Assign, Weight: t.Ring.Weight, Lazy: t.Ring.Lazy,
		Poll: t.Ring.Poll, Retry: t.Retry, HandOffTimeout: t.HandOffTimeout,
	})
}

// division names the way in which the ids are divided.
func (t Type[M]) division() string {
	return fmt.Sprintf("%d shards, ShardOf %08x", t.Shards, fingerprint(t.ShardOf, t.Shards))
}

// fingerprint of a ShardFunc: two that differ in where they put some of these ids
// differ here.
func fingerprint(f placement.ShardFunc, shards int) uint32 {
	h := fnv.New32a()
	for id := range probes {
		fmt.Fprintf(h, "%d ", f(id, shards))
	}
	return h.Sum32()
}
