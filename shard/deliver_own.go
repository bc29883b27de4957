package shard

import (
	"errors"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
	"github.com/troupe-go/troupe/shard/internal/window"
)

// This file is the owner's end of what is delivered at least once.

// An arrival is what came with a message that its sender keeps.
type arrival struct {
	sender        troupe.ID
	number, after uint64
	repeat        bool // a former owner may have handled it
}

// An inbound is what this node knows of the messages of one sender for one shard. It
// outlives a tenure until it was handed on to the next owner. The slot's lock guards it.
type inbound[M any] struct {
	s       *slot[M]
	sender  troupe.ID
	member  bool // it was one when last looked at
	in      window.In
	carried uint64      // how many were sent on to the next owner
	spare   []ticket[M] // for the next messages

	done     []uint64 // what is about to be confirmed; see confirms
	answered []answer // and what need not be
	answers  []answer // that may have to be given again, by number or nearly
}

// A ticket goes with a message to its entity, and comes back when that has handled it.
type ticket[M any] struct {
	from   *inbound[M]
	ask    *asked // of the sender; nil if it is none
	number uint64
	repeat bool
}

// Handled is called by the entity's cell.
func (t *ticket[M]) Handled() {
	if r := t.from.s.r; r.confirms.add(t) {
		r.settle()
	}
}

func (t *ticket[M]) message() (id MessageID, repeat bool) {
	return MessageID{Sender: t.from.sender, Shard: t.from.s.shard, Number: t.number}, t.repeat
}

// ticketOf is the ticket that a message comes back with out of a cell; nil if it had none.
func ticketOf[M any](r actor.Receipt) *ticket[M] {
	t, _ := r.(*ticket[M])
	return t
}

func (s *slot[M]) inbound(sender troupe.ID) *inbound[M] {
	from, ok := s.ins[sender]
	if !ok {
		if len(s.ins) >= s.r.members() { // so that a first message of each of many costs no look at all others
			s.forgetSenders()
		}
		if s.ins == nil {
			s.ins = map[troupe.ID]*inbound[M]{}
		}
		from = &inbound[M]{s: s, sender: sender, member: s.r.member(sender)}
		s.ins[sender] = from
	}
	return from
}

// forgetSenders forgets those who were removed from the cluster and have nothing in hand here.
// It is called when one more comes than there are members.
func (s *slot[M]) forgetSenders() {
	for id, from := range s.ins {
		switch is := s.r.member(id); {
		case is:
			from.member = true
		case from.member && from.in.Open() == uint64(len(from.answers)):
			delete(s.ins, id)
		}
	}
}

// members is how many there are, as far as this node knows.
func (r *shell[M]) members() int {
	v := r.control.views.Load()
	if v == nil {
		return 0
	}
	return len(v.Members)
}

// member tells whether a node is a member, as far as this one knows.
func (r *shell[M]) member(id troupe.ID) bool {
	v := r.control.views.Load()
	if v == nil {
		return false
	}
	_, ok := v.Member(id)
	return ok
}

// ticket makes the ticket of a message. They are made many at a time.
func (from *inbound[M]) ticket(a arrival, ask *asked) *ticket[M] {
	const many = 32
	if len(from.spare) == 0 {
		from.spare = make([]ticket[M], many)
	}
	t := &from.spare[0]
	from.spare = from.spare[1:]
	*t = ticket[M]{from: from, number: a.number, repeat: a.repeat}
	if ask != nil && ask.asker == a.sender {
		t.ask = ask
	}
	return t
}

// arriveKept takes a message from another node that its sender keeps. Whatever is not
// taken here comes again.
func (s *slot[M]) arriveKept(from troupe.ID, e envelope, p parcel[M]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hostOf(from, e.epoch)
	if h == nil {
		return
	}
	a := arrival{from, e.number, e.after, e.flags&flagRepeat != 0}
	switch {
	case e.flags&flagCarried != 0:
		a.sender = e.sender
		h.inherit(p, a)
	case !h.await.IsZero() && h.await != from:
		if s.r.room.take() {
			held := a // only this one lives on
			p.arrival = &held
			h.held.push(p)
		} else {
			s.r.counts.add(DropBack) // its sender asks for it
		}
	default:
		h.take(p, a)
	}
}

// hostOf gives the shard if it is hosted here by an epoch. Who sent by another
// one is told.
func (s *slot[M]) hostOf(from troupe.ID, e protocol.Epoch) *local[M] {
	if h := s.here; h != nil && !h.ending && h.epoch == e {
		return h
	}
	s.r.control.note(region.StaleRoute{From: from, Shard: s.shard, Epoch: e})
	s.r.counts.add(DropBack)
	return nil
}

// take takes the next message of a sender, or finds why not; ok is false if there is
// no room for it, or if this node sends it and has to send another one first.
func (h *local[M]) take(p parcel[M], a arrival) (ok bool) {
	from := h.s.inbound(a.sender)
	verdict := from.in.Arrive(a.number, a.after)
	from.forgetAnswers(a.after+1, a.number) // the sender keeps nothing between the two
	switch verdict {
	case window.Repeat:
		h.s.r.counts.add(DropRepeat)
		from.answerAgain(a.number, a.number)
		if from.in.Done(a.number) {
			h.s.r.confirms.add(from.ticket(a, nil))
		}
	case window.Gap:
		h.s.r.counts.add(DropBack)
		again, tell := from.in.Missing()
		switch {
		case a.sender == h.s.r.self:
			h.s.out.Again(again)
			return false
		case tell:
			h.s.r.confirm(a.sender, []window.Confirmation{{Shard: int32(h.s.number), Again: again, Epoch: h.epoch}})
		}
	case window.New:
		p.ticket = from.ticket(a, p.ask)
		if !h.admit(p) {
			from.in.Refuse(a.number)
			h.s.r.counts.add(DropBack)
			return false
		}
	}
	return true
}

// inherit takes a message that the previous owner carries over.
func (h *local[M]) inherit(p parcel[M], a arrival) {
	from := h.s.inbound(a.sender)
	if !from.in.Carried(a.number) {
		h.s.r.counts.add(DropRepeat)
		return
	}
	p.ticket = from.ticket(a, p.ask)
	if l := h.deliver(p); l != nil {
		h.s.r.room.force(1) // it was taken before
		l.wait.push(p)
	}
}

// admit has an entity take the message, or wait for it if there is room.
func (h *local[M]) admit(p parcel[M]) bool {
	l := h.deliver(p)
	if l == nil {
		return true
	}
	if !h.s.r.room.take() {
		return false
	}
	l.wait.push(p)
	return true
}

// succeedTo takes over what the previous owner knew of its senders.
func (s *slot[M]) succeedTo(e protocol.Epoch, heirs []window.Heir) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.here == nil || s.here.epoch != e {
		return
	}
	for _, h := range heirs {
		s.inbound(h.Sender).in.Inherit(h.Upto, h.Carried)
	}
}

// heirs is what the next owner has to know.
func (s *slot[M]) heirs() (all []window.Heir) {
	for id, from := range s.ins { // in any order: each is for itself
		all = append(all, window.Heir{Sender: id, Upto: from.in.Upto(), Carried: from.carried})
	}
	return all
}

// asked answers a sender that has heard nothing of its messages for a while.
func (s *slot[M]) asked(from troupe.ID, e protocol.Epoch, q window.Question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hostOf(from, e)
	if h == nil || !h.await.IsZero() {
		return
	}
	c := window.Confirmation{Shard: int32(s.number)}
	of := s.inbound(from)
	of.forgetAnswers(0, q.First)
	of.answerAgain(q.First, q.Last)
	if c.Done, c.Again = of.in.Asked(q.First, q.Last); c.Again > 0 {
		c.Epoch = h.epoch
	}
	s.r.confirm(from, []window.Confirmation{c})
}

// abandoned tells whether a dropped message is only given back: its sender
// keeps it, and will find another owner.
func (p *parcel[M]) abandoned(why Drop, err error) bool {
	return (p.ticket != nil || p.arrival != nil) && (why == DropEnded || errors.Is(err, actor.ErrStopped))
}
