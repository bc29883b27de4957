package shard

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/placement"
)

// living is who of the ids is active, in their order.
func (l *ledger) living(ids []string) (living []string) {
	for _, id := range ids {
		if _, ok := l.home(id); ok {
			living = append(living, id)
		}
	}
	return living
}

// known is how many entities the limiter knows of.
func (l *limiter) known() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.policy.Len()
}

// books checks that a limiter at rest counts those that its policy knows of, and
// gives how many they are, and their size.
func (l *limiter) books(t *testing.T) (count int, sum int64) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count != l.policy.Len() {
		t.Errorf("the limiter counts %d, and its policy knows of %d", l.count, l.policy.Len())
	}
	return l.count, l.sum
}

// Whoever comes too many has one go that the policy names, over all shards, and
// nothing is lost by it.
func TestLimit(t *testing.T) {
	for _, tt := range []struct {
		evict Eviction
		stay  string // who is active in the end
	}{
		{LRU, "#7 #8 #9"},
		{LFU, "#0 #1 #9"},
		{S3FIFO, "#0 #1 #9"},
	} {
		t.Run(fmt.Sprint(tt.evict), func(t *testing.T) {
			in(t, func(w *world) {
				l := newLedger(t)
				n := w.start()
				typ := l.declare(n)
				typ.Limit, typ.Evict, typ.Idle = 3, tt.evict, -1
				e := joinOn(t, n, typ)
				chats := ids(10)
				say1 := func(id string, k int) {
					tell(t, e, id, say{From: "x", N: k})
					time.Sleep(time.Second)
				}
				for k := 1; k <= 9; k++ { // two are used again and again
					for _, id := range chats[:2] {
						say1(id, k)
					}
				}
				for _, id := range chats[2:] { // and then others once
					say1(id, 1)
					if living := len(l.living(chats)); living > 3 {
						t.Fatalf("%d are active, want at most 3", living)
					}
				}
				if got := strings.Join(l.living(chats), " "); got != tt.stay {
					t.Errorf("%q are active in the end, want %q", got, tt.stay)
				}
				l.complete(chats[:2], []string{"x"}, 9)
				l.complete(chats[2:], []string{"x"}, 1)
			})
		})
	}
}

// An entity in use does not go, though it is the one that should.
func TestLimitSparesWhoIsInUse(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		n := w.start()
		typ := l.declare(n)
		typ.Limit = 1
		e := joinOn(t, n, typ)
		tell(t, e, "#0", say{From: "x", N: 1, Work: 10 * time.Second})
		time.Sleep(5 * time.Second)
		tell(t, e, "#1", say{From: "x", N: 1, Work: 20 * time.Second})
		time.Sleep(time.Second)
		if got := l.living(ids(3)); len(got) != 2 {
			t.Errorf("%v are active, want both: they are in use", got)
		}
		time.Sleep(time.Minute)
		tell(t, e, "#2", say{From: "x", N: 1})
		time.Sleep(time.Second)
		if got := l.living(ids(3)); !slices.Equal(got, []string{"#2"}) {
			t.Errorf("%v are active, want #2 alone", got)
		}
		l.complete(ids(3), []string{"x"}, 1)
	})
}

// Some that are in use for long, though it began long ago, do not keep the idle ones.
func TestLimitPassesOverWhoIsInUse(t *testing.T) {
	for _, who := range []Eviction{LRU, LFU, S3FIFO} {
		t.Run(fmt.Sprint(who), func(t *testing.T) {
			in(t, func(w *world) {
				l := newLedger(t)
				n := w.start()
				typ := l.declare(n)
				typ.Limit, typ.Evict, typ.Idle = 5, who, -1
				e := joinOn(t, n, typ)
				all := ids(maxAsked + 30)
				busy, rest := all[:maxAsked+10], all[maxAsked+10:]
				for _, id := range busy {
					tell(t, e, id, say{From: "x", N: 1, Work: time.Hour})
				}
				for range 2 {
					for _, id := range rest {
						time.Sleep(time.Second)
						tell(t, e, id, say{From: "x", N: l.starts1(id) + 1})
					}
				}
				time.Sleep(time.Second)
				if got := len(l.living(rest)); got > 1 {
					t.Errorf("%d idle ones live beside %d in use, want one at most: the limit is 5", got, len(busy))
				}
				time.Sleep(2 * time.Hour)
				tell(t, e, "last", say{From: "x", N: 1})
				for range len(all) / maxAsked {
					tell(t, e, "last", say{From: "x", N: l.starts1("last") + 1, Last: true})
					time.Sleep(time.Second)
					tell(t, e, "last", say{From: "x", N: 1})
					time.Sleep(time.Second)
				}
				if got := len(l.living(append(all, "last"))); got != 5 {
					t.Errorf("%d live when nobody is in use any more, want 5", got)
				}
			})
		})
	}
}

// Sizes count as long as they are told, and those go who are used least recently
// until the rest fits.
func TestLimitBytes(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		n := w.start()
		start := l.start(n.id)
		typ := l.declare(n)
		typ.Start, typ.Idle, typ.LimitBytes = nil, -1, 1000
		typ.StartSized = func(c *actor.Ctx[msg], size func(int64)) (actor.Behavior[msg], error) {
			hear, err := start(c)
			if err != nil {
				return nil, err
			}
			sum := int64(100)
			size(sum)
			return func(c *actor.Ctx[msg], m msg) error {
				if m, ok := m.(say); ok && m.N > 1 {
					sum += 100 * int64(m.N)
					size(sum)
				}
				return hear(c, m)
			}, nil
		}
		e := joinOn(t, n, typ)
		chats := ids(12)
		for _, id := range chats {
			tell(t, e, id, say{From: "x", N: 1})
			time.Sleep(time.Second)
		}
		if got := l.living(chats); !slices.Equal(got, chats[2:]) {
			t.Errorf("%v are active, want the last ten of 100 bytes each", got)
		}
		tell(t, e, "#11", say{From: "x", N: 5}) // 600 by now
		time.Sleep(time.Second)
		if got := l.living(chats); !slices.Equal(got, chats[7:]) {
			t.Errorf("%v are active, want the four of 100 and the one of 600 bytes", got)
		}
		tell(t, e, "#11", say{From: "x", N: 50}) // alone it is too large
		time.Sleep(time.Second)
		tell(t, e, "#0", say{From: "x", N: 2})
		time.Sleep(time.Second)
		if got := l.living(chats); !slices.Equal(got, chats[:1]) {
			t.Errorf("%v are active, want #0 alone", got)
		}
		if _, sum := e.r.limit[0].books(t); sum != 300 {
			t.Errorf("the sizes sum up to %d, want 300", sum)
		}
	})
}

// What entities do by themselves, and moves, keep the limiter's books right.
func TestLimiterForgetsWhoHasGone(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		a, b := w.start(), w.start()
		typ := l.declare(a)
		typ.Limit, typ.Evict = 50, S3FIFO
		onA := joinOn(t, a, typ)
		for k := range 20 {
			for _, id := range ids(40) {
				tell(t, onA, id, say{From: "x", N: k + 1, Last: k%3 == 0, Fail: k%5 == 4})
			}
		}
		time.Sleep(5 * time.Second)
		if got, want := onA.r.limit[0].known(), len(l.living(ids(40))); got != want {
			t.Errorf("the limiter knows of %d, want the %d that live", got, want)
		}
		typ.Start = l.start(b.id)
		joinOn(t, b, typ)
		time.Sleep(time.Second)
		a.leave()
		if got := onA.r.limit[0].known(); got != 0 {
			t.Errorf("the limiter of a node that left knows of %d", got)
		}
		onA.r.limit[0].books(t)
	})
}

// A round over many entities goes in slices, and finds all that are idle.
func TestSweepGoesInSlices(t *testing.T) {
	in(t, func(w *world) {
		n := w.start()
		typ := Type[msg]{
			Name: "many", Protocol: newProtocol(), Shards: 8, ShardOf: placement.JavaHash, Idle: time.Minute,
			Start: func(*actor.Ctx[msg]) (actor.Behavior[msg], error) {
				return func(*actor.Ctx[msg], msg) error { return nil }, nil
			},
		}
		e := joinOn(t, n, typ)
		const many = 3 * sweepSlice
		for _, id := range ids(many) {
			tell(t, e, id, say{})
		}
		busy := ids(100)
		for range 8 { // the hundred are used every ten seconds
			time.Sleep(10 * time.Second)
			for _, id := range busy {
				tell(t, e, id, say{})
			}
		}
		for range 60 {
			time.Sleep(time.Second)
			before := int(e.r.count.Load())
			time.Sleep(time.Millisecond)
			if gone := before - int(e.r.count.Load()); gone > sweepSlice+sweepHold {
				t.Errorf("%d entities ended at once, want at most a slice of about %d", gone, sweepSlice)
			}
			for _, id := range busy {
				tell(t, e, id, say{})
			}
		}
		if got := int(e.r.count.Load()); got != len(busy) {
			t.Errorf("%d entities live, want the %d that are in use", got, len(busy))
		}
	})
}
