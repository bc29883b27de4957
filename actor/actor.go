// Package actor runs local actors. SKELETON: signatures are the contract; bodies follow.
package actor

import (
	"context"
	"log/slog"
	"time"
)

// Error is an error that is a constant, so that errors.Is holds on every node.
type Error string

func (e Error) Error() string { return string(e) }

const (
	ErrStopped      = Error("actor: stopped")                 // certainly not accepted
	ErrFull         = Error("actor: mailbox full")            // certainly not accepted; the error that wraps it names the setting
	ErrUnhandled    = Error("actor: message not handled")     // a behavior returns it: dead letter, no failure
	ErrStashFull    = Error("actor: stash full")              //
	ErrNoReply      = Error("actor: stopped without a reply") // an ask whose actor dropped the request or ended
	ErrNameTaken    = Error("actor: name taken")              //
	ErrBadDuration  = Error("actor: negative duration")       //
	ErrNotWatchable = Error("actor: only local actors can be watched")
)

// Start makes an actor's first behavior; it runs at the start and at each restart.
type Start[M any] func(c *Ctx[M]) (Behavior[M], error)

// Behavior handles one message at a time.
type Behavior[M any] func(c *Ctx[M], m M) error

// Request is a message that is answered with an R.
type Request[M, R any] interface{ WithReply(Reply[R]) M }

// A Door takes messages for an address; Ref sends through it. A local cell is one, an entity type another.
type Door[M any] interface {
	// Deliver hands m over for key (an entity id; empty for plain actors). nil means handed over; an
	// error means certainly not accepted. It does not block unless documented.
	Deliver(ctx context.Context, key string, m M) error
	// Describe names the recipient for logs.
	Describe(key string) string
}

// Ref is a comparable address of an actor that understands M.
type Ref[M any] struct {
	door Door[M]
	key  string
}

// NewRef is for packages that route messages (sharding, remote refs).
func NewRef[M any](d Door[M], key string) Ref[M] { return Ref[M]{d, key} }

func (r Ref[M]) Tell(ctx context.Context, m M) error { panic("skeleton") }
func (r Ref[M]) IsZero() bool                        { return r.door == nil }
func (r Ref[M]) String() string                      { panic("skeleton") }

// Ask sends q and waits for the answer, the actor's end, or ctx. R and M are inferred from q.
func Ask[M, R any, Q Request[M, R]](ctx context.Context, to Ref[M], q Q) (R, error) {
	panic("skeleton")
}

// Reply is where the answer to one request goes. The zero Reply discards. At most the first answer counts.
type Reply[R any] struct{ to Responder }

// Responder takes the answer to one request that came from somewhere else (another node).
// Exactly one of its methods is called, at most once.
type Responder interface {
	Respond(v any) error // v is an R
	Fail(err error) error
}

// ReplyTo makes a Reply that answers through r: routing packages attach it when they decode a request.
func ReplyTo[R any](r Responder) Reply[R] { return Reply[R]{r} }

// Send answers. Context is only used for logs and dead letters.
func (r Reply[R]) Send(c context.Context, v R) error { panic("skeleton") }

// Fail answers with an error; the actor goes on.
func (r Reply[R]) Fail(c context.Context, err error) error { panic("skeleton") }

// Promise gives the asker's end of a reply, if r is one made by Ask in this process and still
// waiting: routing packages register it under a correlation id and resolve it when the answer comes.
func (r Reply[R]) Promise() (Promise, bool) { panic("skeleton") }

// A Promise is a pending ask of this process.
type Promise interface {
	// Resolve completes the ask: decode is called with a *R to fill; its error fails the ask.
	Resolve(decode func(into any) error)
	// Reject fails the ask.
	Reject(err error)
	// OnEnd registers f to run once when the asker stops waiting (answered, failed or context ended);
	// at once if it already has. Routing packages drop their table entry there.
	OnEnd(f func())
	// Deadline is when the asker gives up, if ever; the remaining time (never the instant) travels.
	Deadline() (time.Time, bool)
}

// Ctx is what a behavior gets. It is a context.Context, done when the actor stops.
type Ctx[M any] struct{ context.Context }

func (c *Ctx[M]) Name() string                                    { panic("skeleton") } // the entity's id, or the actor's name
func (c *Ctx[M]) Self() Ref[M]                                    { panic("skeleton") }
func (c *Ctx[M]) Log() *slog.Logger                               { panic("skeleton") }
func (c *Ctx[M]) Become(b Behavior[M])                            { panic("skeleton") }
func (c *Ctx[M]) Stop()                                           { panic("skeleton") } // after this message; what is left in the mailbox is returned or dead letters
func (c *Ctx[M]) Cleanup(f func())                                { panic("skeleton") } // LIFO, at stop and before restart, on the actor
func (c *Ctx[M]) Stopping() StopReason                            { panic("skeleton") } // meaningful within Cleanup
func (c *Ctx[M]) After(d time.Duration, m M) error                { panic("skeleton") } // one unkeyed timer
func (c *Ctx[M]) Schedule(key string, d time.Duration, m M) error { panic("skeleton") } // (re)starts the keyed timer
func (c *Ctx[M]) Every(key string, d time.Duration, m M) error    { panic("skeleton") }
func (c *Ctx[M]) Cancel(key string) bool                          { panic("skeleton") }
func (c *Ctx[M]) Go(f func(ctx context.Context) M)                { panic("skeleton") } // f on its own goroutine; result as own message
func (c *Ctx[M]) Stash() error                                    { panic("skeleton") } // the current message
func (c *Ctx[M]) Unstash()                                        { panic("skeleton") } // all, before what is in the mailbox
func (c *Ctx[M]) Home() Home                                      { panic("skeleton") } // so a Ctx is a Host: Spawn(c, ...) makes a child

// Watch delivers m (once, behind all that the actor sent before it ended) when the actor of ref has ended; at once if it already has.
func Watch[M, N any](c *Ctx[M], ref Ref[N], m M) error { panic("skeleton") }

// StopReason tells why an incarnation ends.
type StopReason uint8

const (
	Running    StopReason = iota
	Finished              // c.Stop, or a Loop's function returned nil
	Failed                // a failure; a restart may follow
	Requested             // stopped from outside: parent, Cell.Stop, System.Stop
	Passivated            // idle
)

// Host is a place where actors can be spawned: a System, a node, a parent's Ctx.
type Host interface{ Home() Home }

// Home is opaque.
type Home struct {
	sys *System /* parent */
}

// Spawn starts an actor. It returns after Start has run (on the caller's goroutine or not: helper decides and documents).
func Spawn[M any](h Host, name string, start Start[M], opts ...Option) (Ref[M], error) {
	panic("skeleton")
}

// Option varies one spawn.
type Option interface{ apply(*options) }
type options struct{}

func Restart(limit int, opts ...any) Option { panic("skeleton") } // helper designs: limit, within, back-off
func Mailbox(n int) Option                  { panic("skeleton") } // bound, default System's (100_000?)
func StashLimit(n int) Option               { panic("skeleton") }

// System owns the actors of one node.
type System struct{}

// Config: zero value works.
type Config struct {
	Name       string
	Log        *slog.Logger
	Mailbox    int                      // default bound of a mailbox, messages
	DeadLetter func(DeadLetter)         // called for each; must not block; nil: only counted
	Roundtrip  func(m any) (any, error) // test switch; see wire
}

func NewSystem(cfg Config) *System               { panic("skeleton") }
func (s *System) Home() Home                     { panic("skeleton") }
func (s *System) Stop(ctx context.Context) error { panic("skeleton") } // children before parents, waits, names what hangs
func (s *System) DeadLetters() map[Reason]uint64 { panic("skeleton") }

// Reason says why a message became a dead letter.
type Reason string

// DeadLetter is a message that nobody handled.
type DeadLetter struct {
	To      string
	Message any
	Reason  Reason
}

// Cell is the handle on one local actor for packages that route (package shard): what Ref is for users, plus its life.
type Cell[M any] struct{}

// CellConfig is how a routing package starts an actor that it manages.
type CellConfig[M any] struct {
	Name    string
	Start   Start[M]
	Self    Ref[M]                                       // what c.Self() gives; zero: the cell itself
	Ended   func(left []M, reason StopReason, err error) // called once, off the actor's lock, after cleanup: stash and mailbox in order are left to the owner instead of dead letters
	Options []Option
}

func NewCell[M any](h Host, cfg CellConfig[M]) (*Cell[M], error) { panic("skeleton") }

// Deliver pushes; ErrStopped once closed (stopping, draining, passivating), ErrFull. Zero allocations.
func (c *Cell[M]) Deliver(ctx context.Context, key string, m M) error { panic("skeleton") }
func (c *Cell[M]) Describe(string) string                             { panic("skeleton") }

// Drain closes the mailbox to new messages, lets the behavior work off what is in it, then stops (reason Requested).
func (c *Cell[M]) Drain() { panic("skeleton") }

// Stop closes the mailbox and stops after the message in hand.
func (c *Cell[M]) Stop() { panic("skeleton") }

// Passivate closes and stops the actor if its mailbox is empty and nothing runs, no Go is pending; false otherwise (nothing changed).
func (c *Cell[M]) Passivate() bool { panic("skeleton") }

// IdleSince is the coarse (about a second) monotonic time of the last message.
func (c *Cell[M]) IdleSince() time.Time { panic("skeleton") }

// Loop makes an actor of a plain function with an inbox, on its own goroutine.
func Loop[M any](run func(in *Inbox[M]) error) Start[M] { panic("skeleton") }

// Inbox is a Loop's end of its mailbox, and its context (Name, Self, Log, Go-less).
type Inbox[M any] struct{ *Ctx[M] }

// Next waits for the next message; ErrStopped when the actor is to stop (after draining, if drained); ctx's error.
func (in *Inbox[M]) Next(ctx context.Context) (M, error) { panic("skeleton") }

// NextWithin waits at most d; ok is false when nothing came.
func (in *Inbox[M]) NextWithin(d time.Duration) (m M, ok bool, err error) { panic("skeleton") }
