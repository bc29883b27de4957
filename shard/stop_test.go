package shard

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// The entities of this test end in order: told to stop, each takes its time for
// something that it does beside, and notes that it is done.
type orderly struct {
	mu    sync.Mutex
	notes []string
}

func (o *orderly) note(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.notes = append(o.notes, text)
}

type closed struct{ msg }

func (o *orderly) start(c *actor.Ctx[msg]) (actor.Behavior[msg], error) {
	o.note("start")
	c.Cleanup(func() { o.note("end") })
	return func(c *actor.Ctx[msg], m msg) error {
		switch m := m.(type) {
		case say:
			time.Sleep(m.Work)
			o.note(m.From)
		case secret:
			o.note("stop")
			c.Go(func(ctx context.Context) msg {
				select {
				case <-time.After(3 * time.Second):
				case <-ctx.Done():
				}
				return closed{}
			})
		case closed:
			o.note("closed")
		}
		return nil
	}, nil
}

func (o *orderly) want(t *testing.T, want string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if got := strings.Join(o.notes, " "); got != want {
		t.Errorf("happened: %s\nwant:     %s", got, want)
	}
	o.notes = nil
}

func TestStopMessageIsTheLast(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		o := new(orderly)
		a := w.start()
		typ := newLedger(t).declare(a)
		typ.Start, typ.Stop, typ.Idle = o.start, secret{}, time.Minute
		onA := joinOn(t, a, typ)
		tell(t, onA, "#1", say{From: "hello"})
		time.Sleep(3 * time.Minute)
		o.want(t, "start hello stop closed end") // passivated

		tell(t, onA, "#1", say{From: "again", Work: 2 * time.Second})
		b := w.start()
		onB := joinOn(t, b, typ)
		time.Sleep(time.Second)
		tell(t, onA, "#1", say{From: "and"})
		go a.leave()
		time.Sleep(2 * time.Second)
		tell(t, onB, "#1", say{From: "after"})
		time.Sleep(20 * time.Second)
		o.want(t, "start again and stop closed end start after")
	})
}

// What does not end in order in time is stopped: its context ends.
func TestStopMessageHasATimeLimit(t *testing.T) {
	in(t, func(w *world) {
		o := new(orderly)
		a := w.start()
		typ := newLedger(t).declare(a)
		typ.Start, typ.Stop, typ.HandOffTimeout, typ.Idle = o.start, secret{}, time.Second, time.Minute
		e := joinOn(t, a, typ)
		tell(t, e, "#1", say{From: "hello"})
		time.Sleep(95 * time.Second)
		o.want(t, "start hello stop end") // what its function brought came too late
		tell(t, e, "#1", say{From: "hello"})
		time.Sleep(time.Second)
		o.want(t, "start hello")
		typ.Name, typ.Stop = "other", say{}
		if _, err := join(a, typ); err == nil || !strings.Contains(err.Error(), "Stop") {
			t.Errorf("a Stop that others can send: %v, want that it is refused", err)
		}
	})
}

// A message that ends each process that handles it does not go on for ever, and
// what is told after it arrives.
func TestPoisonEndsAfterSoManyOwners(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		edge := w.start("edge")
		typ := l.declare(edge)
		typ.Role, typ.DeliverWithin = "dad", time.Hour
		onEdge := joinOn(t, edge, typ)
		deaths := 0
		for round := 0; round < 2*maxOwners && onEdge.Region().Drops()[DropPoison] == 0; round++ {
			n := w.start("dad")
			died := make(chan struct{})
			typ.Start = func(*actor.Ctx[msg]) (actor.Behavior[msg], error) {
				return func(c *actor.Ctx[msg], m msg) error {
					if m.(say).Fail {
						close(died)
						<-c.Done()
						return nil
					}
					l.mu.Lock()
					l.heard[c.Name()] = append(l.heard[c.Name()], m.(say))
					l.mu.Unlock()
					return nil
				}, nil
			}
			joinOn(t, n, typ)
			if round == 0 {
				tell(t, onEdge, "#1", say{From: "x", Fail: true})
			}
			select {
			case <-died:
				deaths++
				n.crash(time.Second)
			case <-time.After(time.Minute):
			}
		}
		if deaths != maxOwners || onEdge.Region().Drops()[DropPoison] != 1 {
			t.Errorf("%d owners died, %v; want %d, and one message given up", deaths, onEdge.Region().Drops(), maxOwners)
		}
		tell(t, onEdge, "#1", say{From: "x", N: 1})
		time.Sleep(time.Minute)
		l.complete([]string{"#1"}, []string{"x"}, 1)
	})
}
