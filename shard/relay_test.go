package shard

import (
	"errors"
	"testing"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard/internal/region"
)

// passedOn asks, from a third node, an entity that is busy for that long on its
// home b; the request takes the way over a, by a route that is wrong.
func passedOn(t *testing.T, w *world, busy time.Duration) (a, b *fakeNode, answer <-chan error) {
	l := newLedger(t)
	b, edge := w.start("dad"), w.start("edge")
	typ := l.declare(b)
	typ.Role, typ.Delivery = "dad", AtMostOnce
	joinOn(t, b, typ)
	onEdge := joinOn(t, edge, typ)
	tell(t, onEdge, "#1", say{From: "x", N: 1})
	time.Sleep(5 * time.Second)
	a = w.start("dad")
	typ.Start = l.start(a.id)
	joinOn(t, a, typ)
	tell(t, onEdge, "#1", say{From: "x", N: 2, Work: busy})
	time.Sleep(5 * time.Second)
	s, err := onEdge.r.slotOf("#1")
	if err != nil {
		t.Fatal(err)
	}
	s.setRoute(region.Route{Shard: s.shard, Home: a.id, Epoch: s.target.epoch}, time.Now())
	answered := make(chan error, 1)
	go func() {
		got, err := ask(onEdge, "#1", time.Hour)
		if err == nil && len(got) != 2 {
			t.Errorf("the entity has heard %v, want two", got)
		}
		answered <- err
	}()
	time.Sleep(5 * time.Second)
	return a, b, answered
}

// An ask that a node passed on is answered to the asker itself: it does not need
// that node any more.
func TestAskOutlivesTheNodeThatPassedItOn(t *testing.T) {
	in(t, func(w *world) {
		a, _, answer := passedOn(t, w, time.Minute)
		a.leave()
		if err := <-answer; err != nil {
			t.Errorf("ask: %v", err)
		}
	})
}

// It ends with the node that has it.
func TestPassedOnAskEndsWithItsHome(t *testing.T) {
	in(t, func(w *world) {
		_, b, answer := passedOn(t, w, time.Minute)
		go b.crash(5 * time.Second)
		if err := <-answer; !errors.Is(err, troupe.ErrPeerRemoved) {
			t.Errorf("ask: %v, want ErrPeerRemoved", err)
		}
		time.Sleep(2 * time.Minute)
	})
}

// A request that comes back out of a mailbox still knows who asked, so that its next
// home answers there, and until when, so that it is not kept and sent for longer.
func TestRequestOutOfAMailboxKnowsItsAsker(t *testing.T) {
	protocol := newProtocol()
	ask := actor.ReplyTo[[]int](nil)
	message, _, err := protocol.Append(nil, list{Reply: ask})
	if err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(time.Minute)
	from := origin{troupe.ID{UID: 7}, 320}
	m, err := protocol.Decode(message, &asked{origin: from, until: until})
	if err != nil {
		t.Fatal(err)
	}
	p := parcel[msg]{id: "#1", m: m}
	if err := p.sealed(protocol); err != nil || !p.deadline.Equal(until) {
		t.Errorf("sealed again: %v, deadline %v, want %v", err, p.deadline, until)
	}
	if p.origin == nil || *p.origin != from {
		t.Errorf("sealed again: origin %v, want %v", p.origin, from)
	}
}
