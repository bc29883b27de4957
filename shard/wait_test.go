package shard

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/transport"
)

// tellWait has several senders tell n messages each, with patience, and returns
// when all have.
func tellWait(t *testing.T, e *Entities[msg], id string, n int, work time.Duration) (senders []string, done chan struct{}) {
	done = make(chan struct{})
	ended := make(chan struct{})
	for i := range 3 {
		from := fmt.Sprint("sender-", i)
		senders = append(senders, from)
		go func() {
			for k := 1; k <= n; k++ {
				if err := e.Ref(id).TellWait(context.Background(), say{From: from, N: k, Work: work}); err != nil {
					t.Errorf("%s tells %d: %v", from, k, err)
				}
			}
			ended <- struct{}{}
		}()
	}
	go func() {
		for range senders {
			<-ended
		}
		close(done)
	}()
	return senders, done
}

func TestTellWaitForABuffer(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		edge := w.start("edge")
		typ := l.declare(edge)
		typ.Role, typ.Buffer = "dad", 4
		e := joinOn(t, edge, typ)
		senders, done := tellWait(t, e, "#1", 50, 0)
		time.Sleep(time.Minute)
		if n := e.Region().Waiting(); n != 4 {
			t.Errorf("%d messages wait, want as many as the buffer holds: 4", n)
		}
		host := w.start("dad")
		typ.Start = l.start(host.id)
		joinOn(t, host, typ)
		<-done
		time.Sleep(time.Second)
		l.complete([]string{"#1"}, senders, 50)
	})
}

func TestTellWaitForALane(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		edge, host := w.start("edge"), w.start("dad")
		typ := l.declare(host)
		typ.Role = "dad"
		joinOn(t, host, typ)
		e := joinOn(t, edge, typ)
		tell(t, e, "#1", say{From: "x", N: 1})
		time.Sleep(5 * time.Second)
		full := func(full bool) {
			edge.mu.Lock()
			defer edge.mu.Unlock()
			edge.lanesFull = full
		}
		full(true)
		senders, done := tellWait(t, e, "#1", 50, 0)
		short, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err := e.Ref("#1").TellWait(short, say{})
		for _, want := range []error{actor.ErrFull, transport.ErrFull, context.DeadlineExceeded} {
			if !errors.Is(err, want) {
				t.Errorf("a full lane, for a second: %v, want %v in it", err, want)
			}
		}
		full(false)
		<-done
		time.Sleep(time.Second)
		l.complete([]string{"#1"}, senders, 50)
	})
}

// Order and messages hold also when the mailbox that is waited for moves away.
func TestTellWaitForAMailbox(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		a, b := w.start(), w.start()
		typ := l.declare(a)
		typ.Mailbox = 5
		onA := joinOn(t, a, typ)
		tell(t, onA, "#1", say{From: "x", N: 1})
		time.Sleep(5 * time.Second)
		typ.Start = l.start(b.id)
		joinOn(t, b, typ)
		time.Sleep(time.Second)
		senders, done := tellWait(t, onA, "#1", 100, 20*time.Millisecond)
		time.Sleep(time.Second)
		synctest.Wait()
		if heard := len(l.of("#1")); heard > 60 {
			t.Errorf("%d messages were handled in a second, at 20 ms each", heard)
		}
		go a.leave()
		<-done
		time.Sleep(10 * time.Second)
		l.complete([]string{"#1"}, senders, 100)
	})
}

// Who waits hears of the node's end.
func TestTellWaitEndsWithTheNode(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		edge := w.start("edge")
		typ := l.declare(edge)
		typ.Role, typ.Buffer = "dad", 1
		e := joinOn(t, edge, typ)
		tell(t, e, "#1", say{})
		go edge.gone()
		if err := e.Ref("#1").TellWait(context.Background(), say{}); !errors.Is(err, ErrEnded) {
			t.Errorf("TellWait on a node that ends: %v, want ErrEnded", err)
		}
	})
}
