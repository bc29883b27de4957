package actor

import (
	"context"
	"log/slog"
	"time"
)

// StopReason tells why an incarnation ends.
type StopReason uint8

// The reasons.
const (
	Running    StopReason = iota // it does not end
	Finished                     // Ctx.Stop, or a Loop's function returned nil
	Failed                       // a failure; a restart may follow
	Requested                    // from outside: the parent's end, Cell.Stop, Cell.Drain, System.Stop
	Passivated                   // idle: Cell.Passivate
)

// String names the reason.
func (r StopReason) String() string {
	names := [...]string{"running", "finished", "failed", "requested", "passivated"}
	if int(r) < len(names) {
		return names[r]
	}
	return "unknown"
}

// Ctx is what an actor has of itself, one per incarnation. As a context.Context it is done when a stop was asked for or the incarnation has
// failed; those four methods are safe everywhere and after the end. All others belong to the actor: they may be used in Start,
// behavior and cleanup functions only.
type Ctx[M any] struct {
	cell  *Cell[M]
	scope *scope // nil until somebody waits; guarded by the cell's mutex
}

// scope is the standard library's context behind a Ctx that somebody waits on; derived contexts find it there and need no goroutine.
type scope struct {
	ctx    context.Context
	cancel context.CancelFunc
}

func newScope() *scope {
	ctx, cancel := context.WithCancel(context.Background())
	return &scope{ctx, cancel}
}

func (s *scope) close() {
	if s != nil {
		s.cancel()
	}
}

// overLocked ends the context; its caller closes the scope when it holds the cell's mutex no more.
func (c *Ctx[M]) overLocked() *scope {
	switch s := c.scope; s {
	case c.cell.sys.over:
		return nil
	case nil:
		c.scope = c.cell.sys.over
		return nil
	default:
		return s
	}
}

// waited gives the scope, made on first use.
func (c *Ctx[M]) waited() *scope {
	c.cell.mu.Lock()
	defer c.cell.mu.Unlock()
	if c.scope == nil {
		c.scope = newScope()
	}
	return c.scope
}

// Deadline is part of context.Context: an actor has none.
func (c *Ctx[M]) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done is closed when the incarnation is to end. It is made on first use.
func (c *Ctx[M]) Done() <-chan struct{} { return c.waited().ctx.Done() }

// Err is context.Canceled once the incarnation is to end.
func (c *Ctx[M]) Err() error {
	c.cell.mu.Lock()
	defer c.cell.mu.Unlock()
	if c.scope == nil {
		return nil
	}
	return c.scope.ctx.Err()
}

type cellKey struct{}

// Value is part of context.Context; see [Current] for what it knows.
func (c *Ctx[M]) Value(key any) any {
	if key == (cellKey{}) {
		return c.cell
	}
	return c.waited().ctx.Value(key)
}

// Current gives the *Cell[M] of the actor whose Ctx (or Inbox, or a context derived from one) ctx is; nil for any other
// context. A router tells by it an entity's own sends from those of others.
func Current(ctx context.Context) (cell any) { return ctx.Value(cellKey{}) }

// Name is the actor's name, or the entity's id.
func (c *Ctx[M]) Name() string { return c.cell.name }

// Self is the ref by which others should know this actor: an entity's leads to wherever it lives.
func (c *Ctx[M]) Self() Ref[M] {
	if o := c.cell.owner; o != nil && !o.self.IsZero() {
		return o.self
	}
	return c.cell.ref()
}

// Home makes a Ctx a Host: what is spawned there is a child and ends with this incarnation.
func (c *Ctx[M]) Home() Home { return Home{&c.cell.core} }

// Log is the system's logger with the actor's path.
func (c *Ctx[M]) Log() *slog.Logger {
	o := c.cell.owned()
	if o.log == nil {
		o.log = c.cell.sys.log.With("actor", c.cell.path())
	}
	return o.log
}

// Become handles the following messages with b. In a Loop, and in Start, whose result counts, it has no effect.
func (c *Ctx[M]) Become(b Behavior[M]) { c.cell.behavior = b }

// Stop ends the actor after this message (reason Finished). It takes no more messages from here on.
func (c *Ctx[M]) Stop() { c.cell.end(Finished) }

// Cleanup has f run when this incarnation ends, at the stop and before a restart, on the actor, last registered first. The context
// is done by then, but Tell works. A panic in f is logged, and the other functions still run.
func (c *Ctx[M]) Cleanup(f func()) {
	o := c.cell.owned()
	o.cleanups = append(o.cleanups, f)
}

// Stopping tells why the incarnation ends: in cleanup functions, and in a Loop after ErrStopped. It is Running before.
func (c *Ctx[M]) Stopping() StopReason {
	if c.cell.phase == unwinding {
		return c.cell.reason
	}
	return c.cell.stopReason()
}

// owned gives the part of the cell that few actors need, made on first use.
func (c *Cell[M]) owned() *own[M] {
	if c.own == nil {
		c.own = new(own[M])
	}
	return c.own
}
