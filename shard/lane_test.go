package shard

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/transport"
)

// A full lane refuses a teller and keeps what was accepted, in order.
func TestFullLane(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		edge := w.start("edge")
		typ := l.declare(edge)
		typ.Role = "dad"
		e := joinOn(t, edge, typ)
		tell(t, e, "#1", say{From: "x", N: 1})
		tell(t, e, "#1", say{From: "x", N: 2})
		block := func(full bool) {
			edge.mu.Lock()
			edge.lanesFull = full
			edge.mu.Unlock()
		}
		block(true)
		host := w.start("dad")
		typ.Start = l.start(host.id)
		joinOn(t, host, typ)
		time.Sleep(5 * time.Second)
		tell(t, e, "#1", say{From: "x", N: 3}) // behind those that wait for the lane
		block(false)
		time.Sleep(time.Second)
		tell(t, e, "#1", say{From: "x", N: 4})
		block(true)
		if err := e.Ref("#1").Tell(context.Background(), say{From: "x", N: 5}); !errors.Is(err, actor.ErrFull) {
			t.Errorf("tell into a full lane: %v, want ErrFull", err)
		}
		block(false)
		tell(t, e, "#1", say{From: "x", N: 5})
		time.Sleep(time.Second)
		l.complete([]string{"#1"}, []string{"x"}, 5)
	})
}

// A home that is gone before the node knows it refuses nobody: what is told waits
// for the next one, as what had waited before does.
func TestTellToAHomeThatIsGone(t *testing.T) {
	for _, err := range []error{transport.ErrClosed, transport.ErrQuarantined} {
		t.Run(err.Error(), func(t *testing.T) {
			in(t, func(w *world) {
				l := newLedger(t)
				edge, host := w.start("edge"), w.start("dad")
				typ := l.declare(edge)
				typ.Role = "dad"
				e := joinOn(t, edge, typ)
				joinOn(t, host, typ)
				time.Sleep(5 * time.Second)
				tell(t, e, "#1", say{From: "x", N: 1})
				time.Sleep(time.Second)
				refuse := func(err error) {
					edge.mu.Lock()
					edge.refuses = err
					edge.mu.Unlock()
				}
				refuse(err)
				tell(t, e, "#1", say{From: "x", N: 2}) // by the direct way
				tell(t, e, "#1", say{From: "x", N: 3}) // behind it
				answer := make(chan []int, 1)
				go func() {
					got, err := ask(e, "#1", time.Minute)
					if err != nil {
						t.Errorf("ask: %v", err)
					}
					answer <- got
				}()
				time.Sleep(time.Second)
				refuse(nil)
				if got := <-answer; !slices.Equal(got, []int{1, 2, 3}) {
					t.Errorf("it had heard %v, want 1 to 3", got)
				}
			})
		})
	}
}
