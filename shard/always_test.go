package shard

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// undying declares the tests' type with ids that always live.
func (l *ledger) undying(n *fakeNode, ids ...string) Type[msg] {
	typ := l.declare(n)
	typ.Always = ids
	return typ
}

// crash ends a node, and gives who lived there. It returns when the node is removed.
func (l *ledger) crash(n *fakeNode) (ids []string) {
	l.mu.Lock()
	for id, home := range l.alive {
		if home == n.id {
			ids = append(ids, id)
			delete(l.alive, id)
		}
	}
	l.mu.Unlock()
	n.crash(time.Second)
	return ids
}

// A watch on the links counts what each node sends in a second.
type linkWatch struct {
	nodes []*fakeNode
	last  []int64
	sum   int64
}

func watchLinks(nodes []*fakeNode) *linkWatch {
	w := &linkWatch{nodes: nodes, last: make([]int64, len(nodes))}
	for i, n := range nodes {
		w.last[i] = n.frames.Load()
	}
	return w
}

// second lets one pass, and gives the most that a node has sent in it.
func (w *linkWatch) second() (most int64) {
	time.Sleep(time.Second)
	for i, n := range w.nodes {
		sent := n.frames.Load()
		most = max(most, sent-w.last[i])
		w.sum += sent - w.last[i]
		w.last[i] = sent
	}
	return most
}

// SHD-11: 1,000 workers that always live are on 100 nodes for ten minutes. Nothing is
// sent to keep them alive, so no node sends 50 messages in any second, but for the
// moves when a node is gone. A worker that is killed is back after its rest, and those of
// a killed node when that is removed.
func TestSHD11AlwaysOnWorkersNeedNoKeepAlives(t *testing.T) {
	t.Run("coordinator", func(t *testing.T) { in(t, func(w *world) { keepAlive(t, w, 100, 1000) }) })
	// 10 nodes here, for one process: each computes each second where all shards belong.
	t.Run("ring", func(t *testing.T) { inRing(t, func(w *world) { keepAlive(t, w, 10, 300) }) })
}

func keepAlive(t *testing.T, w *world, nodes, shards int) {
	t.Helper()
	const workers, most = 1000, 50
	all := make([]string, workers)
	for i := range all {
		all[i] = fmt.Sprintf("worker-%04d", i)
	}
	l := newLedger(t)
	var members []*fakeNode
	for range nodes {
		members = append(members, w.start())
	}
	var regions []*Entities[msg]
	for _, n := range members {
		typ := l.undying(n, all...)
		typ.Shards, typ.RebalanceEvery = shards, 0
		regions = append(regions, joinOn(t, n, typ))
	}
	began := time.Now()
	for l.alives(all) < workers {
		if time.Sleep(100 * time.Millisecond); time.Since(began) > time.Minute {
			t.Fatalf("%d of %d workers live after a minute", l.alives(all), workers)
		}
	}
	t.Logf("all live after %v", time.Since(began))
	time.Sleep(time.Minute)

	links := watchLinks(members)
	quiet := func(seconds int) {
		t.Helper()
		for range seconds {
			if got := links.second(); got >= most {
				t.Errorf("a node has sent %d messages in a second, want fewer than %d", got, most)
			}
		}
		if got := l.alives(all); got != workers {
			t.Errorf("%d of %d workers live", got, workers)
		}
	}
	quiet(180)
	for _, end := range []say{{From: "x", Fail: true}, {From: "x", Last: true}} {
		tell(t, regions[1], all[7], end)
		time.Sleep(5 * time.Second)
		if _, ok := l.home(all[7]); !ok {
			t.Errorf("a killed worker is not back after 5 s (told %+v)", end)
		}
	}
	quiet(180)
	t.Logf("%d messages of all nodes in six quiet minutes", links.sum)

	for _, victim := range []*fakeNode{members[nodes/2], members[0]} { // the second one coordinates, if anybody does
		lost := l.crash(victim)
		if len(lost) == 0 {
			t.Fatal("the killed node had no workers")
		}
		worst := int64(0)
		for range 5 {
			worst = max(worst, links.second())
		}
		if got := l.alives(lost); got != len(lost) {
			t.Errorf("%d of %d workers of the killed node are back 5 s after its removal", got, len(lost))
		}
		t.Logf("a node has sent at most %d messages in a second for %d lost workers", worst, len(lost))
		quiet(120)
		for _, id := range lost {
			if got := l.starts1(id); got < 2 {
				t.Errorf("%s has started %d times, want once more", id, got)
			}
		}
	}
}

// They live under a lazy ring too, and move with a node that leaves; one that
// always fails rests longer and longer, and others beside them come and go as usual.
func TestAlwaysLivingEntitiesMoveAndRest(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		if w.ring != nil {
			w.ring.Lazy = true
		}
		l := newLedger(t)
		all := ids(40)
		var starts int
		declare := func(n *fakeNode) Type[msg] {
			typ := l.undying(n, append(all, "sick")...)
			typ.Idle, typ.RecoverRate, typ.RecoverOpen = time.Minute, 100, 2
			start := typ.Start
			typ.Start = func(c *actor.Ctx[msg]) (actor.Behavior[msg], error) {
				if c.Name() == "sick" {
					l.mu.Lock()
					starts++
					l.mu.Unlock()
					return nil, actor.Error("no disk")
				}
				return start(c)
			}
			return typ
		}
		a, b := w.start(), w.start()
		onA := joinOn(t, a, declare(a))
		joinOn(t, b, declare(b))
		tell(t, onA, "guest", say{From: "x", N: 1})
		time.Sleep(30 * time.Second)
		if got := l.alives(all); got != 40 {
			t.Errorf("%d of 40 live", got)
		}
		time.Sleep(10 * time.Minute)
		l.mu.Lock()
		if starts < 20 || starts > 40 {
			t.Errorf("%d starts of one that always fails in 10 minutes, want about 28: 100 ms, 200 ms, … 30 s", starts)
		}
		l.mu.Unlock()
		if _, ok := l.home("guest"); ok {
			t.Error("an idle entity was not passivated because others always live")
		}
		tell(t, onA, all[0], say{From: "x", N: 1, Last: true})
		tell(t, onA, all[0], say{From: "x", N: 2}) // meets the end
		time.Sleep(10 * time.Second)
		l.complete(all[:1], []string{"x"}, 2)
		a.leave()
		time.Sleep(5 * time.Second)
		for _, id := range all {
			if home, ok := l.home(id); !ok || home != b.id {
				t.Errorf("%s does not live on the node that is left", id)
			}
		}
	})
}

// Nodes with other lists say so, whatever the order in theirs.
func TestAlwaysMustAgree(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		l := newLedger(t)
		a, b, c := w.start(), w.start(), w.start()
		joinOn(t, a, l.undying(a, "#1", "#2"))
		time.Sleep(5 * time.Second)
		same := joinOn(t, b, l.undying(b, "#2", "#1"))
		other := joinOn(t, c, l.undying(c, "#1", "#3"))
		time.Sleep(5 * time.Second)
		if _, err := ask(other, "#1", time.Second); !errors.Is(err, ErrDisagree) {
			t.Errorf("ask by a node with another list: %v, want ErrDisagree", err)
		}
		if _, err := ask(same, "#1", time.Second); err != nil {
			t.Errorf("ask by a node with the same list in another order: %v", err)
		}
		if _, ok := l.home("#3"); ok {
			t.Error("who is in the wrong list alone lives")
		}
	})
}

func TestAlwaysIsChecked(t *testing.T) {
	in(t, func(w *world) {
		n := w.start()
		l := newLedger(t)
		for want, change := range map[string]func(*Type[msg]){
			`Always[0] and [2] are both "#1"`:   func(t *Type[msg]) { t.Always = []string{"#1", "#2", "#1"} },
			"Always[1] is empty":                func(t *Type[msg]) { t.Always = []string{"#1", ""} },
			"Always[0]: ShardOf gives 99":       func(t *Type[msg]) { t.ShardOf = func(string, int) int { return 99 } },
			"Always and Remember":               func(t *Type[msg]) { t.Remember = true },
			"Always and Limit":                  func(t *Type[msg]) { t.Limit = 10 },
			"Always and Pool":                   func(t *Type[msg]) { t.Pool = new(Pool) },
			"with Always one that always fails": func(t *Type[msg]) { t.Backoff.Min = -1 },
		} {
			typ := l.undying(n, "#1")
			change(&typ)
			if _, err := join(n, typ); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("join: %v, want an error with %q", err, want)
			}
		}
	})
}
