package shard

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/placement"
)

// SHD-15: when nodes come and go each id is handled by one instance at any time;
// the ones that lost it have stopped before, and what waited for them is handled by
// those that got it, in order.
func TestSHD15NewNodeTakesOverIDsWithoutStoppingTheOldInstances(t *testing.T) {
	inRing(t, func(w *world) {
		l := newLedger(t) // reports entities that live twice
		declare := func(n *fakeNode) Type[msg] {
			typ := l.declare(n)
			typ.Shards = 300
			return typ
		}
		a, b := w.start(), w.start()
		onA, onB := joinOn(t, a, declare(a)), joinOn(t, b, declare(b))
		time.Sleep(3 * time.Second)
		const rounds = 5
		senders, wait := storm(t, []*Entities[msg]{onA, onB}, ids(10_000), rounds, 2*time.Second)
		time.Sleep(1500 * time.Millisecond)
		c := w.start()
		onC := joinOn(t, c, declare(c))
		time.Sleep(3 * time.Second)
		if got := hosted(t, onA, onB, onC); !slices.Equal(got, []int{100, 100, 100}) {
			t.Errorf("3 s after the third node's join the nodes have %v shards, want 100 each", got)
		}
		c.leave()
		if got := hosted(t, onA, onB); !slices.Equal(got, []int{150, 150}) {
			t.Errorf("after its leave the others have %v shards, want 150 each", got)
		}
		wait()
		time.Sleep(2 * time.Second)
		l.complete(ids(10_000), senders, rounds)
	})
}

// DWN-04: the lock of a shard is free as soon as it has stopped, however long the
// lease: the new owner serves at once.
func TestDWN04LeaseKeptAfterTheShardMoved(t *testing.T) {
	inRing(t, func(w *world) {
		l := newLedger(t)
		w.ring = &Ring{Lease: time.Minute}
		a, b := w.start(), w.start()
		onA := joinOn(t, a, l.declare(a))
		time.Sleep(3 * time.Second)
		answers(t, onA, ids(40), time.Second)
		began := time.Now()
		onB := joinOn(t, b, l.declare(b))
		for got := hosted(t, onA, onB); got[1] < 4; got = hosted(t, onA, onB) {
			if time.Since(began) > 2*time.Second {
				t.Fatalf("2 s after the second node's join the nodes have %v shards, want 4 each", got)
			}
			time.Sleep(10 * time.Millisecond)
		}
		answers(t, onA, ids(40), 2*time.Second-time.Since(began))
		a.leave()
		answers(t, onB, ids(40), 2*time.Second)
	})
}

// A node that only sends has no seat, asks the store for nothing but who has a
// shard, and gets its messages to all of them wherever they move.
func TestRingClientsOnlySend(t *testing.T) {
	inRing(t, func(w *world) {
		l := newLedger(t)
		declare := func(n *fakeNode) Type[msg] {
			typ := l.declare(n)
			typ.Role = "dad"
			return typ
		}
		edge, a, b := w.start("edge"), w.start("dad"), w.start("dad")
		onEdge := joinOn(t, edge, declare(edge))
		joinOn(t, a, declare(a))
		senders, wait := storm(t, []*Entities[msg]{onEdge}, ids(40), 100, 100*time.Millisecond)
		time.Sleep(3 * time.Second)
		joinOn(t, b, declare(b))
		time.Sleep(3 * time.Second)
		a.leave()
		wait()
		time.Sleep(2 * time.Second)
		l.complete(ids(40), senders, 100)
		if seats := seatsIn(t, w); !slices.Equal(seats, []string{b.id.String()}) {
			t.Errorf("these sit: %v, want only %v", seats, b.id)
		}
		if got := onEdge.Region().Hosted(); len(got) > 0 || onEdge.Region().Hosts() {
			t.Errorf("the node that only sends hosts %v", got)
		}
	})
}

// Who declares the type differently gets no shards and says so at Tell; the others
// go on.
func TestRingRefusesWhoDisagrees(t *testing.T) {
	for _, tt := range []struct {
		name string
		vary func(*Type[msg])
	}{
		{"shards", func(typ *Type[msg]) { typ.Shards = 9 }},
		{"group", func(typ *Type[msg]) { typ.Ring = &Ring{Group: "heavy"} }},
		{"assignment", func(typ *Type[msg]) { typ.Ring = &Ring{Assign: placement.Compatible{}} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inRing(t, func(w *world) {
				var log lockedBuffer
				w.log = slog.New(slog.NewTextHandler(&log, nil))
				l := newLedger(t)
				a, b := w.start(), w.start()
				onA := joinOn(t, a, l.declare(a))
				time.Sleep(3 * time.Second)
				other := l.declare(b)
				tt.vary(&other)
				onB := joinOn(t, b, other)
				time.Sleep(5 * time.Second)
				if got := hosted(t, onA, onB); got[0] != 8 || got[1] != 0 {
					t.Errorf("the nodes have %v shards, want all 8 on the first", got)
				}
				if err := onB.Ref("#1").Tell(context.Background(), say{}); !errors.Is(err, ErrDisagree) {
					t.Errorf("tell through the node that differs: %v, want ErrDisagree", err)
				}
				if got := onB.Region().Why(t.Context(), "#1").String(); !strings.Contains(got, "declares the type differently") {
					t.Errorf("asked why, the node that differs says %q; want that it does", got)
				}
				if got := strings.Count(log.String(), "declares the type differently"); got != 1 {
					t.Errorf("%d lines about it, want 1 and none that names a coordinator:\n%s", got, log.String())
				}
				answers(t, onA, ids(20), time.Second)
			})
		})
	}
}

// A ring and a coordinator do not host side by side, whichever was there first: the
// oldest node's declaration counts, also when that is another one later.
func TestRingAndCoordinatorExcludeEachOther(t *testing.T) {
	for _, first := range []string{"ring", "coordinator"} {
		t.Run(first+" first", func(t *testing.T) {
			inRing(t, func(w *world) {
				l := newLedger(t) // reports entities that live twice
				join := func(ring bool) (*fakeNode, *Entities[msg]) {
					n := w.start()
					typ := l.declare(n)
					if !ring {
						typ.Ring = nil
					}
					return n, joinOn(t, n, typ)
				}
				a, onA := join(first == "ring")
				tell(t, onA, "#1", say{From: "x", N: 1})
				time.Sleep(3 * time.Second)
				_, onB := join(first != "ring")
				_, onC := join(first == "ring")
				time.Sleep(10 * time.Second)
				answers(t, onC, ids(40), time.Second)
				if err := onB.Ref("#1").Tell(context.Background(), say{}); !errors.Is(err, ErrDisagree) {
					t.Errorf("tell through the node that differs from the oldest: %v, want ErrDisagree", err)
				}
				if got := hosted(t, onA, onB, onC); got[1] != 0 || got[0]+got[2] == 0 {
					t.Errorf("the nodes have %v shards, want none on the second", got)
				}
				if first == "coordinator" {
					return
				}
				a.leave() // now it is the second that counts
				time.Sleep(10 * time.Second)
				answers(t, onB, ids(40), time.Second)
				if err := onC.Ref("#1").Tell(context.Background(), say{}); !errors.Is(err, ErrDisagree) {
					t.Errorf("tell through the other that differs from the oldest: %v, want ErrDisagree", err)
				}
				if got := hosted(t, onB, onC); got[0] == 0 || got[1] != 0 {
					t.Errorf("the nodes have %v shards, want none on the last", got)
				}
			})
		})
	}
}

// Nodes with a ring do not begin before the last one that hosts for a coordinator is gone.
func TestRingWaitsForTheEndOfCoordination(t *testing.T) {
	inRing(t, func(w *world) {
		l := newLedger(t) // reports entities that live twice
		join := func(ring bool) (*fakeNode, *Entities[msg]) {
			n := w.start()
			typ := l.declare(n)
			if !ring {
				typ.Ring = nil
			}
			return n, joinOn(t, n, typ)
		}
		a, onA := join(false)
		tell(t, onA, "#1", say{From: "x", N: 1})
		time.Sleep(3 * time.Second)
		_, onB := join(true)
		c, onC := join(false)
		time.Sleep(10 * time.Second)
		answers(t, onC, ids(40), time.Second)
		w.set(a, member.Leaving)
		w.set(a, member.Exiting)
		a.gone()
		l.crashed(a.id)
		w.set(a, member.Removed)
		time.Sleep(10 * time.Second)
		if got := hosted(t, onB); len(onC.Region().Hosted()) > 0 && got[0] > 0 {
			t.Errorf("the ring hosts %d shards while a node is left that hosts for a coordinator", got[0])
		}
		c.gone()
		l.crashed(c.id)
		w.set(c, member.Down)
		w.set(c, member.Removed)
		answers(t, onB, ids(40), 5*time.Second)
	})
}

// A node that ends in good order frees its seat; one that ends with entities on it
// leaves the seat to run out, for they may still run.
func TestRingSeatAtTheEnd(t *testing.T) {
	inRing(t, func(w *world) {
		l := newLedger(t)
		a, b := w.start(), w.start()
		joinOn(t, a, l.declare(a))
		onB := joinOn(t, b, l.declare(b))
		time.Sleep(3 * time.Second)
		answers(t, onB, ids(40), time.Second)
		a.gone()
		if seats := seatsIn(t, w); len(seats) != 2 {
			t.Errorf("right after a crash these sit: %v, want both", seats)
		}
		l.crashed(a.id)
		time.Sleep(5 * time.Second)
		if seats := seatsIn(t, w); !slices.Equal(seats, []string{b.id.String()}) {
			t.Errorf("5 s after the crash these sit: %v, want %v", seats, b.id)
		}
		w.set(a, member.Down)
		w.set(a, member.Removed)
		b.leave()
		if seats := seatsIn(t, w); len(seats) > 0 {
			t.Errorf("after the leave of the last node these sit: %v", seats)
		}
	})
}
