package shard

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// An entity whose every start fails is tried less and less often, however much is
// told to it, and the others of its shard do not notice.
func TestFailingEntityBacksOff(t *testing.T) {
	in(t, func(w *world) {
		const ErrNoDisk = actor.Error("no disk")
		l := newLedger(t)
		n := w.start()
		typ := l.declare(n)
		typ.Shards = 1
		var starts atomic.Int64
		typ.Start = func(c *actor.Ctx[msg]) (actor.Behavior[msg], error) {
			if c.Name() == "sick" {
				starts.Add(1)
				return nil, ErrNoDisk
			}
			return l.start(n.id)(c)
		}
		e := joinOn(t, n, typ)
		tell(t, e, "well", say{From: "x", N: 1})
		const minute = 600
		for i := range minute {
			tell(t, e, "sick", say{From: "x", N: i})
			tell(t, e, "well", say{From: "x", N: i + 2})
			time.Sleep(100 * time.Millisecond)
		}
		if got := starts.Load(); got < 8 || got > 12 {
			t.Errorf("%d starts in a minute, want about 10: 100 ms, 200 ms, … 25 s", got)
		}
		l.complete([]string{"well"}, []string{"x"}, minute+1)
		time.Sleep(time.Minute)
		if got := e.Region().Drops()[DropStart]; got != minute {
			t.Errorf("%d messages were given up, want all %d", got, minute)
		}
		before := starts.Load()
		if _, err := ask(e, "sick", time.Minute); !errors.Is(err, ErrNoDisk) || starts.Load() != before+1 {
			t.Errorf("ask after a good rest: %v after %d starts, want the start's error after one", err, starts.Load()-before)
		}
	})
}

// What waits for a resting entity goes with its shard.
func TestRestingEntityMoves(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		a := w.start()
		typ := l.declare(a)
		typ.Backoff = Backoff{Min: time.Hour}
		onA := joinOn(t, a, typ)
		tell(t, onA, "#1", say{Fail: true, From: "x"})
		time.Sleep(time.Second)
		tell(t, onA, "#1", say{From: "x", N: 1})
		time.Sleep(time.Second)
		if got := l.of("#1"); len(got) > 0 {
			t.Errorf("a resting entity heard %v", got)
		}
		b := w.start()
		typ.Start = l.start(b.id)
		joinOn(t, b, typ)
		a.leave()
		l.complete([]string{"#1"}, []string{"x"}, 1)
	})
}

// With Wakes a message does not wait.
func TestMessageWakesFromRest(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		n := w.start()
		typ := l.declare(n)
		typ.Backoff = Backoff{Min: time.Hour, Wakes: true}
		e := joinOn(t, n, typ)
		for i := 1; i <= 3; i++ {
			tell(t, e, "#1", say{From: "x", N: i})
			tell(t, e, "#1", say{Fail: true, From: "x"})
		}
		time.Sleep(time.Second)
		l.complete([]string{"#1"}, []string{"x"}, 3)
		time.Sleep(24 * time.Hour)
		if got := l.starts1("#1"); got != 3 {
			t.Errorf("%d incarnations, want 3", got)
		}
	})
}
