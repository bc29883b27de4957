package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/store"
)

// dads is the ring of the tests.
var dads = store.Ring{Cluster: "c", Type: "Dad"}

// A runner is one who sits in the ring by a way to the store.
type runner struct {
	t     *testing.T
	s     store.Store
	name  string
	token store.Token
}

// sits has a runner sit down, and expects that token.
func sits(t *testing.T, s store.Store, name string, want store.Token) runner {
	t.Helper()
	token, err := s.Sit(wait(t), dads, store.Seat{Runner: name, Note: []byte("of " + name)}, ttl)
	if err != nil || token != want {
		t.Fatalf("Sit of %s = %d, %v; want token %d", name, token, err, want)
	}
	return runner{t: t, s: s, name: name, token: token}
}

func (r runner) keep() error {
	return r.s.Keep(wait(r.t), dads, store.Seat{Runner: r.name, Note: []byte("of " + r.name)}, r.token, ttl)
}

func (r runner) rise() {
	r.t.Helper()
	if err := r.s.Rise(wait(r.t), dads, r.name, r.token); err != nil {
		r.t.Fatalf("Rise of %s = %v", r.name, err)
	}
}

// take asks for shards, and expects to have those of the epochs then.
func (r runner) take(shards string, want string) []store.Lock {
	r.t.Helper()
	locks, err := r.s.Take(wait(r.t), dads, r.name, r.token, strings.Fields(shards))
	if got := told(locks); err != nil || got != want {
		r.t.Fatalf("Take of %q by %s = %q, %v; want %q", shards, r.name, got, err, want)
	}
	for _, l := range locks {
		if l.Runner != r.name || l.Token != r.token {
			r.t.Errorf("Take by %s with token %d gives the lock %+v", r.name, r.token, l)
		}
	}
	return locks
}

func (r runner) give(locks []store.Lock) {
	r.t.Helper()
	if err := r.s.Give(wait(r.t), dads, r.name, r.token, locks); err != nil {
		r.t.Fatalf("Give of %v by %s = %v", locks, r.name, err)
	}
}

// told is each lock's shard and epoch.
func told(locks []store.Lock) string {
	var words []string
	for _, l := range locks {
		words = append(words, fmt.Sprint(l.Shard, "@", l.Epoch))
	}
	return strings.Join(words, " ")
}

// table expects who sits, with the token, and what each one has.
func table(t *testing.T, s store.Store, want string) []store.TakenSeat {
	t.Helper()
	seats, locks, err := s.Table(wait(t), dads)
	var words []string
	for _, s := range seats {
		words = append(words, fmt.Sprint(s.Runner, ":", s.Token))
		if s.Left <= 0 || s.Left > ttl || string(s.Note) != "of "+s.Runner {
			t.Errorf("Table gives %+v; want at most %v left", s, ttl)
		}
	}
	for _, l := range locks {
		words = append(words, fmt.Sprint(l.Shard, "@", l.Epoch, "=", l.Runner))
		if !slices.ContainsFunc(seats, func(s store.TakenSeat) bool { return s.Runner == l.Runner && s.Token == l.Token }) {
			t.Errorf("Table gives %+v, and no such seat", l)
		}
	}
	if got := strings.Join(words, " "); err != nil || got != want {
		t.Fatalf("Table = %q, %v; want %q", got, err, want)
	}
	return seats
}

func testSeats(t *testing.T, w *world) {
	s, other := w.open(), w.open()
	table(t, s, "")
	b, a := sits(t, s, "b", 1), sits(t, other, "a", 2)
	table(t, other, "a:2 b:1")
	sits(t, other, "b", 1) // again
	sits(t, s, "ä", 3)
	table(t, s, "a:2 b:1 ä:3")

	stranger := runner{t: t, s: s, name: "a", token: 1}
	refused(t, "Keep with another's token", stranger.keep(), store.ErrLeaseLost)
	stranger.rise()
	if err := s.Keep(wait(t), dads, store.Seat{Runner: "b"}, b.token, ttl); err != nil {
		t.Errorf("Keep = %v", err)
	}
	if seats, _, err := other.Table(wait(t), dads); err != nil || len(seats) != 3 || len(seats[1].Note) > 0 {
		t.Errorf("Table = %+v, %v; want b's note to be empty", seats, err)
	}
	if err := b.keep(); err != nil {
		t.Errorf("Keep = %v", err)
	}
	for range 2 {
		a.rise()
		table(t, s, "b:1 ä:3")
	}
	refused(t, "Keep after Rise", a.keep(), store.ErrLeaseLost)
	_, err := s.Take(wait(t), dads, "a", a.token, []string{"7"})
	refused(t, "Take after Rise", err, store.ErrLeaseLost)
	sits(t, s, "a", 4)

	elsewhere := store.Ring{Cluster: "c", Type: "Mum"}
	if seats, locks, err := s.Table(wait(t), elsewhere); err != nil || len(seats)+len(locks) > 0 {
		t.Errorf("Table of another ring = %v, %v, %v; want nothing", seats, locks, err)
	}
	if token, err := s.Sit(wait(t), elsewhere, store.Seat{Runner: "a"}, ttl); err != nil || token != 1 {
		t.Errorf("Sit in another ring = %d, %v; want its first token", token, err)
	}
}

// testSeatRunsOut: a seat is free of its runner when it has run out, not before,
// and is not revived even if nobody cared.
func testSeatRunsOut(t *testing.T, w *world) {
	s, other := w.open(), w.open()
	a := sits(t, s, "a", 1)
	a.take("7 8", "7@1.1 8@1.1")
	w.pass(ttl * 3 / 4)
	b := sits(t, other, "b", 2)
	if err := a.keep(); err != nil {
		t.Fatalf("Keep = %v", err)
	}
	w.pass(ttl * 3 / 4)
	b.take("7", "")
	if err := b.keep(); err != nil {
		t.Fatalf("Keep = %v", err)
	}
	if left := table(t, other, "a:1 b:2 7@1.1=a 8@1.1=a")[0].Left; left > ttl/2 {
		t.Errorf("%v left at three quarters of the ttl; want a quarter of %v", left, ttl)
	}
	w.pass(ttl / 2)
	table(t, s, "b:2")
	refused(t, "Keep of what ran out", a.keep(), store.ErrLeaseLost)
	_, err := s.Take(wait(t), dads, "a", a.token, []string{"9"})
	refused(t, "Take on a seat that ran out", err, store.ErrLeaseLost)
	a.give([]store.Lock{{Shard: "7", Epoch: store.Epoch{Term: 1, N: 1}}})
	a = sits(t, s, "a", 3)
	table(t, s, "a:3 b:2")
	b.take("7", "7@1.2")
	a.take("7 8", "8@1.2")
	table(t, other, "a:3 b:2 7@1.2=b 8@1.2=a")
}

func testLocks(t *testing.T, w *world) {
	s, other := w.open(), w.open()
	a, b := sits(t, s, "a", 1), sits(t, other, "b", 2)
	a.take("", "")
	a.take("8 7 10 7", "10@1.1 7@1.1 8@1.1")
	b.take("9 10 8 11", "11@1.1 9@1.1")
	a.take("8 11 ' ä %", "%@1.1 '@1.1 8@1.1 ä@1.1")
	table(t, s, "a:1 b:2 %@1.1=a '@1.1=a 10@1.1=a 11@1.1=b 7@1.1=a 8@1.1=a 9@1.1=b ä@1.1=a")
	a.take("10 7 8", "10@1.1 7@1.1 8@1.1") // the same again

	_, err := s.Take(wait(t), dads, "a", b.token, []string{"7"})
	refused(t, "Take with another's token", err, store.ErrLeaseLost)
	_, err = s.Take(wait(t), store.Ring{Cluster: "c", Type: "Mum"}, "a", a.token, []string{"7"})
	refused(t, "Take in another ring", err, store.ErrLeaseLost)
}

// testFreeAtOnce: what is given back, or its holder rises from, waits for no time
// to run out; and nobody gives back what is not his.
func testFreeAtOnce(t *testing.T, w *world) {
	s, other := w.open(), w.open()
	a, b := sits(t, s, "a", 1), sits(t, other, "b", 2)
	old := a.take("7 8 9", "7@1.1 8@1.1 9@1.1")
	b.give(old)
	runner{t: t, s: s, name: "a", token: 2}.give(old)
	b.take("7 8 9", "")
	a.give(old[:2])
	b.take("7 8 9", "7@1.2 8@1.2")
	a.give(old)
	table(t, s, "a:1 b:2 7@1.2=b 8@1.2=b")
	a.take("9", "9@1.2")
	a.give(old) // by the epoch of before
	b.take("9", "")
	a.rise()
	b.take("9", "9@1.3")
	b.give(nil)
}

// testEpochsGrow: whoever has had a shard, and whatever has ended in between, the
// next one's epoch is higher.
func testEpochsGrow(t *testing.T, w *world) {
	s := w.open()
	a := sits(t, s, "a", 1)
	a.give(a.take("7", "7@1.1"))
	a.give(a.take("7", "7@1.2"))
	a.take("7", "7@1.3")
	a.rise() // nobody sits
	b := sits(t, s, "b", 2)
	b.take("7 8", "7@2.4 8@2.1")
	w.pass(2 * ttl) // nobody sits
	a = sits(t, s, "a", 3)
	b = sits(t, s, "b", 4)
	a.take("7", "7@3.5")
	b.take("8", "8@3.2")
	claim(t, s, store.Tenure{Shard: dads.Shard("9"), Epoch: store.Epoch{Term: 2, N: 40}})
	claim(t, s, store.Tenure{Shard: dads.Shard("10"), Epoch: store.Epoch{Term: 50, N: 6}})
	b.take("9 10", "10@50.7 9@3.41") // above what a coordinator gave out
}

func testTerms(t *testing.T, w *world) {
	s, other := w.open(), w.open()
	raise := func(s store.Store, r store.Ring, atLeast, want uint64) {
		t.Helper()
		if term, err := s.RaiseTerm(wait(t), r, atLeast); err != nil || term != want {
			t.Fatalf("RaiseTerm of %v to %d = %d, %v; want %d", r, atLeast, term, err, want)
		}
	}
	raise(s, dads, 0, 1)
	raise(other, dads, 1, 2)
	raise(s, dads, 10, 10)
	raise(other, dads, 5, 11)
	a := sits(t, s, "a", 1)
	a.take("7", "7@12.1")
	raise(s, dads, 0, 13)
	sits(t, s, "b", 2)
	a.give(a.take("7", "7@12.1")) // an owner keeps its epoch
	a.take("7 8", "7@13.2 8@13.1")
	claim(t, s, store.Tenure{Shard: dads.Shard("9"), Epoch: store.Epoch{Term: 20, N: 1}})
	raise(s, dads, 15, 21)
	raise(s, store.Ring{Cluster: "c", Type: "Mum"}, 0, 1)
	raise(s, store.Ring{Cluster: "d", Type: "Dad"}, 3, 3)
}

// testOutdone: a lock whose shard was claimed by a higher epoch is worth nothing to
// its holder, who is given a higher one, and nobody else is.
func testOutdone(t *testing.T, w *world) {
	s := w.open()
	a, b := sits(t, s, "a", 1), sits(t, s, "b", 2)
	a.take("7 8", "7@1.1 8@1.1")
	claim(t, s, store.Tenure{Shard: dads.Shard("7"), Epoch: store.Epoch{Term: 1, N: 1}})
	a.take("7 8", "7@1.1 8@1.1")
	claim(t, s, store.Tenure{Shard: dads.Shard("7"), Epoch: store.Epoch{Term: 4, N: 9}})
	b.take("7 8", "")
	a.take("7 8", "7@4.10 8@1.1")
	claim(t, s, store.Tenure{Shard: dads.Shard("7"), Epoch: store.Epoch{Term: 4, N: 10}})
	a.take("7", "7@4.10")
}

// testTakeWithoutAnswer: who gets no answer asks again, and has what it got.
func testTakeWithoutAnswer(t *testing.T, w *world) {
	s := w.open()
	way := NewFaulty(w.open())
	a, b := sits(t, way, "a", 1), sits(t, s, "b", 2)
	way.Set(LoseAnswer)
	if locks, err := way.Take(wait(t), dads, "a", a.token, []string{"7", "8"}); store.Refused(err) || err == nil {
		t.Fatalf("Take without an answer = %v, %v; want an unknown outcome", locks, err)
	}
	if token, err := way.Sit(wait(t), dads, store.Seat{Runner: "a"}, ttl); store.Refused(err) || err == nil {
		t.Fatalf("Sit without an answer = %v, %v; want an unknown outcome", token, err)
	}
	way.Set(None)
	b.take("7 8", "")
	a.take("7 8 9", "7@1.1 8@1.1 9@1.1")
	sits(t, way, "a", 1)
}

// testLateLocks: what is carried out long after it was sent does no harm.
func testLateLocks(t *testing.T, w *world) {
	s := w.open()
	way := NewFaulty(w.open())
	a, b := sits(t, way, "a", 1), sits(t, s, "b", 2)
	old := a.take("7", "7@1.1")
	way.Set(Delay)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for what, err := range map[string]error{
		"Give": way.Give(ended, dads, "a", a.token, old),
		"Keep": way.Keep(ended, dads, store.Seat{Runner: "a"}, a.token, ttl),
		"Rise": way.Rise(ended, dads, "a", a.token),
	} {
		if store.Refused(err) || err == nil {
			t.Fatalf("%s without an answer = %v; want an unknown outcome", what, err)
		}
	}
	if locks, err := way.Take(ended, dads, "a", a.token, []string{"7", "8", "9"}); store.Refused(err) || err == nil {
		t.Fatalf("Take without an answer = %v, %v; want an unknown outcome", locks, err)
	}
	way.Set(None)
	a.rise()
	a = sits(t, way, "a", 3)
	a.take("7", "7@1.2")
	b.take("8", "8@1.1")
	if n := way.Deliver(wait(t)); n != 4 {
		t.Fatalf("%d calls were delayed; want 4", n)
	}
	table(t, s, "a:3 b:2 7@1.2=a 8@1.1=b")
}

func testLocksThroughARestart(t *testing.T, w *world) {
	if w.Restart == nil {
		return
	}
	s := w.open()
	a := sits(t, s, "a", 1)
	locks := a.take("7 8", "7@1.1 8@1.1")
	w.Restart(t)
	again(t, func(ctx context.Context) error {
		return s.Keep(ctx, dads, store.Seat{Runner: "a", Note: []byte("of a")}, a.token, ttl)
	})
	table(t, s, "a:1 7@1.1=a 8@1.1=a")
	a.give(locks[:1])
	w.Restart(t)
	again(t, func(ctx context.Context) error {
		_, _, err := s.Table(ctx, dads)
		return err
	})
	sits(t, s, "b", 2).take("7 8", "7@1.2")
}

func testLocksBadArguments(t *testing.T, w *world) {
	s := w.open()
	long := strings.Repeat("x", 513)
	many := make([]string, store.MaxLocks+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	sit := func(r store.Ring, seat store.Seat, token store.Token) error {
		if token > 0 {
			return s.Keep(wait(t), r, seat, token, ttl)
		}
		_, err := s.Sit(wait(t), r, seat, ttl)
		return err
	}
	take := func(shards ...string) error {
		_, err := s.Take(wait(t), dads, "a", 1, shards)
		return err
	}
	raise := func(r store.Ring, term uint64) error {
		_, err := s.RaiseTerm(wait(t), r, term)
		return err
	}
	_, _, table := s.Table(wait(t), store.Ring{Cluster: "c"})
	_, forNoTime := s.Sit(wait(t), dads, store.Seat{Runner: "a"}, 0)
	for what, err := range map[string]error{
		"sit in no cluster":           sit(store.Ring{Type: "Dad"}, store.Seat{Runner: "a"}, 0),
		"sit in no type":              sit(store.Ring{Cluster: "c"}, store.Seat{Runner: "a"}, 0),
		"sit as nobody":               sit(dads, store.Seat{}, 0),
		"sit as what is not UTF-8":    sit(dads, store.Seat{Runner: "\xff"}, 0),
		"sit with a note too long":    sit(dads, store.Seat{Runner: "a", Note: make([]byte, store.MaxNote+1)}, 0),
		"sit for no time":             forNoTime,
		"keep as nobody":              sit(dads, store.Seat{}, 1),
		"keep with a note too long":   sit(dads, store.Seat{Runner: "a", Note: make([]byte, store.MaxNote+1)}, 1),
		"rise as a name too long":     s.Rise(wait(t), dads, long, 1),
		"take a shard without a name": take("7", ""),
		"take a name too long":        take(long),
		"take a zero byte":            take("7\x00"),
		"take too many":               take(many...),
		"give a name too long":        s.Give(wait(t), dads, "a", 1, []store.Lock{{Shard: long}}),
		"look at no type":             table,
		"raise the term of no type":   raise(store.Ring{Cluster: "c"}, 1),
		"raise a term too high":       raise(dads, 1<<62),
	} {
		refused(t, what, err, store.ErrBadArgument)
	}
}
