package actor

import "context"

// Start makes an actor's first behavior. It runs at the start and again at each restart, so what it makes belongs to
// one incarnation and is released with [Ctx.Cleanup]. An error means that the actor cannot live.
type Start[M any] func(c *Ctx[M]) (Behavior[M], error)

// Behavior handles one message at a time. A returned error (other than [ErrUnhandled]) and a panic are failures: the
// message becomes a dead letter, a request in it fails with that error, and supervision decides about the actor.
type Behavior[M any] func(c *Ctx[M], m M) error

// A Door takes messages for an address, and a Ref sends through it. A local [Cell] is one, an entity type another.
// A door that is also a [Host] lets asks reuse memory of that host's system.
type Door[M any] interface {
	// Deliver hands m over for key (an entity id; empty for plain actors). nil means handed over; an
	// error means certainly not accepted. It does not block unless documented.
	Deliver(ctx context.Context, key string, m M) error
	// Describe names the recipient for logs and errors.
	Describe(key string) string
}

// Ref is the address of an actor that understands M. Refs are small values; two are == when they mean the same actor.
type Ref[M any] struct {
	door Door[M]
	key  string
}

// NewRef is for packages that route messages, like sharding and remote refs: key is given back to d with each message.
func NewRef[M any](d Door[M], key string) Ref[M] { return Ref[M]{d, key} }

// Tell hands m over and does not wait for it to be handled. An error means that it was certainly not accepted; nil
// promises no more than the hand-over. A local actor's Tell neither blocks nor allocates, and it works with a context
// that is done, so that an actor can tell from its cleanup. The zero Ref refuses with [ErrStopped].
func (r Ref[M]) Tell(ctx context.Context, m M) error {
	switch d := r.door.(type) {
	case *Cell[M]: // spares most tells a dynamic call
		return d.accept(m)
	case nil:
		return ErrStopped
	default:
		return d.Deliver(ctx, r.key, m)
	}
}

// Door gives what takes the messages, for packages that route: an entity's ref leads them to its type. It is nil for the zero Ref.
func (r Ref[M]) Door() Door[M] { return r.door }

// IsZero tells whether r is the zero Ref, which has no actor behind it.
func (r Ref[M]) IsZero() bool { return r.door == nil }

// String names the recipient: the path of a local actor, type and id of an entity.
func (r Ref[M]) String() string {
	if r.door == nil {
		return "nobody"
	}
	return r.door.Describe(r.key)
}
