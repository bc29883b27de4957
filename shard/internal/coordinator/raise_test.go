package coordinator

import (
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// With a store nobody is claimed before the store has raised the term.
func TestReignBeginsByTheTermThatTheStoreGives(t *testing.T) {
	r := newRig(t, Settings{Stored: true})
	if r.out.Raise != 1 || len(r.out.Send) > 0 {
		t.Fatalf("asks for %d and sends %v, want it to ask for 1", r.out.Raise, r.out.Send)
	}
	if r.step(Tick{}); r.out.Raise != 0 {
		t.Errorf("asks again while the store has not answered")
	}
	r.step(Raised{Term: 7})
	r.says(b, protocol.Claim{})
	if r.core.Term() != 7 {
		t.Errorf("term %d, want 7", r.core.Term())
	}
}

func TestRaisedTermThatIsOverIsRaisedAgain(t *testing.T) {
	r := newRig(t, Settings{Stored: true})
	r.from(b, protocol.Refused{Highest: 9})
	r.step(Raised{Term: 7})
	if r.core.Term() != 0 || r.out.Raise != 10 {
		t.Errorf("term %d, asks for %d; want it to ask for 10", r.core.Term(), r.out.Raise)
	}
	r.step(Raised{Term: 10})
	if r.core.Term() != 10 {
		t.Errorf("term %d, want 10", r.core.Term())
	}
}

// A store that is away holds a reign up for a bounded time. Its epochs are then its
// own, and a term of the store follows as soon as there is one.
func TestReignGoesOnWithoutAStoreThatIsAway(t *testing.T) {
	r := newRig(t, Settings{Stored: true})
	r.step(Raised{})
	r.wait(500 * time.Millisecond)
	if r.out.Raise != 1 {
		t.Errorf("asks for %d, want 1 again", r.out.Raise)
	}
	r.wait(4500 * time.Millisecond) // the answer hangs
	if r.core.Term() != 1 || !slices.Contains(r.out.Events, Event(Unraised{Term: 1})) {
		t.Fatalf("term %d, events %v", r.core.Term(), r.out.Events)
	}
	if e := r.core.reign.epoch(); e.N != 1<<32+1 { // by the incarnation of a, 1
		t.Errorf("epoch %v, want one that no other node would give", e)
	}
	r.step(Raised{})
	r.wait(500 * time.Millisecond)
	if r.out.Raise != 2 {
		t.Errorf("asks for %d, want 2", r.out.Raise)
	}
	r.step(Raised{Term: 5})
	if e := r.core.reign.epoch(); r.core.Term() != 5 || e != epoch(5, 1) {
		t.Errorf("term %d, epoch %v; want 5, 5.1", r.core.Term(), e)
	}
}

func TestRaisedTermOfOneWhoDoesNotReignAnyMoreIsForgotten(t *testing.T) {
	r := newRig(t, Settings{Stored: true})
	r.view("a Leaving", "b Up", "c Up")
	r.step(Raised{Term: 7})
	if r.core.Term() != 0 || r.out.Raise != 0 || !r.out.Wake.IsZero() {
		t.Errorf("term %d, asks for %d, wakes at %v", r.core.Term(), r.out.Raise, r.out.Wake)
	}
}

// What the store keeps of wishes a new reign knows; what it does not keep is put out
// until it does, one at a time.
func TestWishesAreKeptInTheStore(t *testing.T) {
	r := newRig(t, Settings{Stored: true})
	old := protocol.Wish{Shard: "1", To: b.Address, At: epoch(3, 1)}
	r.step(Raised{Term: 7, Wishes: []protocol.Wish{old}})
	for _, id := range []member.ID{a, b, c} {
		r.report(id)
	}
	if r.out.Save != nil {
		t.Errorf("saves %v, which it has read", r.out.Save)
	}
	r.place("1")
	if r.home("1") != b {
		t.Errorf("the shard is at %s, want b, by the store's word", r.home("1"))
	}
	r.step(Wish{Shard: "2", To: c.Address})
	first := r.out.Save
	if first == nil || first.Shard != "2" {
		t.Fatalf("saves %v, want the wish for 2", first)
	}
	r.step(Wish{Shard: "3", To: c.Address})
	if r.out.Save != nil {
		t.Errorf("saves %v while the store has not answered", r.out.Save)
	}
	r.step(Saved{Wish: *first})
	r.wait(2 * time.Second)
	if r.out.Save == nil || r.out.Save.Shard != "2" {
		t.Fatalf("saves %v, want 2 again", r.out.Save)
	}
	r.step(Saved{Wish: *first, Kept: true})
	if r.out.Save == nil || r.out.Save.Shard != "3" {
		t.Errorf("saves %v, want 3", r.out.Save)
	}
}
