// Package troupe is the node. SKELETON.
package troupe

import (
	"context"
	"log/slog"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/sbr"
	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/wire"
)

// Names for users of what the internal package defines.
type (
	ID      = member.ID
	Address = member.Address
	Member  = member.Member
	View    = member.View
	Status  = member.Status
)

// Config of a node; the zero value is a cluster of one on a free loopback port.
type Config struct {
	Name       string // of the cluster, default "troupe"
	Scheme     string // of addresses shown, default "troupe"
	Listen     string // host:port to bind, default 127.0.0.1:0
	Advertise  string // host:port that peers dial, default the bound one
	Insecure   bool   // allow plain TCP beyond loopback
	Seeds      []string
	Roles      []string
	DataCenter string // default "default"
	AppVersion string
	Downing    sbr.Strategy        // default sbr.KeepMajority{}
	Times      Times               // intervals and time-outs; zero fields have defaults
	Transport  transport.Transport // default TCP
	Log        *slog.Logger
	Roundtrip  bool // test switch: encode and decode every local message of a protocol too
}

// Times are the settings in time; zero means the default beside it.
type Times struct {
	Gossip          time.Duration // 1 s
	Heartbeat       time.Duration // 1 s
	AcceptablePause time.Duration // 3 s
	SeedTimeout     time.Duration // 5 s: the first seed founds a cluster after so long without an answer
	StableAfter     time.Duration // 7 s: see sbr
	// ... all others of the protocol
}

// Node is one member of a cluster.
type Node struct{}

// Start binds, starts joining in the background, and returns. ctx bounds the start only.
func Start(ctx context.Context, cfg Config) (*Node, error) { panic("skeleton") }

func (n *Node) ID() ID                           { panic("skeleton") }
func (n *Node) Name() string                     { panic("skeleton") } // cluster
func (n *Node) Scheme() string                   { panic("skeleton") }
func (n *Node) View() *View                      { panic("skeleton") } // current snapshot, never nil
func (n *Node) Log() *slog.Logger                { panic("skeleton") }
func (n *Node) Roundtrip() bool                  { panic("skeleton") }
func (n *Node) WhenUp(ctx context.Context) error { panic("skeleton") } // waits until self is Up
func (n *Node) Leave(ctx context.Context) error  { panic("skeleton") } // gracefully: hand over, exit, close; returns when all is quiet
func (n *Node) Kill()                            { panic("skeleton") } // tests: ends at once without a word to anybody, as a crash would
func (n *Node) Done() <-chan struct{}            { panic("skeleton") } // closed when the node has ended (left, downed, killed)
func (n *Node) Err() error                       { panic("skeleton") } // after Done: nil if it left; ErrDowned ...
func (n *Node) Home() actor.Home                 { panic("skeleton") } // actor.Host
func (n *Node) System() *actor.System            { panic("skeleton") }

// Subscribe calls f (on the node's own goroutine: it must not block) with the current view at once and then each new one.
// unsubscribe returns when f is not running any more.
func (n *Node) Subscribe(f func(*View)) (unsubscribe func()) { panic("skeleton") }

// Down marks a member down by hand.
func (n *Node) Down(ctx context.Context, a Address) error { panic("skeleton") }

// OnLeave registers a task that must finish before this node confirms its exit (status Exiting; also called while Leaving:
// it starts as soon as Leave is called), in parallel with others. The node's Leave waits, bounded.
func (n *Node) OnLeave(name string, f func(ctx context.Context) error) { panic("skeleton") }

// OnEnd registers what runs first when the node ends without leaving (downed, removed, killed): entities stop before links close.
func (n *Node) OnEnd(name string, f func()) { panic("skeleton") }

// Component returns the value kept under key, making it on first use: one per node for packages that extend it.
func (n *Node) Component(key any, make func() any) any { panic("skeleton") }

// Open opens a port: a named door for a component's messages between nodes. The same name on all nodes belongs together.
func (n *Node) Open(name string, h PortHandler) (*Port, error) { panic("skeleton") }

// PortHandler receives; payload is valid only during the call. Calls for one lane of one peer are in order.
type PortHandler interface {
	Receive(from ID, lane transport.Lane, payload []byte)
}

// Port sends to the port of the same name on other nodes; to the own node it delivers too (on the caller's goroutine: no, asynchronously, in order).
type Port struct{}

func (p *Port) Send(to ID, lane transport.Lane, payload []byte) error { panic("skeleton") }
func (p *Port) Close()                                                { panic("skeleton") }

// Expect keeps pending under a fresh correlation id until it ends, is answered, or `to` is removed from the cluster (typed error).
func (n *Node) Expect(to ID, pending wire.Pending) (correlation uint64) { panic("skeleton") }

// Replier answers the request with that correlation id at its asker.
func (n *Node) Replier(asker ID, correlation uint64) wire.Replier { panic("skeleton") }

// Serve makes a local actor reachable from other nodes under a name; Remote refers to it there.
func Serve[M any](n *Node, name string, ref actor.Ref[M], p *wire.Protocol[M]) error {
	panic("skeleton")
}

// Remote gives a ref to the actor served under name at a node.
func Remote[M any](n *Node, at ID, name string, p *wire.Protocol[M]) actor.Ref[M] { panic("skeleton") }
