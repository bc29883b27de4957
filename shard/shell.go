package shard

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/placement"
)

// A shell is a node's part in a type: the door of its entities' refs, and the
// hands of the protocol's cores.
type shell[M any] struct {
	node    node
	port    port
	self    troupe.ID
	log     *slog.Logger
	typ     Type[M]
	options []actor.Option
	control *control
	ready   chan struct{} // closed when port is set: frames may come before

	// slots are made on first use: one for each number from 0 on, then one for
	// each negative number, since a ShardFunc may give some; see placement.JavaHash.
	slots []atomic.Pointer[slot[M]]

	known     known
	active    directory[M]
	count     atomic.Int64 // of the entities
	limit     limits[M]    // empty if there are none
	rests     *rests
	keeper    *keeper[M]   // nil if nothing is remembered
	recovery  *recovery[M] // of what is remembered, or always lives; nil if nothing is
	always    always
	roundtrip bool // local messages are encoded and decoded too

	room     room
	stuck    line      // of those who wait until full lanes and mailboxes are tried again
	frames   sync.Pool // of *[]byte
	counts   counts
	complain *complaints
	ended    atomic.Bool

	// For what is delivered at least once.
	reliable bool // the type is
	confirms confirms[M]
	beating  atomic.Bool // this node keeps messages, or did a moment ago
	settled  line        // of those who wait until they are confirmed

	began    time.Time
	orderDue alarm // when the next message that waits to be put in order is due, since began

	// The loop's.
	drains   []drain[M]
	expireAt time.Time
	sweep    sweep
	loads    *loads // nil: the strategy does not go by them

	confirmAt, confirmedAt, beatAt time.Time
}

func (r *shell[M]) ref(id string) actor.Ref[M] { return actor.NewRef[M](r, id) }

// Describe names an entity, as type/id.
func (r *shell[M]) Describe(id string) string { return r.typ.Name + "/" + id }

// Deliver is Tell. This is the whole way of a message to an entity that is active
// here: a look at its type, a look for its id, and a push into its mailbox.
func (r *shell[M]) Deliver(ctx context.Context, id string, m M) error {
	if t := typeOf(m); !r.known.has(t) {
		if err := r.typ.Protocol.Check(m); err != nil {
			return r.refuse(id, err)
		}
		r.known.add(t)
	}
	if r.roundtrip {
		var err error
		if m, err = r.typ.Protocol.Roundtrip(m); err != nil {
			return r.refuse(id, err)
		}
	}
	if e, cell := r.way(id); cell != nil {
		e.used()
		err := cell.Deliver(ctx, id, m)
		if err == nil {
			if r.loads != nil {
				e.home.s.meter.messages.Add(1)
			}
			return nil
		}
		// It may just have closed: a passivation, a move, a crash.
		if !errors.Is(err, actor.ErrStopped) {
			return r.refuse(id, err)
		}
	}
	s, err := r.slotOf(id)
	if err != nil {
		return r.refuse(id, err)
	}
	return s.tell(ctx, parcel[M]{id: id, m: m})
}

// way is the direct way to an entity. There is none where messages are put in order.
func (r *shell[M]) way(id string) (*entity[M], *actor.Cell[M]) {
	if r.typ.Order != nil {
		return nil, nil
	}
	return r.active.way(id)
}

// known remembers the message types that the protocol has names for: comparing a
// few addresses is quicker than looking one up.
type known [8]atomic.Pointer[byte]

// has compares with the known ones, the first ones first. A nil message has no
// type.
func (k *known) has(t *byte) bool {
	for i := range k {
		if k[i].Load() == t {
			return t != nil
		}
	}
	return false
}

// add keeps the first few types, each at most once.
func (k *known) add(t *byte) {
	for i := range k {
		if k[i].CompareAndSwap(nil, t) || k[i].Load() == t {
			return
		}
	}
}

// typeOf gives the address of the description of m's type.
func typeOf[M any](m M) *byte {
	t := reflect.TypeOf(m) // an interface, whose second word is the address
	return (*[2]*byte)(unsafe.Pointer(&t))[1]
}

// slotOf finds the slot of an entity's shard.
func (r *shell[M]) slotOf(id string) (*slot[M], error) {
	if id == "" {
		return nil, ErrNoID
	}
	if err := r.typ.memorable(id); err != nil {
		return nil, err
	}
	number, err := numberOf(r.typ.ShardOf, id, r.typ.Shards)
	if err != nil {
		return nil, err
	}
	if s, ok := r.slotNumbered(number); ok {
		return s, nil
	}
	return nil, fmt.Errorf("ShardOf gives %d for %q, with %d shards: %w", number, id, r.typ.Shards, ErrShardNumber)
}

func (r *shell[M]) slotNumbered(number int) (*slot[M], bool) {
	i := number
	if number < 0 {
		i = len(r.slots)/2 - 1 - number
	}
	if i < 0 || i >= len(r.slots) || number >= len(r.slots)/2 {
		return nil, false
	}
	if s := r.slots[i].Load(); s != nil {
		return s, true
	}
	name := placement.ShardText(number)
	h := fnv.New32a()
	h.Write([]byte(name))
	s := &slot[M]{r: r, shard: name, number: number, lane: r.port.Lane(h.Sum32())}
	s.keeps = s.stays
	r.slots[i].CompareAndSwap(nil, s)
	return r.slots[i].Load(), true
}

// slotNamed finds a slot by the text that travels.
func (r *shell[M]) slotNamed(shard string) (*slot[M], bool) {
	number, ok := shardNumber(shard, r.typ.Shards)
	if !ok {
		return nil, false
	}
	return r.slotNumbered(number)
}

// shardNumber reads the text that travels; ok is false unless it is that of one
// of so many shards, or of a negative number that a ShardFunc may give.
func shardNumber(text string, shards int) (number int, ok bool) {
	number, err := strconv.Atoi(text)
	return number, err == nil && placement.ShardText(number) == text && -shards <= number && number < shards
}

// allSlots yields the slots that are in use, by number, negative ones last.
func (r *shell[M]) allSlots() iter.Seq[*slot[M]] {
	return func(yield func(*slot[M]) bool) {
		for i := range r.slots {
			if s := r.slots[i].Load(); s != nil && !yield(s) {
				return
			}
		}
	}
}

// tellRemote encodes a teller's message once and hands it to the link.
func (s *slot[M]) tellRemote(ctx context.Context, rt *route[M], p parcel[M]) error {
	if s.r.control.disagrees.Load() {
		return s.r.refuse(p.id, ErrDisagree)
	}
	b := s.r.frame()
	defer s.r.putFrame(b)
	e := envelope{kind: frameMessage, shard: int32(s.number), id: p.id}
	if s.r.reliable {
		e.flags, e.number = flagKept, 1 // the number is filled in
	}
	head := e.append((*b)[:0])
	frame, pending, err := s.r.typ.Protocol.Append(head, p.m)
	*b = frame
	if err != nil {
		return s.r.refuse(p.id, err)
	}
	var deadline time.Time
	if pending != nil {
		deadline, _ = pending.Deadline()
		binary.BigEndian.PutUint64(frame[atRemaining:], uint64(remaining(deadline, time.Now()).Microseconds()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.direct.Load() != rt { // it moves: wait with the others
		p.bind(&seal{message: slices.Clone(frame[len(head):]), pending: pending})
		return s.place(ctx, p)
	}
	if s.r.reliable {
		return s.postNew(rt, p, frame, len(head), pending)
	}
	var correlation uint64
	if pending != nil {
		correlation = s.r.node.Expect(rt.home, pending)
	}
	address(frame, rt.epoch, correlation)
	err = s.r.port.Send(rt.home, s.lane, frame)
	if gone(err) {
		p.bind(&seal{message: slices.Clone(frame[len(head):]), pending: pending, home: rt.home, correlation: correlation})
	}
	return s.sent(p, err)
}

// send hands a parcel to the link. An error means that it was not taken.
func (s *slot[M]) send(rt *route[M], p *parcel[M]) error {
	if err := p.sealed(s.r.typ.Protocol); err != nil {
		return err
	}
	e := envelope{
		kind: frameMessage, hops: p.hops, shard: int32(s.number), epoch: rt.epoch,
		remaining: remaining(p.deadline, time.Now()), id: p.id,
	}
	if p.origin == nil {
		e.correlation = p.expect(s.r.node, rt.home)
	} else {
		e.kind, e.node, e.correlation = frameRelayed, p.origin.asker, p.origin.correlation
	}
	b := s.r.frame()
	defer s.r.putFrame(b)
	*b = append(e.append((*b)[:0]), p.message...)
	err := s.r.port.Send(rt.home, s.lane, *b)
	if err == nil && p.origin != nil {
		s.redirect(*p.origin, rt.home)
	}
	return err
}

// redirect tells a node that asked where its request is now: when that home is
// removed the ask has ended, and not when this node is.
func (s *slot[M]) redirect(o origin, home troupe.ID) {
	frame := envelope{kind: frameRedirect, shard: int32(s.number), correlation: o.correlation, node: home}.append(nil)
	if err := s.r.port.Send(o.asker, s.lane, frame); err != nil {
		s.r.counts.add(DropRedirect)
	}
}

func (r *shell[M]) frame() *[]byte {
	if b, ok := r.frames.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

// putFrame keeps a buffer for the next frame, unless one big message made it big.
func (r *shell[M]) putFrame(b *[]byte) {
	const big = 64 << 10
	if cap(*b) <= big {
		r.frames.Put(b)
	}
}

// end stops everything at once when the node ends, by whatever way: nothing is
// accepted any more, entities stop after the message in hand, and what waits is
// dropped. It returns when the control loop has ended. The port stays open: a
// coordinator that hears that it is not takes it that nothing runs here.
func (r *shell[M]) end() {
	r.ended.Store(true)
	r.control.stop()
	busy := false
	for s := range r.allSlots() {
		s.end((*actor.Cell[M]).Stop)
		busy = !s.abandon() || busy
	}
	r.control.authority.end(busy)
	if !busy {
		r.port.Retire() // no hand-over has to wait until this node is removed
	}
	r.keeper.close()
	r.complain.flush()
}
