package shard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/internal/member"
)

// storm has every sender tell every entity 1 … n through each of the nodes in
// turn, one message each pace; what is refused as full is told again.
func storm(t *testing.T, through []*Entities[msg], ids []string, n int, pace time.Duration) (senders []string, wait func()) {
	var wg sync.WaitGroup
	for i, e := range through {
		from := fmt.Sprint("sender-", i)
		senders = append(senders, from)
		wg.Go(func() {
			for k := 1; k <= n; k++ {
				for _, id := range ids {
					if err := e.Ref(id).Tell(context.Background(), say{From: from, N: k}); err != nil {
						t.Errorf("tell %s: %v", id, err)
					}
				}
				time.Sleep(pace)
			}
		})
	}
	return senders, wg.Wait
}

func ids(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint("#", i)
	}
	return out
}

// A leave under traffic loses nothing, repeats nothing and keeps each sender's
// order, also for what a stopping entity tells itself; no entity lives twice.
func TestLeaveWithTrafficLosesAndRepeatsNothing(t *testing.T) {
	for _, retell := range []bool{false, true} {
		t.Run(fmt.Sprintf("retell=%v", retell), func(t *testing.T) {
			both(t, func(t *testing.T, w *world) {
				l := newLedger(t)
				l.retell = retell
				var on []*Entities[msg]
				var nodes []*fakeNode
				for range 3 {
					n := w.start()
					nodes = append(nodes, n)
					on = append(on, joinOn(t, n, l.declare(n)))
				}
				chats := ids(40)
				senders, wait := storm(t, on, chats, 200, 10*time.Millisecond)
				time.Sleep(time.Second)
				leaving := time.Now()
				nodes[0].leave() // the coordinator's node too
				t.Logf("left after %v", time.Since(leaving))
				wait()
				time.Sleep(5 * time.Second)
				l.settle()
				// What was told through the node that had ended was refused or lost; the others' is complete.
				l.complete(chats, senders[1:], 200)
			})
		})
	}
}

// A leave hands a thousand shards over in a handful of round trips.
func TestLeaveOfAThousandShards(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		a, b := w.start(), w.start()
		many := func(n *fakeNode) Type[msg] {
			typ := l.declare(n)
			typ.Shards = 1000
			return typ
		}
		onA := joinOn(t, a, many(a))
		for _, id := range ids(5000) {
			tell(t, onA, id, say{From: "x", N: 1})
		}
		time.Sleep(5 * time.Second)
		if got := len(onA.Region().Hosted()); got < 950 {
			t.Fatalf("%d shards live on the first node, want nearly all of 1000", got)
		}
		onB := joinOn(t, b, many(b))
		time.Sleep(5 * time.Second)
		began := time.Now()
		if err := a.onLeave[0](context.Background()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("handing over took %v with frames that take %v, want less than a second", took, w.delay)
		}
		for _, id := range ids(5000) {
			tell(t, onB, id, say{From: "x", N: 2})
		}
		time.Sleep(time.Second)
		l.complete(ids(5000), []string{"x"}, 2)
	})
}

// The node that leaves is used until it has ended, and nothing told through it is lost.
func TestLeavingNodeForwardsWhatItAccepts(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		l := newLedger(t)
		a, b := w.start(), w.start()
		onA := joinOn(t, a, l.declare(a))
		onB := joinOn(t, b, l.declare(b))
		chats := ids(40)
		senders, wait := storm(t, []*Entities[msg]{onA, onB}, chats, 50, 5*time.Millisecond)
		time.Sleep(100 * time.Millisecond)
		a.leave() // takes at least a second: the senders have ended
		wait()
		time.Sleep(5 * time.Second)
		l.complete(chats, senders, 50)
	})
}

// A Loop that is told to stop tells its own ref what it has not finished; its
// successor gets that first.
func TestLoopHandsOverWhatItHas(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		l := newLedger(t)
		start := actor.Loop(func(in *actor.Inbox[msg]) error {
			var pending []say
			for {
				m, err := in.Next(in)
				if err != nil {
					for _, p := range pending {
						if err := in.Self().Tell(in, p); err != nil {
							t.Errorf("tell itself: %v", err)
						}
					}
					return nil
				}
				s := m.(say)
				pending = append(pending, s)
				if s.Last {
					l.mu.Lock()
					l.heard[in.Name()] = pending
					l.mu.Unlock()
					pending = nil
				}
			}
		})
		a, b := w.start(), w.start()
		typ := l.declare(a)
		typ.Start = start
		joinOn(t, a, typ)
		onB := joinOn(t, b, typ)
		for n := 1; n <= 5; n++ {
			for _, id := range ids(30) {
				tell(t, onB, id, say{From: "x", N: n})
			}
		}
		time.Sleep(5 * time.Second)
		a.leave()
		for _, id := range ids(30) {
			tell(t, onB, id, say{From: "x", N: 6, Last: true})
		}
		time.Sleep(time.Second)
		l.complete(ids(30), []string{"x"}, 6)
	})
}

// SHD-01: a message that was buffered while its shard moved is delivered as soon
// as the new home is known, without waiting for a retry.
func TestSHD01BufferedMessageWaitsForARetryTick(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		l := newLedger(t)
		a, b := w.start(), w.start()
		joinOn(t, a, l.declare(a))
		onB := joinOn(t, b, l.declare(b))
		id := homed(t, l, onB, a, ids(40))
		l.ends = 300 * time.Millisecond
		go a.leave()
		time.Sleep(100 * time.Millisecond) // its entities end now
		if home, ok := l.home(id); !ok || home != a.id {
			t.Fatalf("%s lives on %v, want to tell it while it ends on %v", id, home, a.id)
		}
		tell(t, onB, id, say{From: "x", N: 7})
		for range 400 {
			if len(l.of(id)) == 2 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if got := len(l.of(id)); got != 2 {
			t.Fatalf("%s heard %d messages 400 ms after the hand-over began, want 2 (ends take 300 ms)", id, got)
		}
		time.Sleep(10 * time.Second)
	})
}

// homed tells all ids a first message and gives one that then lives on n.
func homed(t *testing.T, l *ledger, e *Entities[msg], n *fakeNode, ids []string) string {
	t.Helper()
	for _, id := range ids {
		tell(t, e, id, say{From: "first", N: 1})
	}
	time.Sleep(5 * time.Second)
	for _, id := range ids {
		if home, ok := l.home(id); ok && home == n.id {
			return id
		}
	}
	t.Fatalf("none of %d entities lives on %v", len(ids), n.id)
	return ""
}

// SHD-02: an entity that needs longer than the hand-over may take is named in a
// warning; its late end still frees the shard, which moves once.
func TestSHD02HandOffThatTimesOutNeverEnds(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		var log lockedBuffer
		w.log = slog.New(slog.NewTextHandler(&log, nil))
		l := newLedger(t)
		a, b := w.start(), w.start()
		short := func(n *fakeNode) Type[msg] {
			typ := l.declare(n)
			typ.HandOffTimeout = 2 * time.Second
			return typ
		}
		joinOn(t, a, short(a))
		onB := joinOn(t, b, short(b))
		id := homed(t, l, onB, a, ids(40))
		tell(t, onB, id, say{From: "first", N: 2, Work: 8 * time.Second})
		tell(t, onB, id, say{From: "first", N: 3})
		time.Sleep(100 * time.Millisecond)
		a.leave()
		time.Sleep(time.Second)
		l.complete([]string{id}, []string{"first"}, 3)
		if got := l.starts1(id); got != 2 {
			t.Errorf("%s started %d times, want 2: it moves once", id, got)
		}
		for _, want := range []string{"slow end", "forced end", "entities=[" + id + "]"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("no %q in the log:\n%s", want, log.String())
			}
		}
	})
}

// SHD-05: a shard is not started elsewhere before its entities have ended,
// however late that is.
func TestSHD05SameShardOnTwoNodesBecauseStoppingIsSlow(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		l := newLedger(t) // reports entities that live twice
		l.ends = 5 * time.Second
		a, b := w.start(), w.start()
		short := func(n *fakeNode) Type[msg] {
			typ := l.declare(n)
			typ.HandOffTimeout = time.Second
			return typ
		}
		joinOn(t, a, short(a))
		onB := joinOn(t, b, short(b))
		id := homed(t, l, onB, a, ids(40))
		done := make(chan struct{})
		go func() { defer close(done); a.leave() }()
		for k := 2; k <= 100; k++ {
			tell(t, onB, id, say{From: "first", N: k})
			time.Sleep(100 * time.Millisecond)
		}
		<-done
		time.Sleep(10 * time.Second)
		l.complete([]string{id}, []string{"first"}, 100)
		if got := l.starts1(id); got != 2 {
			t.Errorf("%s started %d times, want 2: it moves once", id, got)
		}
		if home, _ := l.home(id); home != b.id {
			t.Errorf("%s lives on %v, want %v", id, home, b.id)
		}
	})
}

// SHD-10: while nodes come and go every second, no message waits long and
// nothing lives twice.
func TestSHD10ShardGivenToARegionThatIsGoingOrNotYetActive(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		l := newLedger(t)
		edge := w.start("edge")
		typed := func(n *fakeNode) Type[msg] {
			typ := l.declare(n)
			typ.Role, typ.Shards = "dad", 100
			return typ
		}
		e := joinOn(t, edge, typed(edge))
		var nodes []*fakeNode
		begin := func() {
			n := w.start("dad")
			nodes = append(nodes, n)
			joinOn(t, n, typed(n))
		}
		begin()
		begin()
		var wg sync.WaitGroup
		for i := range 20 {
			begin()
			n := nodes[0]
			nodes = nodes[1:]
			wg.Go(n.leave)
			for _, id := range ids(50) {
				tell(t, e, id, say{From: "edge", N: i + 1})
			}
			time.Sleep(time.Second)
		}
		wg.Wait()
		time.Sleep(5 * time.Second)
		l.complete(ids(50), []string{"edge"}, 20)
	})
}

// A crash may lose messages, but the cluster answers again when the node was
// removed and its margin has passed.
func TestCrashOfAHost(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		a, b := w.start(), w.start()
		joinOn(t, a, l.declare(a))
		onB := joinOn(t, b, l.declare(b))
		id := homed(t, l, onB, a, ids(40))
		a.crash(2 * time.Second)
		l.mu.Lock()
		for id, home := range l.alive { // a crash runs no cleanup
			if home == a.id {
				delete(l.alive, id)
			}
		}
		l.mu.Unlock()
		got, err := ask(onB, id, 10*time.Second)
		if err != nil || len(got) != 0 {
			t.Errorf("ask %s after the crash of its host: %v, %v; want a fresh entity's answer", id, got, err)
		}
		if home, ok := onB.Region().Home(onB.Region().ShardOf(id)); !ok || home != b.id {
			t.Errorf("home of %s is %v, want %v", id, home, b.id)
		}
	})
}

// SHD-17: asks end with an answer or an error within their time, whatever
// happens to the topology, and leave nothing behind.
func TestSHD17CallsThatNeverComplete(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		l := newLedger(t)
		a, b := w.start(), w.start()
		onA, onB := joinOn(t, a, l.declare(a)), joinOn(t, b, l.declare(b))
		var wg sync.WaitGroup
		const within = 150 * time.Millisecond
		asking := func(e *Entities[msg]) {
			for i := range 2000 {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * time.Millisecond)
					began := time.Now()
					_, err := ask(e, fmt.Sprint("#", i%50), within)
					if took := time.Since(began); took > within+50*time.Millisecond {
						t.Errorf("an ask took %v, allowed %v: %v", took, within, err)
					}
				})
			}
		}
		asking(onB)
		asking(onA)
		time.Sleep(500 * time.Millisecond)
		c := w.start()
		joinOn(t, c, l.declare(c))
		time.Sleep(500 * time.Millisecond)
		a.leave()
		wg.Wait()
		time.Sleep(5 * time.Second)
		for _, n := range []*fakeNode{b, c} {
			n.mu.Lock()
			if len(n.asks) != 0 {
				t.Errorf("%d asks are still registered on %v", len(n.asks), n.id)
			}
			n.mu.Unlock()
		}
		if n := onB.Region().Waiting(); n != 0 {
			t.Errorf("%d messages still wait: %v", n, onB.Region().Drops())
		}
	})
}

// Asks that wait for a home end at their deadline and free their place; a tell
// waits on.
func TestBufferedAsksTimeOut(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		l := newLedger(t)
		n := w.start("edge") // nobody hosts
		typ := l.declare(n)
		typ.Role = "dad"
		e := joinOn(t, n, typ)
		tell(t, e, "#1", say{From: "x", N: 1})
		if _, err := ask(e, "#1", time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ask without any host: %v, want its deadline", err)
		}
		time.Sleep(2 * time.Second)
		if n := e.Region().Waiting(); n != 1 {
			t.Errorf("%d messages wait, want the tell alone", n)
		}
		if got := e.Region().Drops()[DropExpired]; got != 1 {
			t.Errorf("%d expired asks are counted, want 1: %v", got, e.Region().Drops())
		}
		host := w.start("dad")
		typ.Start = l.start(host.id)
		joinOn(t, host, typ)
		time.Sleep(5 * time.Second)
		l.complete([]string{"#1"}, []string{"x"}, 1)
	})
}

// FD-03: the time that an ask has left travels, never the instant; what nobody
// waits for any more is dropped where it waits.
func TestFD03DeadlineTravelsAsRemainingTime(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		n := w.start("edge") // nobody hosts, so it waits
		typ := l.declare(n)
		typ.Role = "dad"
		e := joinOn(t, n, typ)
		s, err := e.r.slotOf("#1")
		if err != nil {
			t.Fatal(err)
		}
		head := envelope{kind: frameMessage, shard: int32(s.number), correlation: 9, remaining: 3 * time.Second, id: "#1"}
		frame, _, err := e.r.typ.Protocol.Append(head.append(nil), list{})
		if err != nil {
			t.Fatal(err)
		}
		e.r.Receive(member.ID{UID: 99}, s.lane, frame)
		time.Sleep(2500 * time.Millisecond)
		if got := e.Region().Waiting(); got != 1 {
			t.Errorf("%d messages wait after 2.5 s, want the ask that has 3 s", got)
		}
		time.Sleep(1500 * time.Millisecond)
		if got := e.Region().Drops()[DropExpired]; got != 1 {
			t.Errorf("%d expired asks after 4 s, want 1: %v", got, e.Region().Drops())
		}
	})
}
