package actor

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// Cell is the handle on one local actor for packages that route: what a [Ref] is for users, plus the actor's life.
// All its methods are safe everywhere and return at once.
type Cell[M any] struct {
	core
	box mailbox[M] // guarded by mu

	// The runner's (see core).
	hand     *chunk[M] // taken out of the mailbox, or unstashed; goes before it
	at       *slot[M]  // the message in hand
	behavior Behavior[M]
	start    Start[M]
	ctx      *Ctx[M] // of this incarnation
	first    Ctx[M]  // of the first
	own      *own[M] // nil until needed

	kind  *kind[M]
	owner *owner[M] // nil for a spawned actor
}

// owner is the routing package's part in its cell.
type owner[M any] struct {
	self  Ref[M]
	ended func(left []Leftover[M], reason StopReason, err error)
	seen  atomic.Int64 // when the last message was taken, since the system's start
}

// own is what few actors need.
type own[M any] struct {
	notes    notes[M]
	cleanups []func()
	stash    []slot[M]
	loop     *loop[M]
	log      *slog.Logger
	failure  error // recorded, not yet acted upon
	cause    error // the last one acted upon
	restarts []time.Time
	again    bool // unwinding to start again, after delay
	delay    time.Duration
	elapsed  bool // the delay is over; guarded by mu
}

// CellConfig is how a routing package starts an actor that it manages.
type CellConfig[M any] struct {
	// Name is what c.Name() gives. The owner sees to it that it is unique, if it must be.
	Name string
	// Start makes the behavior.
	Start Start[M]
	// Self is what c.Self() gives; zero for the cell itself.
	Self Ref[M]
	// Ended is called once, on the actor, after its cleanup and before watchers and the parent know. left is what was not
	// handled, in order: stash, then mailbox. It, with its receipts, is the owner's to send again; without Ended it becomes dead letters. err is
	// the failure that ended it, if one did.
	Ended func(left []Leftover[M], reason StopReason, err error)
	// Options are those of Spawn.
	Options []Option
}

// NewCell makes a managed child of h. It returns at once and Deliver works at once: Start runs on a worker before the first message, and
// when it fails supervision decides as about any failure, so that finally Ended is called with the messages. The
// errors are ErrStopped when h is ending, and ErrBadOption.
func NewCell[M any](h Host, cfg CellConfig[M]) (*Cell[M], error) {
	c, err := newCell(h.Home(), cfg.Name, cfg.Start, cfg.Options)
	if err != nil {
		return nil, fmt.Errorf("new cell: %w", err)
	}
	c.owner = &owner[M]{self: cfg.Self, ended: cfg.Ended}
	c.owner.saw(c.sys)
	if err := c.adopt(false); err != nil {
		return nil, fmt.Errorf("new cell: %w", err)
	}
	c.enqueue(true)
	return c, nil
}

// newCell makes a cell whose runner is the caller.
func newCell[M any](home Home, name string, start Start[M], opts []Option) (*Cell[M], error) {
	if home.parent == nil {
		return nil, fmt.Errorf("%w: no host", ErrStopped)
	}
	sys := home.parent.sys
	k, err := kindOf[M](sys, opts)
	if err != nil {
		return nil, err
	}
	c := &Cell[M]{start: start, kind: k}
	c.sys, c.parent, c.impl, c.name, c.queued = sys, home.parent, c, name, true
	c.first.cell = c
	c.ctx = &c.first
	return c, nil
}

// ref addresses the cell.
func (c *Cell[M]) ref() Ref[M] { return Ref[M]{door: c} }

// Home lets asks find the system; children are spawned from the actor's own Ctx.
func (c *Cell[M]) Home() Home { return Home{&c.core} }

func (c *Cell[M]) hold() *Hold { return c.kind.hold }

func (c *Cell[M]) address() string {
	if c.owner == nil || c.owner.self.IsZero() {
		return ""
	}
	return c.owner.self.String()
}

// Describe gives the actor's path.
func (c *Cell[M]) Describe(string) string { return c.path() }

// Deliver puts m into the mailbox. After nil, m will be handled, or be handed to Ended, or be a dead letter; after an error it was
// certainly not accepted: ErrStopped once the actor is stopping, draining or passivating, ErrFull at the bound. It
// neither blocks nor allocates. The context is not looked at.
func (c *Cell[M]) Deliver(_ context.Context, _ string, m M) error { return c.accept(m) }

func (c *Cell[M]) accept(m M) error {
	if c.kind.roundtrip != nil {
		var err error
		if m, err = c.roundtrip(m); err != nil {
			return err
		}
	}
	c.mu.Lock()
	return c.acceptLocked(m, nil)
}

// acceptLocked puts m into the mailbox, with its receipt if it has one, or refuses it, and lets go of mu, which is held.
func (c *Cell[M]) acceptLocked(m M, n *note[M]) error {
	if c.closed || !c.hasRoom() {
		defer c.mu.Unlock()
		return c.refuse()
	}
	c.waiting++
	c.box.push(c.kind.chunks, m, n)
	ready := c.arrived()
	c.mu.Unlock()
	c.enqueue(ready)
	return nil
}

// post delivers one of the actor's own messages, which no bound refuses. done is the number of Go functions that have ended with it.
func (c *Cell[M]) post(n *note[M], done int32) {
	c.mu.Lock()
	c.aside -= done
	if c.phase < ended {
		var none M
		c.box.push(c.kind.chunks, none, n)
	}
	ready := c.arrived() || c.wake()
	c.mu.Unlock()
	c.enqueue(ready)
}

// arrived tells the one who handles messages that there is one; with ready the caller must queue the cell. mu is held.
func (c *Cell[M]) arrived() (ready bool) {
	switch c.phase {
	case running:
		ready = !c.queued
		c.queued = true
	case looping:
		c.own.loop.signal()
	case starting, unwinding, backingOff, ended, told: // who gets it running looks into the mailbox
	}
	return ready
}

func (c *Cell[M]) refuse() error {
	if c.closed {
		return &refusal{to: &c.core, err: ErrStopped}
	}
	return &refusal{to: &c.core, limit: c.kind.mailbox, err: ErrFull}
}

// roundtrip gives m as its recipient is to see it.
func (c *Cell[M]) roundtrip(m M) (M, error) {
	v, err := c.kind.roundtrip(m)
	if err != nil {
		return m, fmt.Errorf("tell %s: %w", c.path(), err)
	}
	back, ok := v.(M)
	if !ok {
		return m, fmt.Errorf("tell %s: a roundtrip made %T of %T", c.path(), v, m)
	}
	return back, nil
}

// Drain closes the mailbox to new messages, lets the actor work off what is in it and what its Go functions bring, then stops it
// (reason Requested). It does not wait for timers and watches, and for a function that never returns only Stop helps.
func (c *Cell[M]) Drain() {
	c.mu.Lock()
	ready := c.drainLocked(nil)
	c.mu.Unlock()
	c.enqueue(ready)
}

// DrainWith is Drain with a last message, behind all others, which no bound refuses. An actor that was closed before does not get it.
func (c *Cell[M]) DrainWith(last M) {
	c.mu.Lock()
	ready := c.drainLocked(&last)
	c.mu.Unlock()
	c.enqueue(ready)
}

// drainLocked asks for the end behind what is in the mailbox, and last if that is given. With ready the caller must queue the
// cell; mu is held.
func (c *Cell[M]) drainLocked(last *M) (ready bool) {
	if last != nil && !c.closed {
		c.waiting++
		c.box.push(c.kind.chunks, *last, nil)
		ready = c.arrived()
	}
	c.closeLocked()
	c.draining = true
	if c.phase == looping {
		c.own.loop.signal()
	}
	return c.wake() || ready
}

// Stop closes the mailbox and stops the actor after the message in hand (reason Requested).
func (c *Cell[M]) Stop() { c.end(Requested) }

// Passivate closes and stops the actor (reason Passivated) if it is idle: its mailbox and stash are empty, nothing runs and no Go function is
// pending; timers do not count. Otherwise nothing has changed and it returns false. A Loop is idle while it waits for a message.
func (c *Cell[M]) Passivate() bool {
	c.mu.Lock()
	idle := c.idleLocked()
	var scope *scope
	ready := false
	if idle {
		scope, ready = c.endLocked(Passivated)
	}
	c.mu.Unlock()
	scope.close()
	c.enqueue(ready)
	return idle
}

// PassivateWith is Passivate with a last message, as DrainWith is Drain with one (reason Requested): the actor ends when it has handled it.
func (c *Cell[M]) PassivateWith(last M) bool {
	c.mu.Lock()
	idle, ready := c.idleLocked(), false
	if idle {
		ready = c.drainLocked(&last)
	}
	c.mu.Unlock()
	c.enqueue(ready)
	return idle
}

func (c *Cell[M]) idleLocked() bool {
	return !c.queued && !c.closed && c.aside == 0 && c.box.first == nil && c.resting()
}

// resting tells whether nothing is in the hands of an actor that does not run; mu is held.
func (c *Cell[M]) resting() bool {
	switch {
	case c.phase == looping && !c.own.loop.waiting:
		return false
	case c.phase != running && c.phase != looping:
		return false
	}
	return c.hand == nil && (c.own == nil || len(c.own.stash) == 0)
}

// IdleSince is about when the last message was taken out of the mailbox, or the cell was made. Only managed cells keep it.
func (c *Cell[M]) IdleSince() time.Time {
	if c.owner == nil {
		return c.sys.start
	}
	return c.sys.start.Add(time.Duration(c.owner.seen.Load()))
}

func (o *owner[M]) saw(s *System) { o.seen.Store(int64(s.now())) }

func (c *Cell[M]) end(reason StopReason) {
	c.mu.Lock()
	scope, ready := c.endLocked(reason)
	c.mu.Unlock()
	scope.close()
	c.enqueue(ready)
}

// endLocked asks for the end. The caller, once it has let go of mu, closes the scope and queues the cell if ready.
func (c *Cell[M]) endLocked(reason StopReason) (s *scope, ready bool) {
	c.closeLocked()
	if !c.ending.CompareAndSwap(uint32(Running), uint32(reason)) {
		return nil, false
	}
	if c.phase == looping {
		c.own.loop.signal()
	}
	return c.ctx.overLocked(), c.wake()
}

// wake marks the cell as queued if something is due and it is not yet; then the caller must queue it. mu is held.
func (c *Cell[M]) wake() bool {
	if c.queued || !c.due() {
		return false
	}
	c.queued = true
	return true
}

func (c *Cell[M]) poke() {
	c.mu.Lock()
	if c.phase == looping {
		c.own.loop.signal()
	}
	ready := c.wake()
	c.mu.Unlock()
	c.enqueue(ready)
}
