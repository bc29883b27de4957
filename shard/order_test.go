package shard

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// ordered declares the type of l with messages in the order of their numbers.
func (l *ears) ordered(n *fakeNode) Type[msg] {
	typ := l.declare(n)
	typ.Order = func(m msg) (int64, bool) {
		s, ok := m.(say)
		return int64(s.N), ok
	}
	return typ
}

func numbersOf(all []heard) (out []int) {
	for _, h := range all {
		out = append(out, h.N)
	}
	return out
}

// Messages of several nodes are handled in the order of their keys, over a move and
// a crash of the owner too, if they come within the window; what is later is handled at once and counted.
func TestOrderOfSeveralSenders(t *testing.T) {
	in(t, func(w *world) {
		l := newEars()
		a, b := w.start("dad"), w.start("dad")
		joinOn(t, a, l.ordered(a))
		onB := joinOn(t, b, l.ordered(b))
		var edges []*Entities[msg]
		for range 2 {
			n := w.start("edge")
			edges = append(edges, joinOn(t, n, l.ordered(n)))
		}
		chats := ids(10)
		for _, id := range chats {
			tell(t, edges[0], id, say{From: "first"})
		}
		time.Sleep(5 * time.Second)
		const messages = 300
		var wg sync.WaitGroup
		for i, e := range append(edges, onB) {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 40 * time.Millisecond) // less than the window behind the others
				for n := 1; n <= messages; n++ {
					if n%3 == i {
						for _, id := range chats {
							tell(t, e, id, say{From: "x", N: n})
						}
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
		time.Sleep(time.Second)
		a.leave()
		wg.Wait()
		for _, e := range append(edges, onB) {
			settled(t, e, 10*time.Second)
		}
		for _, id := range chats {
			if got := numbersOf(l.of(id)); len(got) != messages+1 || !slices.IsSorted(got) {
				t.Errorf("%s handled %d of %d messages, in order: %v: %v", id, len(got), messages+1, slices.IsSorted(got), got)
			}
		}
		tell(t, edges[0], "#1", say{From: "x", N: 5})
		tell(t, edges[0], "#1", say{From: "x", N: messages + 1})
		time.Sleep(time.Second)
		if got := numbersOf(l.of("#1")); !slices.Equal(got[len(got)-2:], []int{5, messages + 1}) {
			t.Errorf("handled %v at last, want 5 at once, then the next", got[len(got)-2:])
		}
		if got := onB.Region().Drops()[DropLate]; got != 1 {
			t.Errorf("%d were late, want 1", got)
		}
	})
}

// What is held when the owner crashes is not confirmed, so it comes again.
func TestHeldMessagesOutliveTheirOwner(t *testing.T) {
	in(t, func(w *world) {
		l := newEars()
		var nodes []*fakeNode
		for range 2 {
			n := w.start("dad")
			nodes = append(nodes, n)
			typ := l.ordered(n)
			typ.OrderWithin = 10 * time.Second
			joinOn(t, n, typ)
		}
		edge := w.start("edge")
		typ := l.ordered(edge)
		typ.OrderWithin = 10 * time.Second
		e := joinOn(t, edge, typ)
		for n := 3; n >= 1; n-- {
			tell(t, e, "#1", say{From: "x", N: n})
		}
		time.Sleep(8 * time.Second)
		home, _ := e.Region().Home(e.Region().ShardOf("#1"))
		i := slices.IndexFunc(nodes, func(n *fakeNode) bool { return n.id == member.ID(home) })
		nodes[i].crash(time.Second)
		settled(t, e, time.Minute)
		if got := numbersOf(l.of("#1")); !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("handled %v, want 1, 2 and 3 in order", got)
		}
	})
}
