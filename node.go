package troupe

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/internal/membership"
	"github.com/troupe-go/troupe/internal/seldom"
	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/transport"
)

// Names for what the cluster consists of.
type (
	// An ID is one incarnation of a node: address and UID.
	ID = member.ID
	// An Address is the host and port of a node.
	Address = member.Address
	// A Member is one node's entry in the membership.
	Member = member.Member
	// A View is the membership as one node sees it at one moment; immutable.
	View = member.View
	// Status is where a member stands in its life.
	Status = member.Status
)

// The statuses of a member; see [Status].
const (
	Joining              = member.Joining
	WeaklyUp             = member.WeaklyUp
	Up                   = member.Up
	Leaving              = member.Leaving
	Exiting              = member.Exiting
	Down                 = member.Down
	Removed              = member.Removed
	PreparingForShutdown = member.PreparingForShutdown
	ReadyForShutdown     = member.ReadyForShutdown
)

// The ways in which a node ends other than by leaving; see [Node.Err].
const (
	// ErrDowned: the cluster (or this node's own resolver) decided that the
	// node does not survive.
	ErrDowned = actor.Error("troupe: this node was downed")
	// ErrLeft: the node has left; only what waited for it ends with this error.
	ErrLeft = actor.Error("troupe: this node has left")
	// ErrKilled: [Node.Kill] was called.
	ErrKilled = actor.Error("troupe: this node was killed")
	// ErrRefused: the cluster did not let the node in.
	ErrRefused = actor.Error("troupe: the cluster refused this node")
)

// Node is one member of a cluster: its links, its part in the membership, and
// the home of its actors. It is an [actor.Host]. All methods are safe for
// concurrent use.
type Node struct {
	cfg   settings
	log   *slog.Logger
	lanes int

	// Set before anything is received; see ready.
	id       ID
	endpoint transport.Endpoint
	ready    chan struct{}
	started  atomic.Bool // ready is closed

	system     *actor.System
	ports      ports
	replies    replies
	removed    removed
	served     served
	replyPort  *Port
	servedPort *Port
	alivePort  *Port
	members    *Port
	loopback   *loopback
	counts     counts
	components components
	tasks      tasks

	core     *membership.Core  // owned by the owner goroutine
	inputs   chan gossip.Input // bounded; what the network sends beyond it is dropped and counted
	commands chan func()       // run on the owner goroutine
	view     atomic.Pointer[View]
	watchers watchers // owned by the owner goroutine

	complaints *seldom.Filter[complaint] // in the log

	confirms chan struct{} // wakes the owner goroutine
	asked    chan question // bounded; asked again
	pulse    pulse
	seeker   seeker
	redials  redials       // owned by the owner goroutine
	arbiter  *arbiter      // asks for the resolver's lease
	plan     plan          // of its end
	progress progress      // of its end
	leave    handOver      // owned by the owner goroutine
	kill     chan struct{} // closed by Kill
	killOnce sync.Once
	ending   chan struct{} // closed when the owner goroutine takes no more inputs
	done     chan struct{} // closed when all is quiet
	err      error         // readable once done is closed
}

const inbox = 1024

// Start binds the address, opens the links and begins to join the cluster in
// the background; [Node.WhenUp] waits for it. ctx bounds the start, not the
// node's life. All problems of the configuration are reported together, and a
// failed start leaves nothing open.
func Start(ctx context.Context, cfg Config) (*Node, error) {
	s, err := cfg.resolve()
	if err != nil {
		return nil, fmt.Errorf("start node: invalid configuration: %w", err)
	}
	n := &Node{
		cfg: s, lanes: s.Lanes, plan: planFor(s.LeaveWithin), log: s.Log,
		ready: make(chan struct{}), complaints: seldom.New[complaint](complainEvery),
		inputs: make(chan gossip.Input, inbox), commands: make(chan func()), confirms: make(chan struct{}, 1), asked: make(chan question, inbox),
		kill: make(chan struct{}), ending: make(chan struct{}), done: make(chan struct{}),
	}
	n.served.node = n
	n.view.Store(&View{DataCenter: s.DataCenter})
	n.endpoint, err = s.Transport.Listen(ctx, n.linkConfig(), linkHandler{n})
	if err != nil {
		return nil, fmt.Errorf("start node: listen on %s: %w", s.listen, err)
	}
	n.id = n.endpoint.Self()
	n.view.Store(&View{Self: n.id, DataCenter: s.DataCenter})
	n.log = s.Log.With(slog.String("node", n.id.Address.String()))
	n.log.Info("this node starts", slog.String("cluster", s.Name), slog.String("to end it takes", n.plan.String()))
	n.pulse.start(s.Times.WithDefaults().AcceptablePause)
	n.system = actor.NewSystem(actor.Config{
		Name: n.id.Address.String(), Log: n.log, DeadLetter: s.DeadLetter, Shut: n.pulse.paused, Gate: n.gate,
	})
	n.loopback = newLoopback(n)
	if err := n.openOwnPorts(); err != nil {
		return nil, errors.Join(err, n.endpoint.Close(ctx))
	}
	n.core = newCore(s, n.id)
	n.arbiter = newArbiter(s)
	n.join() // the first input, and done before anything can end the node
	close(n.ready)
	n.started.Store(true)
	go n.loopback.run()
	n.redials.start(n, s)
	go n.own()
	return n, nil
}

func (n *Node) linkConfig() transport.Config {
	return transport.Config{
		Cluster: n.cfg.Name, Listen: n.cfg.listen, Advertise: n.cfg.advertise, UID: newUID(),
		Lanes: n.lanes, TLS: n.cfg.TLS, Secret: n.cfg.Secret, Insecure: n.cfg.Insecure, Log: n.cfg.Log,
	}
}

func (n *Node) openOwnPorts() (err error) {
	if n.members, err = n.Open("troupe.membership", membersReceiver{n}); err != nil {
		return err
	}
	if n.replyPort, err = n.Open("troupe.reply", replyReceiver{n}); err != nil {
		return err
	}
	if n.alivePort, err = n.Open("troupe.alive", aliveReceiver{n}); err != nil {
		return err
	}
	for _, own := range []*Port{n.members, n.replyPort, n.alivePort} {
		own.always = true
	}
	n.servedPort, err = n.Open("troupe.actor", &n.served)
	return err
}

// newUID draws the number of this incarnation.
func newUID() int64 {
	var b [8]byte
	_, _ = crand.Read(b[:]) // never fails, by its documentation
	return member.NewUID(time.Now(), binary.BigEndian.Uint64(b[:]))
}

func newRand(id ID) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(id.UID), uint64(id.Port)))
}

// ID is this incarnation's identity, with the advertised address.
func (n *Node) ID() ID { return n.id }

// Name is the cluster's name.
func (n *Node) Name() string { return n.cfg.Name }

// Store is the database that the nodes of the cluster share; nil if there is none.
func (n *Node) Store() store.Store { return n.cfg.Store }

// Scheme is the scheme of addresses that tools see.
func (n *Node) Scheme() string { return n.cfg.Scheme }

// URI is this node's address as tools see it, SCHEME://NAME@host:port.
func (n *Node) URI() string { return n.id.URI(n.cfg.Scheme, n.cfg.Name) }

// Log is the node's logger; it names the node.
func (n *Node) Log() *slog.Logger { return n.log }

// Roundtrip tells whether local messages are to be encoded and decoded too.
func (n *Node) Roundtrip() bool { return n.cfg.Roundtrip }

// DowningMargin is how long after the removal of a downed member from a cluster
// of so many what it hosted may not start elsewhere, so that it has had time to
// stop it.
func (n *Node) DowningMargin(members int) time.Duration {
	return n.cfg.Downing.Margin(members)
}

// View is the membership as this node sees it now. It is never nil; before the
// node has joined it has no members.
func (n *Node) View() *View { return n.view.Load() }

// Links reads the counters and the state of this node's links: what was sent,
// received, refused, and dropped for which reason.
func (n *Node) Links() transport.Stats { return n.endpoint.Stats() }

// Suspicion is the phi accrual failure detector's level for a member that this
// node watches: about the number of nines of the certainty that it has failed. The member is
// held for unreachable at 8. It is 0 for a member that this node does not watch.
func (n *Node) Suspicion(id ID) (phi float64) {
	n.onOwner(func() { phi = n.core.Machine().Phi(time.Now(), id) })
	return phi
}

// System is where the node's actors live.
func (n *Node) System() *actor.System { return n.system }

// Home makes the node an [actor.Host].
func (n *Node) Home() actor.Home { return n.system.Home() }

// Done is closed when the node has ended: it left, was downed, or was killed,
// and everything it had is closed, but for what [Node.Err] names.
func (n *Node) Done() <-chan struct{} { return n.done }

// Err tells, after Done, why the node ended: nil when it left, otherwise an
// error that is [ErrDowned], [ErrKilled] or [ErrRefused]. An [OverdueError] in it
// names what did not end in time and may still be running.
func (n *Node) Err() error {
	select {
	case <-n.done:
		return n.err
	default:
		return nil
	}
}

// WhenUp waits until this node is Up.
func (n *Node) WhenUp(ctx context.Context) error {
	up := make(chan struct{})
	var once sync.Once
	stop := n.Subscribe(func(v *View) {
		if m, ok := v.SelfMember(); ok && m.Status == member.Up {
			once.Do(func() { close(up) })
		}
	})
	defer stop()
	select {
	case <-up:
		return nil
	case <-n.done:
		return fmt.Errorf("wait for %s to be up: %w", n.id.Address, cmp.Or(n.err, error(ErrLeft)))
	case <-ctx.Done():
		return fmt.Errorf("wait for %s to be up: %w", n.id.Address, ctx.Err())
	}
}
