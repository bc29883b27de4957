// Package membership is the whole membership of one node as one pure core: the
// gossip machine, and the split brain resolver that watches what the machine
// sees and downs members through it, but not while a member that still counts as
// reachable has fallen silent.
//
// A node's shell and the simulator drive the same [Core] in the same way: step
// it with what happens, do what the output says, and step a gossip.Tick when
// its Wake has come. A Core belongs to one goroutine, blocks nowhere, and gives
// the same outputs for the same inputs.
package membership

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/sbr"
)

// Config of a [Core].
type Config struct {
	Gossip  gossip.Config
	Downing sbr.Settings
	// NoCrashDetection leaves it to silence to tell that a member has crashed.
	NoCrashDetection bool
}

// Core is the membership of one node.
type Core struct {
	machine  *gossip.Machine
	resolver *sbr.Resolver
	crashes  crashes

	history history
	// closing says that the whole cluster shuts down, which is never taken back.
	// The resolver rests from then on: who goes first must not make a minority of the
	// rest. A confirmed crash is still one, and nobody has to wait for it.
	closing bool

	machineWake, resolverWake time.Time
}

// Output is what the machine wants done, and what the resolver decided.
type Output struct {
	gossip.Output
	// Decision is set when the resolver downs somebody or asks for a lease
	// first. The downs themselves have been carried out in the same Step.
	Decision *sbr.Decision
	// Acquire asks for the resolver's lease; answer with [Core.LeaseReply].
	Acquire *sbr.Acquire
	// CutOff is when this node has to stop acting, until a majority has told that
	// it is still a member, unless the CutOff of a later Step is another one; zero
	// while its links are well enough.
	CutOff time.Time
	// Release gives back the lease that was granted for nothing.
	Release bool
}

// New makes the core of a node that has not joined yet.
func New(cfg Config) *Core {
	machine := gossip.New(cfg.Gossip)
	isolation := cfg.Gossip.Times.WithDefaults().Isolation
	if cfg.NoCrashDetection {
		isolation = 0
	}
	return &Core{
		machine:  machine,
		crashes:  crashes{self: cfg.Gossip.Self, isolation: isolation},
		resolver: sbr.NewResolver(cfg.Gossip.Self, machine.View().DataCenter, cfg.Downing),
	}
}

// Machine is what tools may ask: for the view, suspicion levels and counters.
// It must not be stepped.
func (c *Core) Machine() *gossip.Machine { return c.machine }

// ShuttingDown tells whether the whole cluster is about to stop.
func (c *Core) ShuttingDown() bool { return c.closing }

// Step feeds one input and returns what the node must do.
func (c *Core) Step(now time.Time, in gossip.Input) Output {
	var out Output
	v := c.machine.View()
	if dialed, ok := in.(gossip.Dialed); ok && dialed.Result == gossip.Answered && c.crashes.isBroken(dialed.Peer) {
		c.machine.Trust(dialed.Peer)
	}
	c.crashes.step(now, v, in, c.machine.Quiet(now))
	if join, ok := joining(in); ok && c.crashes.undecided(now, v, join) {
		in = gossip.Early{Joiner: join}
	}
	c.step(now, in, &out)
	c.confirmCrashes(now, in, &out)
	if !c.resolverWake.IsZero() && !now.Before(c.resolverWake) {
		c.resolve(now, sbr.Tick{Awaiting: len(c.machine.Silent(now)) > 0}, &out)
	}
	out.Wake = earlier(c.machineWake, c.resolverWake)
	out.CutOff = c.cutOff(now)
	return out
}

// LeaseReply feeds the answer to Output.Acquire. A request that timed out is
// not to be answered by false: find out whether the lease is held.
func (c *Core) LeaseReply(now time.Time, acquired bool) Output {
	var out Output
	c.resolve(now, sbr.LeaseReply{Acquired: acquired}, &out)
	out.Wake = earlier(c.machineWake, c.resolverWake)
	out.CutOff = c.cutOff(now)
	return out
}

// step passes one input to the machine, and what has changed to the resolver.
func (c *Core) step(now time.Time, in gossip.Input, out *Output) {
	o := c.machine.Step(now, in)
	c.machineWake = o.Wake
	c.history.learn(now, o)
	out.add(o)
	for _, e := range o.Events {
		if _, ok := e.(gossip.Stalled); ok {
			c.resolve(now, sbr.Stalled{}, out)
		}
	}
	if o.View != nil {
		c.closing = c.closing || c.machine.ShuttingDown()
		c.resolve(now, sbr.ViewChanged{View: o.View}, out)
	}
}

// resolve passes one input to the resolver, and whom it downs to the machine.
// Only ticks and lease replies make it down somebody, so the two call each
// other once at most.
func (c *Core) resolve(now time.Time, in sbr.Input, out *Output) {
	if c.closing {
		reply, ok := in.(sbr.LeaseReply)
		out.Release = out.Release || ok && reply.Acquired
		c.resolverWake = time.Time{}
		return
	}
	o := c.resolver.Step(now, in)
	c.resolverWake = o.Wake
	for _, e := range o.Events {
		out.Events = append(out.Events, Downing{News: e})
		if d, ok := e.(sbr.Decision); ok {
			out.Decision = &d
		}
	}
	if o.Acquire != nil {
		out.Acquire = o.Acquire
	}
	out.Release = out.Release || o.Release
	if len(o.Down) > 0 && !slices.Contains(o.Down, c.crashes.self) && c.isCutOff(now) {
		o.Down = []member.ID{c.crashes.self}
	}
	if len(o.Down) > 0 {
		c.step(now, gossip.DownAll{Members: o.Down}, out)
	}
}

// cutOff is Output.CutOff. It rests while the whole cluster shuts down, but not
// before all have seen that: who has not may still place anew what runs here.
func (c *Core) cutOff(now time.Time) time.Time {
	if len(c.crashes.suspects) == 0 {
		return time.Time{}
	}
	if self, _ := c.machine.View().SelfMember(); c.closing && self.Status != member.PreparingForShutdown {
		return time.Time{}
	}
	return c.crashes.cutOff(c.machine.View(), c.machine.Silent(now))
}

// isCutOff tells whether so many links of this node are broken that the others
// may have confirmed its crash. Whatever the strategy says, it must not be the
// one that survives then: they did not ask the strategy.
func (c *Core) isCutOff(now time.Time) bool {
	at := c.cutOff(now)
	return !at.IsZero() && !now.Before(at)
}

// add puts what a further step of the machine wants behind what is there.
func (o *Output) add(next gossip.Output) {
	o.Send = append(o.Send, next.Send...)
	o.Events = append(o.Events, next.Events...)
	if next.View != nil {
		o.View = next.View
	}
	o.StartExiting = o.StartExiting || next.StartExiting
	o.Quarantine = append(o.Quarantine, next.Quarantine...)
	if o.Stop == nil {
		o.Stop = next.Stop
	}
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
