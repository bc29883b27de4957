package shard

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/transport"
)

// A heard is one message as an entity handled it.
type heard struct {
	say
	at     member.ID
	id     MessageID
	repeat bool
	kept   bool // it has an id
}

// ears are what the entities of a world have handled, in order.
type ears struct {
	mu  sync.Mutex
	all map[string][]heard
}

func newEars() *ears { return &ears{all: map[string][]heard{}} }

func (l *ears) start(n member.ID) actor.Start[msg] {
	return func(*actor.Ctx[msg]) (actor.Behavior[msg], error) {
		return func(c *actor.Ctx[msg], m msg) error {
			switch m := m.(type) {
			case say:
				time.Sleep(m.Work)
				h := heard{say: m, at: n}
				h.id, h.repeat, h.kept = InHand(c)
				l.mu.Lock()
				l.all[c.Name()] = append(l.all[c.Name()], h)
				l.mu.Unlock()
			case list:
				return m.Reply.Send(c, []int{len(l.of(c.Name()))})
			}
			return nil
		}, nil
	}
}

func (l *ears) of(id string) []heard {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]heard(nil), l.all[id]...)
}

func (l *ears) declare(n *fakeNode) Type[msg] {
	return Type[msg]{
		Name: "room", Start: l.start(n.id), Protocol: newProtocol(), Shards: 8, RebalanceEvery: -1, Role: "dad",
	}
}

// complete checks that each entity has handled 1 to n of each sender, each message
// for the first time in order, and gives how many were handled again. A repeat must
// say so, and have the id of the first.
func (l *ears) complete(t *testing.T, ids, senders []string, n int) (repeats int) {
	t.Helper()
	for _, id := range ids {
		for _, from := range senders {
			last := 0
			first := map[int]heard{}
			for _, h := range l.of(id) {
				if h.From != from {
					continue
				}
				before, again := first[h.N]
				switch {
				case !again && h.N != last+1:
					t.Errorf("%s handled %d of %s after %d", id, h.N, from, last)
				case again && (!h.repeat || h.id != before.id):
					t.Errorf("%s handled %d of %s again, as %+v after %+v: a repeat must say so", id, h.N, from, h, before)
				case again && h.at == before.at:
					t.Errorf("%s handled %d of %s twice on %v", id, h.N, from, h.at)
				}
				if again {
					repeats++
				} else {
					first[h.N], last = h, h.N
				}
			}
			if last != n {
				t.Errorf("%s handled %d of %d messages of %s", id, last, n, from)
			}
		}
	}
	return repeats
}

// settled waits until nothing waits on a node any more.
func settled(t *testing.T, e *Entities[msg], within time.Duration) {
	t.Helper()
	for range within / (100 * time.Millisecond) {
		if e.Region().Waiting() == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("%d messages still wait: %v", e.Region().Waiting(), e.Region().Drops())
}

// A link that loses some of everything that delivery sends loses, repeats and
// reorders nothing.
func TestLostFramesAreSentAgain(t *testing.T) {
	in(t, func(w *world) {
		l := newEars()
		dad, edge := w.start("dad"), w.start("edge")
		joinOn(t, dad, l.declare(dad))
		e := joinOn(t, edge, l.declare(edge))
		rng := rand.New(rand.NewPCG(1, 2))
		var mu sync.Mutex
		deaf := func(kind byte) bool {
			mu.Lock()
			defer mu.Unlock()
			switch kind {
			case frameMessage, frameConfirm, frameQuestion:
				return rng.IntN(20) == 0
			}
			return false
		}
		for _, n := range []*fakeNode{dad, edge} {
			n.mu.Lock()
			n.deaf = deaf
			n.mu.Unlock()
		}
		chats := ids(20)
		senders, wait := storm(t, []*Entities[msg]{e}, chats, 200, 5*time.Millisecond)
		wait()
		settled(t, e, 2*time.Minute)
		if again := l.complete(t, chats, senders, 200); again > 0 {
			t.Errorf("%d messages were handled again without a crash", again)
		}
		if e.Region().Drops()[DropUnconfirmed] > 0 {
			t.Errorf("drops: %v", e.Region().Drops())
		}
	})
}

// When an owner crashes under load nothing is lost, order holds, and what is
// handled again says so. Asks are sent again, too.
func TestCrashOfTheOwnerLosesNothing(t *testing.T) {
	in(t, func(w *world) {
		l := newEars()
		a, b, edge := w.start("dad"), w.start("dad"), w.start("edge")
		joinOn(t, a, l.declare(a))
		onB := joinOn(t, b, l.declare(b))
		e := joinOn(t, edge, l.declare(edge))
		chats := ids(40)
		senders, wait := storm(t, []*Entities[msg]{e, onB}, chats, 300, 10*time.Millisecond)
		var asks sync.WaitGroup
		for i := range 100 {
			asks.Go(func() {
				time.Sleep(time.Duration(i) * 50 * time.Millisecond)
				if _, err := ask(e, fmt.Sprint("#", i%40), time.Minute); err != nil {
					t.Errorf("ask %d: %v", i, err)
				}
			})
		}
		time.Sleep(time.Second)
		a.crash(time.Second)
		wait()
		asks.Wait()
		settled(t, e, time.Minute)
		settled(t, onB, time.Minute)
		t.Logf("%d messages were handled again", l.complete(t, chats, senders, 300))
	})
}

// Tells of one sender beyond what may be unconfirmed are refused; those accepted are
// handled.
func TestUnconfirmedMessagesAreBounded(t *testing.T) {
	in(t, func(w *world) {
		l := newEars()
		dad, edge := w.start("dad"), w.start("edge")
		joinOn(t, dad, l.declare(dad))
		typ := l.declare(edge)
		typ.Buffer = 10
		e := joinOn(t, edge, typ)
		tell(t, e, "#1", say{From: "x", N: 1})
		time.Sleep(5 * time.Second)
		tell(t, e, "#1", say{From: "x", N: 2, Work: time.Minute})
		for n := 3; n <= 11; n++ {
			tell(t, e, "#1", say{From: "x", N: n})
		}
		time.Sleep(time.Second)
		err := e.Ref("#1").Tell(context.Background(), say{})
		if full, ok := errors.AsType[*FullError](err); !ok || full.Limit != 10 {
			t.Errorf("tell beyond the bound: %v, want a FullError of 10", err)
		}
		within, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := e.Ref("#1").TellWait(within, say{From: "x", N: 12}); err != nil {
			t.Errorf("tell with patience: %v", err)
		}
		settled(t, e, 10*time.Second)
		l.complete(t, []string{"#1"}, []string{"x"}, 12)
	})
}

// A message that takes long is not given up while its owner says that it has it;
// one whose owner says nothing is a dead letter with its reason, and its ask ends.
func TestGivenUpWhenNobodyIsHeard(t *testing.T) {
	in(t, func(w *world) {
		l := newEars()
		dad, edge := w.start("dad"), w.start("edge")
		dead := lettersOf(edge)
		joinOn(t, dad, l.declare(dad))
		typ := l.declare(edge)
		typ.DeliverWithin = 30 * time.Second
		e := joinOn(t, edge, typ)
		tell(t, e, "#1", say{From: "x", N: 1})
		time.Sleep(5 * time.Second)
		tell(t, e, "#1", say{From: "x", N: 2, Work: 5 * time.Minute})
		time.Sleep(6 * time.Minute)
		if l.complete(t, []string{"#1"}, []string{"x"}, 2); len(dead.read()) > 0 || e.Region().Waiting() > 0 {
			t.Errorf("%d wait, dead letters %+v; want none", e.Region().Waiting(), dead.read())
		}
		dad.mu.Lock()
		dad.deaf = func(byte) bool { return true }
		dad.mu.Unlock()
		tell(t, e, "#1", say{From: "x", N: 3})
		began := time.Now()
		_, err := ask(e, "#1", time.Hour)
		if took := time.Since(began); !errors.Is(err, ErrUnconfirmed) || took > 40*time.Second {
			t.Errorf("ask: %v after %v, want ErrUnconfirmed after half a minute", err, took)
		}
		if unanswered, ok := errors.AsType[*actor.AskError](err); !ok || unanswered.SafeToRetry() {
			t.Errorf("ask: %#v, want one that may have been handled", err)
		}
		got := dead.read()
		if len(got) != 2 || got[0].Reason != actor.Reason(DropUnconfirmed) || got[0].Message != (say{From: "x", N: 3}) {
			t.Errorf("dead letters %+v, want the two that were not confirmed", got)
		}
		if e.Region().Waiting() != 0 {
			t.Errorf("%d still wait", e.Region().Waiting())
		}
	})
}

// A message for which no home is found is given up, too.
func TestGivenUpWithoutAHome(t *testing.T) {
	in(t, func(w *world) {
		l := newEars()
		edge := w.start("edge")
		dead := lettersOf(edge)
		typ := l.declare(edge)
		typ.DeliverWithin = 30 * time.Second
		e := joinOn(t, edge, typ)
		tell(t, e, "#1", say{From: "x", N: 1})
		time.Sleep(25 * time.Second)
		tell(t, e, "#1", say{From: "x", N: 2})
		go func() {
			_, err := ask(e, "#1", time.Minute)
			unanswered, ok := errors.AsType[*actor.AskError](err)
			if !ok || !errors.Is(err, ErrHomeless) || !unanswered.SafeToRetry() {
				t.Errorf("ask: %#v, want ErrHomeless, and that it is safe to ask again", err)
			}
		}()
		time.Sleep(8 * time.Second)
		if got := dead.read(); len(got) != 1 || got[0].Reason != actor.Reason(DropHomeless) {
			t.Errorf("dead letters %+v, want the first message", got)
		}
		time.Sleep(time.Minute)
	})
}

// An entity learns which message it handles; what was told on its own node has no id.
func TestInHand(t *testing.T) {
	in(t, func(w *world) {
		l := newEars()
		dad, edge := w.start("dad"), w.start("edge")
		onDad := joinOn(t, dad, l.declare(dad))
		e := joinOn(t, edge, l.declare(edge))
		tell(t, e, "#1", say{From: "far", N: 1})
		time.Sleep(5 * time.Second)
		tell(t, onDad, "#1", say{From: "near", N: 1})
		tell(t, e, "#1", say{From: "far", N: 2})
		time.Sleep(time.Second)
		got := l.of("#1")
		if len(got) != 3 {
			t.Fatalf("heard %+v, want three", got)
		}
		shard := e.Region().ShardOf("#1")
		for i, want := range []MessageID{{edge.id, shard, 1}, {}, {edge.id, shard, 2}} {
			if got[i].id != want || got[i].kept != (want != MessageID{}) || got[i].repeat {
				t.Errorf("message %d is %+v, want the id %+v and no repeat", i, got[i], want)
			}
		}
		if _, _, ok := InHand(context.Background()); ok {
			t.Error("there is a message in no hand")
		}
	})
}

// An ask that was handled and not answered when its owner crashed is asked again.
func TestUnansweredAskIsAskedAgain(t *testing.T) {
	in(t, func(w *world) {
		a, edge := w.start("dad"), w.start("edge")
		var mu sync.Mutex
		asked := map[member.ID]int{}
		typed := func(n *fakeNode) Type[msg] {
			return Type[msg]{
				Name: "room", Protocol: newProtocol(), Shards: 8, Role: "dad",
				Start: func(*actor.Ctx[msg]) (actor.Behavior[msg], error) {
					return func(c *actor.Ctx[msg], m msg) error {
						mu.Lock()
						defer mu.Unlock()
						asked[n.id]++
						if n == a {
							return nil // never answers
						}
						return m.(list).Reply.Send(c, []int{7})
					}, nil
				},
			}
		}
		joinOn(t, a, typed(a))
		e := joinOn(t, edge, typed(edge))
		answer := make(chan error, 1)
		go func() {
			got, err := ask(e, "#1", time.Hour)
			if err == nil && got[0] != 7 {
				err = fmt.Errorf("answer %v", got)
			}
			answer <- err
		}()
		time.Sleep(10 * time.Second)
		b := w.start("dad")
		joinOn(t, b, typed(b))
		a.crash(5 * time.Second)
		if err := <-answer; err != nil {
			t.Errorf("ask: %v", err)
		}
		if asked[a.id] != 1 || asked[b.id] != 1 {
			t.Errorf("asked %v times, want once on each", asked)
		}
		settled(t, e, 5*time.Second)
	})
}

// What a link refuses because the owner is gone waits for the next home, and keeps
// its number.
func TestRefusedByTheLink(t *testing.T) {
	in(t, func(w *world) {
		l := newEars()
		a, b, edge := w.start("dad"), w.start("dad"), w.start("edge")
		joinOn(t, a, l.declare(a))
		joinOn(t, b, l.declare(b))
		e := joinOn(t, edge, l.declare(edge))
		chats := ids(20)
		for _, id := range chats {
			tell(t, e, id, say{From: "x", N: 1})
		}
		time.Sleep(5 * time.Second)
		for n, refusal := range []error{transport.ErrQuarantined, nil, transport.ErrClosed, nil} {
			edge.mu.Lock()
			edge.refuses = refusal
			edge.mu.Unlock()
			for _, id := range chats {
				tell(t, e, id, say{From: "x", N: n + 2})
			}
			time.Sleep(time.Second)
		}
		settled(t, e, 10*time.Second)
		if again := l.complete(t, chats, []string{"x"}, 5); again > 0 {
			t.Errorf("%d were handled again", again)
		}
	})
}

// The same at most once: what was in the owner is lost with it, and costs nobody a
// place in the room.
func TestAtMostOnceKeepsNothing(t *testing.T) {
	in(t, func(w *world) {
		l := newEars()
		a, edge := w.start("dad"), w.start("edge")
		once := func(n *fakeNode) Type[msg] {
			typ := l.declare(n)
			typ.Delivery = AtMostOnce
			return typ
		}
		joinOn(t, a, once(a))
		e := joinOn(t, edge, once(edge))
		tell(t, e, "#1", say{From: "x", N: 1})
		time.Sleep(5 * time.Second)
		tell(t, e, "#1", say{From: "x", N: 2, Work: 30 * time.Second})
		time.Sleep(time.Second)
		if n := e.Region().Waiting(); n != 0 {
			t.Errorf("%d messages wait", n)
		}
		failed := make(chan error, 1)
		go func() {
			_, err := ask(e, "#1", time.Hour)
			failed <- err
		}()
		time.Sleep(time.Second)
		go a.crash(time.Second)
		if err := <-failed; !errors.Is(err, troupe.ErrPeerRemoved) {
			t.Errorf("ask: %v, want ErrPeerRemoved", err)
		}
		time.Sleep(time.Minute)
	})
}

// A node that leaves waits until what was told there is confirmed; what is not in its time it
// names, and gives up as dead letters.
func TestLeaveWaitsForConfirmations(t *testing.T) {
	for _, tt := range []struct {
		work time.Duration
		lost int
	}{{20 * time.Second, 0}, {10 * time.Minute, 1}} {
		t.Run(tt.work.String(), func(t *testing.T) {
			in(t, func(w *world) {
				l := newEars()
				dad, edge := w.start("dad"), w.start("edge")
				dead := lettersOf(edge)
				joinOn(t, dad, l.declare(dad))
				e := joinOn(t, edge, l.declare(edge))
				tell(t, e, "#1", say{From: "x", N: 1})
				time.Sleep(5 * time.Second)
				tell(t, e, "#1", say{From: "x", N: 2, Work: tt.work})
				began := time.Now()
				edge.leave()
				if took := time.Since(began); took > time.Minute || tt.lost == 0 && took < tt.work {
					t.Errorf("left after %v", took)
				}
				if got := dead.read(); len(got) != tt.lost {
					t.Errorf("dead letters %+v, want %d", got, tt.lost)
				}
				time.Sleep(tt.work)
			})
		})
	}
}

// What an owner knows of a sender it forgets when that has gone.
func TestOwnerForgetsSendersThatHaveGone(t *testing.T) {
	in(t, func(w *world) {
		l := newEars()
		dad := w.start("dad")
		onDad := joinOn(t, dad, l.declare(dad))
		for n := range 10 {
			edge := w.start("edge")
			e := joinOn(t, edge, l.declare(edge))
			tell(t, e, "#1", say{From: edge.id.String(), N: n})
			time.Sleep(5 * time.Second)
			edge.leave()
		}
		s, err := onDad.r.slotOf("#1")
		if err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(l.of("#1")) != 10 || len(s.ins) > 2 {
			t.Errorf("%d messages heard, and %d senders remembered, want 10 and the last", len(l.of("#1")), len(s.ins))
		}
	})
}
