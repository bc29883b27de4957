package shard

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/store/storetest"
)

// A store that hangs or fails holds a new coordinator up for five seconds, of which
// it tells, and no more; and when it is back nothing moves for it.
func TestCoordinatorGoesOnWithoutItsStore(t *testing.T) {
	for name, fault := range map[string]storetest.Fault{"hangs": storetest.Hang, "is away": storetest.LoseRequest} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.store = store.NewMemory()
				l := newLedger(t)
				n := w.start()
				n.Store()
				n.way.Set(fault)
				typ := l.declare(n)
				typ.Overdue = time.Second
				e := joinOn(t, n, typ)
				tell(t, e, "#1", say{From: "x", N: 1})
				time.Sleep(4 * time.Second)
				if got := l.of("#1"); len(got) > 0 {
					t.Errorf("it did not wait for the store: %v", got)
				}
				time.Sleep(2 * time.Second)
				l.complete([]string{"#1"}, []string{"x"}, 1)
				time.Sleep(3 * time.Second)
				if troubles := e.Region().Troubles(); len(troubles) != 1 || troubles[0].Wait.Act == "" {
					t.Errorf("troubles while the store is away: %+v", troubles)
				}
				n.way.Set(storetest.None)
				time.Sleep(5 * time.Second)
				if troubles := e.Region().Troubles(); len(troubles) > 0 {
					t.Errorf("troubles when it is back: %+v", troubles)
				}
				tell(t, e, "#1", say{From: "x", N: 2})
				time.Sleep(time.Second)
				l.complete([]string{"#1"}, []string{"x"}, 2)
				if n := l.starts1("#1"); n != 1 {
					t.Errorf("the entity started %d times", n)
				}
			})
		})
	}
}
