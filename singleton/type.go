package singleton

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/wire"
)

// A Type declares a singleton. Name, Start and Protocol are required; the zero
// values of the other fields mean the defaults beside them. Role must be the same on all nodes,
// or there may be two instances; Spread, and whether there is a Lease, should be.
type Type[M any] struct {
	// Name of the singleton, the same on all nodes: letters, digits, - _ and dots.
	Name string
	// Start makes the instance's first behavior. In it, c.Name() is Name and c.Self()
	// the ref that leads to the instance wherever it is later.
	Start actor.Start[M]
	// StartLeased is what takes the place of Start for an instance that guards what it
	// writes: held reads the clock and tells whether the lease is held at this moment, and
	// with which token. It needs Lease.
	StartLeased func(c *actor.Ctx[M], held func() (store.Token, bool)) (actor.Behavior[M], error)
	// Protocol names the messages that the instance takes. Others are refused at
	// Tell, also on its own node.
	Protocol *wire.Protocol[M]

	// Role limits the instance to nodes that have it; the others only send. Default:
	// any node.
	Role string
	// Spread draws the node by the singleton's name (rendezvous hashing over the nodes
	// that are Up) so that several singletons share the nodes out, and one of them moves when a node
	// comes that is the better place. Default: all are on the oldest node, and stay there.
	Spread bool

	// Stop is told to the instance when it must end, behind all other messages; it
	// then has to call c.Stop. It need not be in Protocol. Default (nil, if M is
	// an interface): the instance works off what it has been told, and is stopped.
	Stop M
	// StopWithin is how long that may take; then it is stopped after the message in
	// hand, and what is left goes to its successor. Default 10 s. The node's LeaveWithin must
	// have room for it: a leave has 17/28 of that for handing over.
	StopWithin time.Duration

	// Lease has the instance hold the lease "singleton/CLUSTER/NAME" there. It starts
	// once that is held, and is stopped as soon as it is lost. Default: none.
	Lease store.Leases
	// LeaseTTL is how long the lease lasts without the store, and so how long others wait
	// for it after a crash. Default 10 s.
	LeaseTTL time.Duration

	// Buffer is how many messages may wait on this node for the instance. Beyond it Tell
	// fails with [actor.ErrFull]; as many again that were accepted before may come back
	// from an instance that has ended. Default 10,000.
	Buffer int
	// Patience is how long a message may wait there. Default 1 min.
	Patience time.Duration
	// Mailbox is how many messages may wait in the instance's mailbox. Default: the node's.
	Mailbox int
	// Options vary how the instance runs, such as [actor.Restart]. One that fails for good, or
	// stops itself, starts again in the same place: after 200 ms, and twice as long each
	// time, up to 30 s.
	Options []actor.Option

	// Retry is the longest time between two questions to another node that has not
	// answered. Default 1 s.
	Retry time.Duration
}

const (
	defaultStopWithin = 10 * time.Second
	defaultLeaseTTL   = 10 * time.Second
	defaultBuffer     = 10_000
	defaultPatience   = time.Minute
	defaultRetry      = time.Second
	closeWithin       = 5 * time.Second
)

var typeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// withDefaults fills in the defaults and reports all problems together.
func (t Type[M]) withDefaults() (Type[M], error) {
	err := t.validate()
	t.StopWithin = cmp.Or(t.StopWithin, defaultStopWithin)
	t.LeaseTTL = cmp.Or(t.LeaseTTL, defaultLeaseTTL)
	t.Buffer = cmp.Or(t.Buffer, defaultBuffer)
	t.Patience = cmp.Or(t.Patience, defaultPatience)
	t.Retry = cmp.Or(t.Retry, defaultRetry)
	if t.Mailbox > 0 {
		t.Options = append(t.Options[:len(t.Options):len(t.Options)], actor.Mailbox(t.Mailbox))
	}
	return t, err
}

func (t Type[M]) validate() error {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	check(typeName.MatchString(t.Name), "Name %q: use 1 to 128 letters, digits, - _ and dots, a letter or digit first", t.Name)
	check(t.Start != nil || t.StartLeased != nil, "Start is nil: it makes the instance's behavior")
	check(t.Start == nil || t.StartLeased == nil, "Start and StartLeased are both set: use one")
	check(t.StartLeased == nil || t.Lease != nil, "StartLeased is set without Lease, so that there is no token: set Lease, or use Start")
	check(t.Protocol != nil, "Protocol is nil: it names the messages that travel; see wire.NewProtocol")
	check(t.LeaseTTL == 0 || t.Lease != nil, "LeaseTTL is %s without Lease: leave it out", t.LeaseTTL)
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"StopWithin", t.StopWithin},
		{"LeaseTTL", t.LeaseTTL},
		{"Patience", t.Patience},
		{"Retry", t.Retry},
	} {
		check(d.value >= 0, "%s is %s: it must be positive", d.name, d.value)
	}
	check(t.Buffer >= 0, "Buffer is %d: it cannot be negative", t.Buffer)
	check(t.Mailbox >= 0, "Mailbox is %d: it cannot be negative", t.Mailbox)
	return errors.Join(problems...)
}

// stops tells whether the instance ends by a message of its own.
func (t Type[M]) stops() bool {
	return any(t.Stop) != nil && reflect.TypeFor[M]().Kind() == reflect.Interface
}

// agree is what all nodes must declare alike.
func (t Type[M]) agree() string {
	return fmt.Sprintf("role %.64q, spread %t, lease %t", t.Role, t.Spread, t.Lease != nil)
}
