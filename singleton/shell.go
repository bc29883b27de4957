package singleton

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"sync"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/singleton/internal/owner"
	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/wire"
)

// A shell is a node's part in a singleton: the door of its ref, where messages wait,
// and the hands of the core.
type shell[M any] struct {
	node    *troupe.Node
	self    troupe.ID
	typ     Type[M]
	log     *slog.Logger
	drops   drops
	control *control
	keeper  *keeper // nil without a lease
	port    *troupe.Port
	lane    transport.Lane
	ready   chan struct{} // closed when the above is set: frames may come before

	mu    sync.Mutex
	route owner.Term // where messages go; zero: they wait
	here  instance[M]
	over  bool // the node ends

	// What waits for the route: first what came back, then what was told here.
	back, buffer []parcel
	expireAt     time.Time // when it is looked through for what has waited too long
}

func newShell[M any](n *troupe.Node, t Type[M]) *shell[M] {
	log := n.Log().With(slog.String("singleton", t.Name))
	s := &shell[M]{
		node: n, self: n.ID(), typ: t, log: log, ready: make(chan struct{}),
		drops: drops{log: log, by: map[Drop]uint64{}, said: map[Drop]time.Time{}},
	}
	core := owner.New(s.self, owner.Settings{
		Name: t.Name, Role: t.Role, Spread: t.Spread, Lease: t.Lease != nil, Agree: t.agree(),
		Retry: t.Retry, CloseWithin: closeWithin, Margin: n.DowningMargin,
	})
	s.control = newControl(t.Name, core, s, n.Paused)
	return s
}

// Describe names the instance.
func (s *shell[M]) Describe(string) string { return "singleton " + s.typ.Name }

// Home makes the door a Host, so that asks reuse memory of the node's actor system.
func (s *shell[M]) Home() actor.Home { return s.node.Home() }

// Deliver is Tell.
func (s *shell[M]) Deliver(ctx context.Context, _ string, m M) error {
	if err := s.typ.Protocol.Check(m); err != nil {
		return s.refuse(err)
	}
	if s.node.Roundtrip() {
		var err error
		if m, err = s.typ.Protocol.Roundtrip(m); err != nil {
			return s.refuse(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		return s.refuse(ErrEnded)
	case s.route.IsZero() || len(s.back)+len(s.buffer) > 0:
		return s.keep(m)
	case s.route.Node != s.self:
		return s.tellRemote(m)
	case !s.takes():
		return s.keep(m)
	}
	err := s.here.cell.Deliver(ctx, "", m)
	if errors.Is(err, actor.ErrStopped) { // it has just ended
		return s.keep(m)
	}
	return s.refuse(err)
}

// refuse tells a teller whose message was not taken, and why; nil stays nil. A full
// lane is a full queue like any other.
func (s *shell[M]) refuse(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, transport.ErrFull):
		return fmt.Errorf("tell %s: %w: %w", s.Describe(""), actor.ErrFull, err)
	}
	return fmt.Errorf("tell %s: %w", s.Describe(""), err)
}

// keep has a teller's message wait. The lock is held, as for all that follows.
func (s *shell[M]) keep(m M) error {
	if len(s.buffer) >= s.typ.Buffer {
		return s.full()
	}
	p, err := s.seal(m)
	if err != nil {
		return s.refuse(err)
	}
	s.wait(&s.buffer, p)
	return nil
}

func (s *shell[M]) full() error {
	return s.refuse(fmt.Errorf("%d messages wait on this node for its instance (Type.Buffer): %w", s.typ.Buffer, actor.ErrFull))
}

// wait puts a parcel into a queue; the loop has to look after it.
func (s *shell[M]) wait(queue *[]parcel, p parcel) {
	*queue = append(*queue, p)
	s.control.posts.Signal()
}

// accept has a parcel wait that was accepted before: it is dropped where a teller
// would be refused.
func (s *shell[M]) accept(queue *[]parcel, p parcel) {
	p.since = time.Now()
	if len(*queue) >= s.typ.Buffer {
		s.drop(p, DropFull, s.full())
		return
	}
	s.wait(queue, p)
}

// seal encodes a message. If it is an ask it is registered for its answer.
func (s *shell[M]) seal(m M) (parcel, error) {
	body, pending, err := s.typ.Protocol.Append(nil, m)
	if err != nil {
		return parcel{}, err
	}
	p := parcel{body: body, since: time.Now()}
	if pending == nil {
		return p, nil
	}
	p.deadline, _ = pending.Deadline()
	asker, correlation, elsewhere := origin(pending)
	switch {
	case !elsewhere:
		p.correlation = s.node.Expect(s.self, pending)
	case asker == s.self:
		p.correlation = correlation
	default:
		p.asker, p.correlation = asker, correlation
	}
	return p, nil
}

// tellRemote encodes a teller's message and hands it to the link.
func (s *shell[M]) tellRemote(m M) error {
	to := s.route.Node
	var p parcel
	body, pending, err := s.typ.Protocol.Append(make([]byte, parcelHead, 128), m)
	if err != nil {
		return s.refuse(err)
	}
	if pending != nil {
		p.deadline, _ = pending.Deadline()
		p.correlation = s.node.Expect(to, pending)
	}
	p.head(body[:0], frameMessage, time.Now())
	err = s.port.Send(to, s.lane, body)
	if gone(err) { // its removal is about to be heard of
		p.body, p.since = body[parcelHead:], time.Now()
		s.wait(&s.buffer, p)
		return nil
	}
	return s.refuse(err)
}

func gone(err error) bool {
	return errors.Is(err, transport.ErrClosed) || errors.Is(err, transport.ErrQuarantined)
}

// flush sends on what waits, in order, as far as it goes. It tells whether it has to
// be tried again soon.
func (s *shell[M]) flush(now time.Time) (stuck bool) {
	for _, queue := range [...]*[]parcel{&s.here.inbox, &s.back, &s.buffer} {
		sent := 0
		for sent < len(*queue) && !stuck {
			done, full := s.forward(now, &(*queue)[sent], queue == &s.here.inbox)
			if stuck = full; !done {
				break
			}
			sent++
		}
		if *queue = slices.Delete(*queue, 0, sent); len(*queue) > 0 && queue != &s.here.inbox {
			return stuck
		}
		if len(*queue) == 0 {
			*queue = nil
		}
	}
	return stuck
}

// forward lets go of a parcel if it can: sent, or dropped because it can never be.
// What was in line for the instance here goes nowhere else while that lives.
func (s *shell[M]) forward(now time.Time, p *parcel, inbox bool) (done, full bool) {
	var err error
	why := DropUnsent
	switch {
	case p.expired(now):
		s.drop(*p, DropExpired, context.DeadlineExceeded)
		return true, false
	case inbox || s.route.Node == s.self:
		if !s.takes() {
			return false, false
		}
		why, err = DropMessage, s.deliver(*p)
	case s.route.IsZero():
		return false, false
	default:
		err = s.send(s.route.Node, p)
	}
	switch {
	case err == nil:
		if !inbox {
			s.redirect(*p, s.route.Node)
		}
		return true, false
	case errors.Is(err, actor.ErrFull), errors.Is(err, transport.ErrFull):
		return false, true
	case gone(err), errors.Is(err, actor.ErrStopped):
		return false, false
	}
	s.drop(*p, why, err)
	return true, false
}

// deliver puts a parcel into the mailbox of the instance here.
func (s *shell[M]) deliver(p parcel) error {
	var reply wire.Replier
	if p.correlation != 0 {
		asker := p.asker
		if asker.IsZero() {
			asker = s.self
		}
		reply = asked{s.node.Replier(asker, p.correlation), asker, p.correlation, p.deadline}
	}
	m, err := s.typ.Protocol.Decode(p.body, reply)
	if err != nil {
		return err
	}
	return s.here.cell.Deliver(context.Background(), "", m)
}

// send hands a parcel to the link.
func (s *shell[M]) send(to troupe.ID, p *parcel) error {
	kind := frameMessage
	if !p.asker.IsZero() {
		kind = frameRelayed
	}
	return s.port.Send(to, s.lane, append(p.head(nil, kind, time.Now()), p.body...))
}

// redirect tells the node that asked where its request is now: when that node is
// removed the ask has ended, and not when another is.
func (s *shell[M]) redirect(p parcel, to troupe.ID) {
	switch {
	case p.correlation == 0:
	case p.asker.IsZero():
		s.node.Redirect(p.correlation, to)
	default:
		frame := binary.BigEndian.AppendUint64([]byte{frameRedirect}, p.correlation)
		_ = s.port.Send(p.asker, s.lane, owner.AppendNode(frame, to)) // without it the ask may end too early, with an error that says so
	}
}

// drop lets go of an accepted message: it is counted, its asker is told why, and
// the node's actor system makes it a dead letter.
func (s *shell[M]) drop(p parcel, why Drop, err error) {
	s.drops.add(why, slog.Any("error", err))
	if p.correlation != 0 {
		asker := p.asker
		if asker.IsZero() {
			asker = s.self
		}
		_ = s.node.Replier(asker, p.correlation).Fail(s.refuse(err)) // the asker's own deadline covers a reply that cannot be sent
	}
	letter := actor.DeadLetter{To: s.Describe(""), Reason: actor.Reason(why)}
	if m, err := s.typ.Protocol.Decode(p.body, nil); err == nil {
		letter.Message = m
	}
	s.node.Home().System().Drop(letter)
}

// expire drops what has waited for too long.
func (s *shell[M]) expire(now time.Time) {
	if now.Before(s.expireAt) {
		return
	}
	s.expireAt = now.Add(min(time.Second, s.typ.Patience))
	for _, queue := range [...]*[]parcel{&s.here.inbox, &s.back, &s.buffer} {
		*queue = slices.DeleteFunc(*queue, func(p parcel) bool {
			switch {
			case p.expired(now):
				s.drop(p, DropExpired, context.DeadlineExceeded)
			case now.Sub(p.since) >= s.typ.Patience:
				s.drop(p, DropPatience, ErrNoOwner)
			default:
				return false
			}
			return true
		})
	}
}

func (s *shell[M]) way() (troupe.ID, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.route.Node, !s.route.IsZero()
}

func (s *shell[M]) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.here.inbox) + len(s.back) + len(s.buffer)
}

func hashOf(name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()
}
