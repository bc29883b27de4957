package shard

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard/internal/region"
)

// What an entity was allowed to tell itself while its shard moves is heard by its
// successor, also when its mailbox is full: the tell is accepted or refused, and
// in the end no place is taken.
func TestSelfTellWithAFullMailboxMovesToo(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		var accepted, heard atomic.Int64
		l := newLedger(t)
		hosted := func(n *fakeNode) Type[msg] {
			typ := l.declare(n)
			typ.Role, typ.Mailbox = "dad", 5
			typ.Start = func(*actor.Ctx[msg]) (actor.Behavior[msg], error) {
				return func(c *actor.Ctx[msg], m msg) error {
					s := m.(say)
					if s.From == "self" {
						heard.Add(1)
						return nil
					}
					time.Sleep(3 * time.Millisecond)
					err := c.Self().Tell(c, say{From: "self", N: s.N})
					if err == nil {
						accepted.Add(1)
					} else if !errors.Is(err, actor.ErrFull) {
						t.Errorf("tell itself: %v", err)
					}
					return nil
				}, nil
			}
			return typ
		}
		host, edge := w.start("dad"), w.start("edge")
		onHost := joinOn(t, host, hosted(host))
		onEdge := joinOn(t, edge, hosted(edge))
		tell(t, onEdge, "#1", say{From: "x"})
		time.Sleep(5 * time.Second)
		second := w.start("dad")
		onSecond := joinOn(t, second, hosted(second))
		time.Sleep(5 * time.Second)
		for n := 1; n <= 1000; n++ {
			tell(t, onEdge, "#1", say{From: "x", N: n})
		}
		time.Sleep(300 * time.Millisecond)
		host.leave()
		time.Sleep(30 * time.Second)
		if accepted.Load() != heard.Load() || accepted.Load() == 0 {
			t.Errorf("of %d messages to itself it heard %d", accepted.Load(), heard.Load())
		}
		for _, e := range []*Entities[msg]{onHost, onEdge, onSecond} {
			if n := e.Region().Waiting(); n != 0 {
				t.Errorf("%d places are taken for nothing", n)
			}
		}
	})
}

// The same in the moment after the shard began to end and before its entities
// were told.
func TestSelfTellWhileEntitiesAreBeingToldToEnd(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		l := newLedger(t)
		n := w.start()
		typ := l.declare(n)
		typ.Mailbox = 1
		e := joinOn(t, n, typ)
		tell(t, e, "#1", say{From: "x", N: 1})
		time.Sleep(5 * time.Second)
		tell(t, e, "#1", say{From: "x", N: 2, Work: time.Second})
		time.Sleep(time.Millisecond)
		tell(t, e, "#1", say{From: "x", N: 3}) // fills the mailbox
		s, _ := e.r.slotOf("#1")

		s.mu.Lock()
		h := s.here
		h.accept(parcel[msg]{id: "#1", m: say{From: "x", N: 4}})
		h.ending = true
		if err := h.tellSelf(t.Context(), h.find("#1"), say{From: "self", N: 1}); err != nil {
			t.Fatal(err)
		}
		s.mu.Unlock()

		time.Sleep(2 * time.Second) // the mailbox has room again
		s.again(time.Now())
		e.r.control.post(region.Leave{}) // there is nobody to take it: it ends its shards
		time.Sleep(time.Second)
		s.mu.Lock()
		defer s.mu.Unlock()
		var left []say
		for s.carry.len() > 0 {
			left = append(left, s.carry.pop().m.(say))
		}
		want := []say{{From: "self", N: 1}, {From: "x", N: 4}}
		if !slices.Equal(left, want) {
			t.Errorf("left for the next home: %v, want %v", left, want)
		}
	})
}
