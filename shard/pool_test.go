package shard

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/troupe-go/troupe/actor"
)

// pooled is a node with two types of a pool, whose entities are told apart by their
// ledgers.
type pooled struct {
	t     *testing.T
	pool  *Pool
	names []string
	of    []*Entities[msg]
	l     []*ledger
}

func newPooled(t *testing.T, n *fakeNode, pool *Pool, adapt func(name string, typ *Type[msg])) *pooled {
	t.Helper()
	p := &pooled{t: t, pool: pool, names: []string{"hot", "cold"}}
	for _, name := range p.names {
		l := newLedger(t)
		typ := l.declare(n)
		typ.Name, typ.Pool, typ.Idle = name, pool, -1
		if adapt != nil {
			adapt(name, &typ)
		}
		p.l = append(p.l, l)
		p.of = append(p.of, joinOn(t, n, typ))
	}
	return p
}

// say tells one of a type's entities its next number, and gives it time.
func (p *pooled) say(typ int, id string, m say) {
	p.t.Helper()
	m.From, m.N = "x", len(p.l[typ].of(id))+1
	tell(p.t, p.of[typ], id, m)
	time.Sleep(time.Second)
}

// living names who is active, the hot ones first.
func (p *pooled) living(ids []string) string {
	var all []string
	for i, l := range p.l {
		for _, id := range l.living(ids) {
			all = append(all, p.names[i]+id)
		}
	}
	return strings.Join(all, " ")
}

// check compares the pool's stats with who lives.
func (p *pooled) check(ids []string) {
	p.t.Helper()
	want := 0
	for _, l := range p.l {
		want += len(l.living(ids))
	}
	if got := p.pool.Stats().Entities; got != want {
		p.t.Errorf("the pool counts %d entities, want the %d that live", got, want)
	}
	p.pool.all.books(p.t)
}

// The types of a pool count together, and the policy chooses over all of them: of
// the one that is used less more goes.
func TestPool(t *testing.T) {
	for _, tt := range []struct {
		evict Eviction
		stay  string // who is active in the end
	}{
		{LRU, "cold#7 cold#8 cold#9"},
		{LFU, "hot#0 hot#1 cold#9"},
		{S3FIFO, "hot#0 hot#1 cold#9"},
	} {
		t.Run(fmt.Sprint(tt.evict), func(t *testing.T) {
			in(t, func(w *world) {
				p := newPooled(t, w.start(), &Pool{Limit: 3, Evict: tt.evict}, nil)
				all := ids(10)
				for range 9 {
					p.say(0, "#0", say{})
					p.say(0, "#1", say{})
				}
				if got := p.living(all); got != "hot#0 hot#1" {
					t.Fatalf("%q are active, want the hot ones", got)
				}
				for _, id := range all { // the same ids, of the other type
					p.say(1, id, say{})
					p.check(all)
					if got := p.pool.Stats().Entities; got > 3 {
						t.Fatalf("%d are active, want at most 3", got)
					}
				}
				if got := p.living(all); got != tt.stay {
					t.Errorf("%q are active in the end, want %q", got, tt.stay)
				}
				if got := p.pool.Stats(); got != (PoolStats{Entities: 3, Evicted: 9}) {
					t.Errorf("the pool stands at %+v, want 3 entities and 9 evicted", got)
				}
				p.l[0].complete(all[:2], []string{"x"}, 9)
				p.l[1].complete(all, []string{"x"}, 1)
			})
		})
	}
}

// A type that is used makes room in the other for itself, and the other way round.
func TestPoolFollowsUse(t *testing.T) {
	in(t, func(w *world) {
		p := newPooled(t, w.start(), &Pool{Limit: 4}, nil)
		all := ids(4)
		for _, typ := range []int{0, 1, 0} {
			for _, id := range all {
				p.say(typ, id, say{})
			}
			want := strings.Join(all, " "+p.names[typ])
			if got := p.living(all); got != p.names[typ]+want {
				t.Errorf("%q are active, want those of %q alone", got, p.names[typ])
			}
		}
	})
}

// A type with a limit of its own is under both, and who goes for the one makes room
// with the other.
func TestPoolBesideOwnLimit(t *testing.T) {
	in(t, func(w *world) {
		p := newPooled(t, w.start(), &Pool{Limit: 5}, func(name string, typ *Type[msg]) {
			if name == "hot" {
				typ.Limit = 2
			}
		})
		all := ids(8)
		for _, id := range all[:3] {
			p.say(1, id, say{})
		}
		for _, id := range all {
			p.say(0, id, say{})
		}
		if got, want := p.living(all), "hot#6 hot#7 cold#0 cold#1 cold#2"; got != want {
			t.Errorf("%q are active, want %q: the hot ones displace each other", got, want)
		}
		for _, id := range all[3:6] {
			p.say(1, id, say{})
		}
		if got, want := p.living(all), "hot#6 hot#7 cold#3 cold#4 cold#5"; got != want {
			t.Errorf("%q are active, want %q: those used last", got, want)
		}
		for _, id := range all[6:] {
			p.say(1, id, say{})
		}
		if got, want := p.living(all), "cold#3 cold#4 cold#5 cold#6 cold#7"; got != want {
			t.Errorf("%q are active, want %q", got, want)
		}
		p.check(all)
		if n, _ := p.of[0].r.limit[0].books(t); n != 0 {
			t.Errorf("the own limiter counts %d, want none", n)
		}
	})
}

// Both count all use, though each looks when it likes.
func TestPoolAndOwnLimitBothSeeUse(t *testing.T) {
	in(t, func(w *world) {
		p := newPooled(t, w.start(), &Pool{Limit: 3, Evict: LFU}, func(name string, typ *Type[msg]) {
			if name == "hot" {
				typ.Limit, typ.Evict = 2, LFU
			}
		})
		all := ids(8)
		for range 9 {
			p.say(0, "#0", say{})
		}
		for _, id := range all[1:] { // the own one looks, and then the pool's
			p.say(0, id, say{})
		}
		for _, id := range all {
			p.say(1, id, say{})
		}
		if got, want := p.living(all), "hot#0 cold#7"; !strings.HasPrefix(got, "hot#0 ") || !strings.HasSuffix(got, " cold#7") {
			t.Errorf("%q are active, want %q among them", got, want)
		}
		p.check(all)
	})
}

// Sizes count over all types, and those of one type make room for what another's
// entity grows to.
func TestPoolBytes(t *testing.T) {
	in(t, func(w *world) {
		n := w.start()
		p := newPooled(t, n, &Pool{LimitBytes: 1000}, sizedByMessages)
		all := ids(6)
		for _, id := range all[:5] {
			p.say(0, id, say{})
			p.say(1, id, say{})
		}
		if got := p.pool.Stats(); got != (PoolStats{Entities: 10, Bytes: 1000}) {
			t.Errorf("the pool stands at %+v, want ten of 100 bytes each", got)
		}
		p.say(1, "#4", say{}) // 200 by now
		if got, want := p.living(all), "hot#1 hot#2 hot#3 hot#4 cold#0 cold#1 cold#2 cold#3 cold#4"; got != want {
			t.Errorf("%q are active, want %q: the oldest has made room", got, want)
		}
		for range 6 { // up to 800
			p.say(1, "#4", say{})
		}
		if got, want := p.living(all), "hot#4 cold#3 cold#4"; got != want {
			t.Errorf("%q are active, want %q", got, want)
		}
		p.say(0, "#5", say{})
		if got := p.pool.Stats(); got.Entities != 3 || got.Bytes != 1000 {
			t.Errorf("the pool stands at %+v, want 3 entities and 1000 bytes", got)
		}
		p.check(all)
	})
}

// sizedByMessages has a type's entities be of 100 bytes for each message that they have heard.
func sizedByMessages(_ string, typ *Type[msg]) {
	start := typ.Start
	typ.Start = nil
	typ.StartSized = func(c *actor.Ctx[msg], size func(int64)) (actor.Behavior[msg], error) {
		hear, err := start(c)
		if err != nil {
			return nil, err
		}
		heard := int64(0)
		return func(c *actor.Ctx[msg], m msg) error {
			if _, ok := m.(say); ok {
				heard++
				size(100 * heard)
			}
			return hear(c, m)
		}, nil
	}
}

// An entity in use does not go, though it is the one that should, and is no
// obstacle to the others.
func TestPoolSparesWhoIsInUse(t *testing.T) {
	in(t, func(w *world) {
		p := newPooled(t, w.start(), &Pool{Limit: 1}, nil)
		all := ids(4)
		p.say(0, "#0", say{Work: time.Minute})
		p.say(1, "#0", say{Work: time.Minute})
		if got, want := p.living(all), "hot#0 cold#0"; got != want {
			t.Errorf("%q are active, want both: they are in use", got)
		}
		for _, id := range all[1:] {
			p.say(1, id, say{})
			p.check(all)
		}
		if got, want := p.living(all), "hot#0 cold#0 cold#3"; got != want {
			t.Errorf("%q are active, want %q: one that is idle went for each that came", got, want)
		}
		time.Sleep(2 * time.Minute)
		p.say(0, "#1", say{})
		if got, want := p.living(all), "hot#1"; got != want {
			t.Errorf("%q are active, want %q alone", got, want)
		}
		p.l[0].complete(all[:2], []string{"x"}, 1)
		p.l[1].complete(all, []string{"x"}, 1)
	})
}

// Whatever entities do by themselves, and however many tell them at a time, the
// limiters' books are right in the end, and nothing is lost by them.
func TestPoolKeepsCountUnderLoad(t *testing.T) {
	for _, who := range []Eviction{LRU, LFU, S3FIFO} {
		t.Run(fmt.Sprint(who), func(t *testing.T) {
			in(t, func(w *world) {
				const tellers, rounds = 6, 150
				p := newPooled(t, w.start(), &Pool{Limit: 12, LimitBytes: 10_000, Evict: who}, func(name string, typ *Type[msg]) {
					sizedByMessages(name, typ)
					typ.Backoff.Min = -1
					if name == "hot" {
						typ.Limit, typ.LimitBytes, typ.Evict = 8, 5000, who
					}
				})
				all := ids(30)
				var tellings sync.WaitGroup
				told := make([]map[string][]int, tellers) // what each told whom, but what failed
				for i := range tellers {
					told[i] = map[string][]int{}
					tellings.Go(func() {
						rnd := rand.New(rand.NewPCG(uint64(i), uint64(who)))
						from := fmt.Sprint("sender-", i)
						for k := range rounds {
							typ, id := rnd.IntN(2), all[min(rnd.IntN(len(all)), rnd.IntN(len(all)))]
							m := say{
								From: from, N: k, Last: rnd.IntN(8) == 0, Fail: rnd.IntN(10) == 0,
								Work: time.Duration(rnd.IntN(3)) * time.Millisecond,
							}
							tell(t, p.of[typ], id, m)
							if key := p.names[typ] + id; !m.Fail {
								told[i][key] = append(told[i][key], m.N)
							}
							if k%5 == 0 {
								time.Sleep(time.Duration(rnd.IntN(4)) * time.Millisecond)
							}
						}
					})
				}
				tellings.Wait()
				time.Sleep(time.Minute)
				p.say(0, "#0", say{}) // whoever comes has the rest asked to go
				time.Sleep(time.Second)
				p.check(all)
				stats := p.pool.Stats()
				if stats.Entities > 12 || stats.Bytes > 10_000 || stats.Evicted == 0 {
					t.Errorf("the pool stands at %+v, want at most 12 entities and 10,000 bytes, and some evicted", stats)
				}
				count, sum := p.of[0].r.limit[0].books(t)
				if living := len(p.l[0].living(all)); count != living || count > 8 || sum > 5000 {
					t.Errorf("the own limiter counts %d and %d bytes, want the %d that live, at most 8, and 5000 bytes", count, sum, living)
				}
				for typ, l := range p.l {
					for _, id := range all {
						for i, told := range told {
							if heard, want := l.from(id, fmt.Sprint("sender-", i)), told[p.names[typ]+id]; !slices.Equal(heard, want) {
								t.Errorf("%s%s heard %v from sender %d, want %v", p.names[typ], id, heard, i, want)
							}
						}
					}
				}
			})
		})
	}
}

// from is what an entity heard from one sender.
func (l *ledger) from(id, sender string) (heard []int) {
	for _, m := range l.of(id) {
		if m.From == sender {
			heard = append(heard, m.N)
		}
	}
	return heard
}

// A pool is whose who names it: two nodes in one process count apart with one each, and
// together with one for both. What lived on a node that ends is out of it.
func TestPoolOfTwoNodes(t *testing.T) {
	for _, shared := range []bool{true, false} {
		t.Run(fmt.Sprintf("shared=%t", shared), func(t *testing.T) {
			in(t, func(w *world) {
				a, b := w.start(), w.start()
				l := newLedger(t)
				pools := []*Pool{{Limit: 10}, {Limit: 10}}
				if shared {
					pools[1] = pools[0]
				}
				var e *Entities[msg]
				for i, n := range []*fakeNode{a, b} {
					typ := l.declare(n)
					typ.Pool, typ.Idle = pools[i], -1
					e = joinOn(t, n, typ)
				}
				time.Sleep(time.Minute)
				all := ids(100)
				for _, id := range all {
					tell(t, e, id, say{From: "x", N: 1})
					time.Sleep(100 * time.Millisecond)
				}
				want := 20
				if shared {
					want = 10
				}
				if got := len(l.living(all)); got != want {
					t.Errorf("%d live on both, want %d", got, want)
				}
				onB := 0
				for _, id := range l.living(all) {
					if n, _ := l.home(id); n == b.id {
						onB++
					}
				}
				a.gone()
				time.Sleep(time.Second)
				if got := pools[1].Stats().Entities; got != onB {
					t.Errorf("the pool counts %d when a node has ended, want the %d of the other", got, onB)
				}
				if got := pools[0].Stats().Entities; !shared && got != 0 {
					t.Errorf("the pool of a node that has ended counts %d", got)
				}
				pools[0].all.books(t)
			})
		})
	}
}

func TestPoolProblems(t *testing.T) {
	in(t, func(w *world) {
		l, n := newLedger(t), w.start()
		sized := func(typ *Type[msg]) { sizedByMessages("", typ) }
		for _, tt := range []struct {
			pool  *Pool
			adapt func(*Type[msg])
			want  string
		}{
			{&Pool{}, nil, "Pool is empty"},
			{&Pool{Evict: LFU}, nil, "Pool is empty"},
			{&Pool{Limit: -1}, nil, "Pool.Limit is -1"},
			{&Pool{Limit: 1, LimitBytes: -2}, sized, "Pool.LimitBytes is -2"},
			{&Pool{LimitBytes: 3}, nil, "Pool.LimitBytes is 3, but without StartSized"},
			{&Pool{Limit: 1, Evict: 9}, nil, "Pool.Evict is 9"},
			{&Pool{Limit: 1}, func(typ *Type[msg]) { typ.Evict = LFU }, "Pool.Evict"},
			{&Pool{Limit: 1}, func(typ *Type[msg]) { typ.Remember = true }, "Remember and Pool are both set"},
		} {
			typ := l.declare(n)
			typ.Pool = tt.pool
			if tt.adapt != nil {
				tt.adapt(&typ)
			}
			if _, err := join(n, typ); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("join with pool %+v: %v, want %q in it", PoolStats{tt.pool.Limit, tt.pool.LimitBytes, 0}, err, tt.want)
			}
		}
		if got := (&Pool{Limit: 1}).Stats(); got != (PoolStats{}) {
			t.Errorf("a pool that nobody has joined stands at %+v", got)
		}
	})
}

// What an entity costs is what millions of them cost.
func TestEntitiesAreSmall(t *testing.T) {
	if got := unsafe.Sizeof(entity[msg]{}); got > 64 {
		t.Errorf("an entity has %d bytes, want at most 64", got)
	}
	if got := unsafe.Sizeof(turn{}); got > 80 {
		t.Errorf("a turn has %d bytes, want at most 80", got)
	}
	none := limits[msg]{}
	if turn := none.turnOf(&entity[msg]{}); turn != nil {
		t.Errorf("an entity under no limit has a turn: %v", turn)
	}
}
