package shard

import (
	"fmt"
	"sync/atomic"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/wire"
)

// A parcel is a message on its way to an entity.
type parcel[M any] struct {
	id   string
	m    M
	hops uint8 // how often a node passed it on because it was not the home
	*seal

	// origin is where the ask of another node is answered; nil for a tell and for
	// an ask of this node.
	origin *origin

	// deadline is when the asker gives up; zero for a tell and for an ask without limit.
	deadline time.Time

	since   time.Time  // about when it began to wait for a home; zero for not long
	ticket  *ticket[M] // its sender keeps it, and this node has taken it
	arrival *arrival   // its sender keeps it, and this node has not taken it yet
	ask     *asked     // of another node, if it came from there just now
	inOrder bool       // it has been put in order: see Type.Order
}

// A seal is what is known of a parcel once it was encoded.
type seal struct {
	message []byte       // wire name and payload
	pending wire.Pending // the ask that waits for an answer; nil for a tell

	// An ask of this node is registered once, and follows the request from home to home.
	home        troupe.ID
	correlation uint64
}

// An origin is an ask as its own node knows it. Whoever passes the request on
// passes the origin on, too, so that the new home answers there itself.
type origin struct {
	asker       troupe.ID
	correlation uint64
}

// relayed is the replier of a request from another node that knows its origin:
// so it is found again for requests that come back out of a mailbox.
type relayed interface {
	Origin() (asker troupe.ID, correlation uint64)
}

// asked is the [wire.Replier] of a request from another node. It knows what must
// go on with the request when that is passed on.
type asked struct {
	origin
	node  node
	until time.Time // zero if the asker waits without limit
	kept  bool      // the sender keeps the request, and may ask for the answer again

	// The answer, for who sees that there is one; it is given once.
	payload  []byte // nil if it is not to be had again
	failure  error
	answered atomic.Bool
}

// Reply implements wire.Replier.
func (a *asked) Reply(payload []byte) error {
	if a.kept && len(payload) <= maxAnswer {
		a.payload = append(make([]byte, 0, len(payload)), payload...) // not nil
	}
	a.answered.Store(true)
	return a.node.Replier(a.asker, a.correlation).Reply(payload)
}

// Fail implements wire.Replier.
func (a *asked) Fail(err error) error {
	if a.kept {
		a.failure = err
	}
	a.answered.Store(true)
	return a.node.Replier(a.asker, a.correlation).Fail(err)
}

// repeatable tells whether the answer, which was given, can be given again.
func (a *asked) repeatable() bool { return a.payload != nil || a.failure != nil }

// repeat gives it again. A second one that arrives ends nothing.
func (a *asked) repeat() {
	reply := a.node.Replier(a.asker, a.correlation)
	if a.failure != nil {
		_ = reply.Fail(a.failure) // neither returns an error for what the link does not take
		return
	}
	_ = reply.Reply(a.payload)
}

// Deadline is when the asker gives up.
func (a *asked) Deadline() (time.Time, bool) { return a.until, !a.until.IsZero() }

// Origin implements relayed.
func (a *asked) Origin() (asker troupe.ID, correlation uint64) { return a.asker, a.correlation }

// sealed encodes the message, once. It fails for a message that cannot travel.
func (p *parcel[M]) sealed(protocol *wire.Protocol[M]) error {
	if p.seal != nil {
		return nil
	}
	message, pending, err := protocol.Append(nil, p.m)
	if err != nil {
		return fmt.Errorf("encode %T: %w", p.m, err)
	}
	p.bind(&seal{message: message, pending: pending})
	return nil
}

func (p *parcel[M]) bind(s *seal) {
	p.seal = s
	if s.pending != nil && p.origin == nil {
		if from, ok := s.pending.Replier().(relayed); ok {
			p.origin = new(origin)
			p.origin.asker, p.origin.correlation = from.Origin()
		}
	}
	if s.pending != nil && p.deadline.IsZero() {
		p.deadline, _ = s.pending.Deadline()
	}
}

// overdue tells whether the parcel is this node's and has waited for a home since a time.
func (p *parcel[M]) overdue(since time.Time) bool {
	return p.ticket == nil && !p.since.IsZero() && p.since.Before(since)
}

// expired tells whether the parcel is an ask that nobody waits for any more. It
// knows only of those that were sealed, here or by the node that sent them.
func (p *parcel[M]) expired(now time.Time) bool {
	return !p.deadline.IsZero() && !now.Before(p.deadline)
}

// remaining is the time until the deadline as it travels: zero means no limit.
func remaining(deadline, now time.Time) time.Duration {
	if deadline.IsZero() {
		return 0
	}
	return max(deadline.Sub(now), time.Microsecond)
}

// expect gives the correlation id under which home will answer this node's ask;
// zero for a tell.
func (s *seal) expect(n node, home troupe.ID) uint64 {
	switch {
	case s.pending == nil:
		return 0
	case s.correlation == 0:
		s.correlation = n.Expect(home, s.pending)
	case s.home != home:
		n.Redirect(s.correlation, home)
	}
	s.home = home
	return s.correlation
}
