package shard

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// letters are the dead letters of a node.
type letters struct {
	mu  sync.Mutex
	all []actor.DeadLetter
}

// lettersOf gives a node an actor system that keeps its dead letters. It has to
// come before the first join.
func lettersOf(n *fakeNode) *letters {
	l := new(letters)
	n.system = actor.NewSystem(actor.Config{Name: n.id.String(), Log: n.w.log, DeadLetter: func(d actor.DeadLetter) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, d)
	}})
	return l
}

func (l *letters) read() []actor.DeadLetter {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]actor.DeadLetter(nil), l.all...)
}

// An ask that is found to have expired when its shard gets a home is a dead
// letter like any other: it names its entity and has its message.
func TestExpiredAskIsAWholeDeadLetter(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		edge := w.start("edge")
		dead := lettersOf(edge)
		hosted := func(n *fakeNode) Type[msg] {
			typ := l.declare(n)
			typ.Role = "dad"
			return typ
		}
		e := joinOn(t, edge, hosted(edge))
		time.Sleep(1050 * time.Millisecond) // between two looks of the housekeeping
		go func() {
			if _, err := ask(e, "#1", 250*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("ask: %v, want that its time is over", err)
			}
		}()
		time.Sleep(350 * time.Millisecond)
		host := w.start("dad")
		joinOn(t, host, hosted(host))
		time.Sleep(3 * time.Second)
		got := dead.read()
		if len(got) != 1 {
			t.Fatalf("dead letters %+v, want one", got)
		}
		if _, ok := got[0].Message.(list); !ok || got[0].To != "room/#1" {
			t.Errorf("dead letter to %q of %T, want the list to room/#1", got[0].To, got[0].Message)
		}
	})
}
