package shard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/store/storetest"
)

// storing runs a test in a bubble with a store, in which worlds follow each other
// as a cluster does that is stopped and started again, once with each authority.
func storing(t *testing.T, f func(t *testing.T, next func() *world)) {
	t.Helper()
	for authority, ring := range map[string]*Ring{"coordinator": nil, "ring": {}} {
		t.Run(authority, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := store.NewMemory()
				var w *world
				defer func() { w.end() }()
				f(t, func() *world {
					if w != nil {
						w.end()
					}
					w = newWorld(t)
					w.store, w.ring = s, ring
					return w
				})
			})
		})
	}
}

// remembering declares the tests' type with entities that are remembered.
func (l *ledger) remembering(n *fakeNode) Type[msg] {
	typ := l.declare(n)
	typ.Remember = true
	return typ
}

// alives counts those of the ids that live.
func (l *ledger) alives(ids []string) (n int) {
	for _, id := range ids {
		if _, ok := l.home(id); ok {
			n++
		}
	}
	return n
}

func TestRememberedEntitiesStartAgain(t *testing.T) {
	storing(t, func(t *testing.T, next func() *world) {
		all := ids(40)
		w := next()
		l := newLedger(t)
		a, b := w.start(), w.start()
		onA := joinOn(t, a, l.remembering(a))
		joinOn(t, b, l.remembering(b))
		for _, id := range all {
			tell(t, onA, id, say{From: "x", N: 1})
		}
		time.Sleep(time.Hour) // nobody is passivated
		if got := l.alives(all); got != 40 {
			t.Fatalf("%d of 40 live", got)
		}
		a.crash(time.Second)
		l.mu.Lock()
		for id, home := range l.alive { // a crash stops nobody in order
			if home == a.id {
				delete(l.alive, id)
			}
		}
		l.mu.Unlock()
		time.Sleep(30 * time.Second)
		if got := l.alives(all); got != 40 {
			t.Errorf("%d of 40 live after a crash", got)
		}
		c := next().start() // the whole cluster was stopped
		l = newLedger(t)
		joinOn(t, c, l.remembering(c))
		time.Sleep(30 * time.Second)
		for _, id := range all {
			if got := l.starts1(id); got != 1 {
				t.Errorf("%s has started %d times in the cluster's next life, want once", id, got)
			}
		}
	})
}

// Who ends by itself, or is passivated, is forgotten, and remembered again with
// the next message.
func TestEndedEntitiesAreForgotten(t *testing.T) {
	storing(t, func(t *testing.T, next func() *world) {
		n := next().start()
		l := newLedger(t)
		typ := l.remembering(n)
		typ.Idle = time.Minute
		e := joinOn(t, n, typ)
		for _, id := range []string{"stays", "ends", "idles", "returns"} {
			tell(t, e, id, say{From: "x", N: 1})
		}
		tell(t, e, "ends", say{From: "x", N: 2, Last: true})
		tell(t, e, "returns", say{From: "x", N: 2, Last: true})
		tell(t, e, "returns", say{From: "x", N: 3}) // meets the end
		for range 20 {
			time.Sleep(10 * time.Second)
			tell(t, e, "stays", say{From: "y"})
			tell(t, e, "returns", say{From: "y"})
		}
		l.complete([]string{"returns"}, []string{"x"}, 3)
		n = next().start()
		l = newLedger(t)
		typ.Start = l.start(n.id)
		joinOn(t, n, typ)
		time.Sleep(10 * time.Second)
		for id, want := range map[string]int{"stays": 1, "ends": 0, "idles": 0, "returns": 1} {
			if got := l.starts1(id); got != want {
				t.Errorf("%s has started %d times, want %d", id, got, want)
			}
		}
	})
}

// SHD-06: who would put remembered entities into other shards is told so.
func TestSHD06ChangedShardFunctionWithRememberedEntities(t *testing.T) {
	storing(t, func(t *testing.T, next func() *world) {
		n := next().start()
		l := newLedger(t)
		joinOn(t, n, l.remembering(n))
		n = next().start()
		more := l.remembering(n)
		more.Shards = 9
		other := l.remembering(n)
		other.ShardOf = func(id string, shards int) int { return len(id) % shards }
		for _, typ := range []Type[msg]{more, other} {
			_, err := join(n, typ)
			if !errors.Is(err, ErrRemembered) || !strings.Contains(err.Error(), "8 shards") || !strings.Contains(err.Error(), typ.division()) {
				t.Errorf("join with %s: %v, want ErrRemembered with both values", typ.division(), err)
			}
		}
		same := l.remembering(n)
		same.ShardOf = func(id string, shards int) int { return placement.JavaHash(id, shards) }
		joinOn(t, n, same)
	})
}

// SHD-08: a crash makes thousands of entities start elsewhere, by ways of a scarce
// resource. They start at the declared pace, each once, those first for which a
// message waits, and who was active does not notice.
func TestSHD08RecoveryFloodOfRememberedEntities(t *testing.T) {
	storing(t, func(t *testing.T, next func() *world) {
		w := next()
		const entities, nodes, pool = 3000, 5, 10
		connections := make(chan struct{}, pool)
		open, most := 0, 0
		l := newLedger(t)
		var members []*fakeNode
		var all []*Entities[msg]
		for range nodes {
			n := w.start()
			typ := l.remembering(n)
			typ.Shards, typ.RecoverRate, typ.RecoverOpen = 100, 500, 20
			start := typ.Start
			typ.Start = func(c *actor.Ctx[msg]) (actor.Behavior[msg], error) {
				l.mu.Lock()
				open++
				most = max(most, open)
				l.mu.Unlock()
				connections <- struct{}{} // waits for its turn, for as long as it takes
				time.Sleep(10 * time.Millisecond)
				<-connections
				l.mu.Lock()
				open--
				l.mu.Unlock()
				return start(c)
			}
			members, all = append(members, n), append(all, joinOn(t, n, typ))
		}
		for i := range entities {
			tell(t, all[i%nodes], fmt.Sprint("#", i), say{From: "x", N: 1})
		}
		time.Sleep(time.Minute)
		lost := map[string]bool{}
		l.mu.Lock()
		for id, home := range l.alive {
			if home == members[0].id {
				lost[id] = true
				delete(l.alive, id)
			}
		}
		most = 0
		l.mu.Unlock()
		if len(lost) < entities/nodes/2 {
			t.Fatalf("only %d entities live on the node that crashes", len(lost))
		}
		go members[0].crash(time.Second)
		time.Sleep(3 * time.Second)
		var wanted string
		for id := range lost {
			wanted = id
		}
		for round, worst := 0, time.Duration(0); ; round++ { // meanwhile
			id := fmt.Sprint("#", round)
			if lost[id] {
				continue
			}
			began := time.Now()
			if _, err := ask(all[1], id, time.Second); err != nil {
				t.Errorf("ask of an active entity: %v", err)
			}
			worst = max(worst, time.Since(began))
			if round > 200 {
				if worst > 10*time.Millisecond {
					t.Errorf("an active entity took %v to answer, 2 ms are usual", worst)
				}
				break
			}
			time.Sleep(time.Millisecond)
		}
		if _, err := ask(all[1], wanted, time.Second); err != nil {
			t.Errorf("ask of an entity that has not been started yet: %v", err)
		}
		time.Sleep(time.Minute)
		for id := range lost {
			if got := l.starts1(id); got != 2 {
				t.Errorf("%s has started %d times, want once more", id, got)
			}
		}
		if limit := 20 * (nodes - 1); most > limit {
			t.Errorf("%d entities were starting at a time, want at most %d", most, limit)
		}
		w.end() // with no connections left open
	})
}

// SHD-09: a store that fails while entities are to be remembered costs time, and
// no message.
func TestSHD09StoreFailsWhileEntitiesStart(t *testing.T) {
	for _, fault := range []storetest.Fault{storetest.LoseRequest, storetest.LoseAnswer, storetest.Hang, storetest.Delay} {
		t.Run(fmt.Sprint(fault), func(t *testing.T) {
			in(t, func(w *world) {
				faulty := storetest.NewFaulty(store.NewMemory())
				w.store = faulty
				l := newLedger(t)
				n := w.start()
				e := joinOn(t, n, l.remembering(n))
				tell(t, e, "#0", say{From: "x", N: 1})
				time.Sleep(10 * time.Second)
				faulty.Set(fault)
				for i := 1; i <= 50; i++ {
					for _, id := range ids(10) {
						tell(t, e, id, say{From: "y", N: i})
					}
				}
				time.Sleep(12 * time.Second)
				if why := e.Region().Why(t.Context(), "#1").String(); !strings.Contains(why, "that the store remembers") {
					t.Errorf("why does not tell that the store is waited for: %s", why)
				}
				faulty.Set(storetest.None)
				time.Sleep(10 * time.Second)
				l.complete(ids(10), []string{"y"}, 50)
				if drops := e.Region().Drops(); len(drops) > 0 {
					t.Errorf("drops %v, want none", drops)
				}
				faulty.Deliver(context.Background()) // what comes late changes nothing
				for _, id := range ids(10) {
					tell(t, e, id, say{From: "z", N: 1, Last: true})
				}
				time.Sleep(10 * time.Second)
				if got := l.alives(ids(10)); got != 0 {
					t.Errorf("%d entities live after all have ended", got)
				}
			})
		})
	}
}

// SHD-12: the message that comes for a resting entity starts it, and the end of the
// rest does not start it again.
func TestSHD12RestartMeetsAMessage(t *testing.T) {
	storing(t, func(t *testing.T, next func() *world) {
		n := next().start()
		l := newLedger(t)
		typ := l.remembering(n)
		typ.Backoff = Backoff{Min: 5 * time.Second, Wakes: true}
		e := joinOn(t, n, typ)
		tell(t, e, "#1", say{From: "x", Fail: true})
		time.Sleep(time.Second)
		if _, ok := l.home("#1"); ok {
			t.Error("it does not rest")
		}
		tell(t, e, "#1", say{From: "x", N: 1})
		time.Sleep(time.Minute)
		l.complete([]string{"#1"}, []string{"x"}, 1)
		if got := l.starts1("#1"); got != 2 {
			t.Errorf("%d incarnations, want 2", got)
		}
		tell(t, e, "#1", say{From: "x", Fail: true})
		time.Sleep(9 * time.Second) // up to 6 s by itself
		if _, ok := l.home("#1"); !ok {
			t.Error("a remembered entity was not started again by itself")
		}
	})
}

// SHD-18: two halves of a cluster that do not know of each other remember the same
// names. They never write for one shard at the same time, and when one of them is
// gone, and an empty node has joined the other, all names are still there.
func TestSHD18BothSidesOfAPartitionRemember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.NewMemory()
		names := ids(100)
		sides := [2]*world{newWorld(t), newWorld(t)}
		var l [2]*ledger
		var on [2]*Entities[msg]
		for i, w := range sides {
			w.store = s
			l[i] = newLedger(t)
			for range 2 {
				n := w.start()
				on[i] = joinOn(t, n, l[i].remembering(n))
			}
		}
		for round := 1; round <= 3; round++ {
			for i := range sides {
				for _, id := range names {
					tell(t, on[i], id, say{From: fmt.Sprint(i), N: round})
				}
				time.Sleep(20 * time.Second)
			}
		}
		sides[0].end()
		empty := sides[1].start()
		joinOn(t, empty, l[1].remembering(empty))
		defer sides[1].end()
		tell(t, on[1], "news", say{From: "x", N: 1}) // a write, which the other side may have forbidden
		time.Sleep(time.Minute)
		if got := l[1].alives(names); got != 100 {
			t.Errorf("%d of 100 names live when one side is left", got)
		}
		sides[1].set(empty, member.Leaving)
		last := newWorld(t)
		last.store = s
		defer last.end()
		sides[1].end()
		n := last.start()
		end := newLedger(t)
		joinOn(t, n, end.remembering(n))
		time.Sleep(time.Minute)
		for _, id := range names {
			if got := end.starts1(id); got != 1 {
				t.Errorf("%s has started %d times at last, want once", id, got)
			}
		}
	})
}
