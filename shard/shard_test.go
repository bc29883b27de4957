package shard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/wire"
)

func TestJoinReportsAllProblemsTogether(t *testing.T) {
	in(t, func(w *world) {
		n := w.start()
		_, err := join(n, Type[msg]{Name: "no such name", Shards: -1, Buffer: -1, Mailbox: -1, Retry: -1, Limit: -1, LimitBytes: -1, Evict: 9})
		if err == nil {
			t.Fatal("a declaration full of mistakes was accepted")
		}
		for _, want := range []string{"Name", "Start", "Protocol", "Shards", "Buffer", "Mailbox", "Retry", "Limit", "LimitBytes", "Evict"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("problem with %s is missing in: %v", want, err)
			}
		}
		l := newLedger(t)
		e := joinOn(t, n, l.declare(n))
		if _, err := join(n, l.declare(n)); !errors.Is(err, ErrJoined) {
			t.Errorf("second join: %v, want ErrJoined", err)
		}
		other := l.declare(n)
		other.Name = "a"
		joinOn(t, n, other)
		if got := joinedOn(n).list(); len(got) != 2 || got[0].TypeName() != "a" || got[1] != e.Region() {
			t.Errorf("joined types are %v, want a and room", got)
		}
	})
}

// openingNode is a node on which something happens while a type opens its port.
type openingNode struct {
	*fakeNode
	opening func() error
}

func (n openingNode) Open(name string, h troupe.PortHandler) (port, error) {
	if err := n.opening(); err != nil {
		return nil, err
	}
	return n.fakeNode.Open(name, h)
}

// Tools and other nodes ask whatever they find in the list at once.
func TestTypeIsListedWhenItCanAnswer(t *testing.T) {
	in(t, func(w *world) {
		n, l := w.start(), newLedger(t)
		closed := errors.New("closed")
		if _, err := join(openingNode{n, func() error { return closed }}, l.declare(n)); !errors.Is(err, closed) {
			t.Fatalf("join without a port: %v, want %v", err, closed)
		}
		e, err := join(openingNode{n, func() error {
			if got := joinedOn(n).list(); len(got) > 0 {
				t.Errorf("listed without a port: %v", got)
			}
			if _, err := join(n, l.declare(n)); !errors.Is(err, ErrJoined) {
				t.Errorf("join of a name that is about to join: %v, want ErrJoined", err)
			}
			return nil
		}}, l.declare(n))
		if err != nil {
			t.Fatal(err)
		}
		if got := joinedOn(n).list(); len(got) != 1 || got[0] != e.Region() {
			t.Errorf("listed %v, want the type that has joined", got)
		}
	})
}

func TestTellRefuses(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		n := w.start()
		typ := l.declare(n)
		typ.ShardOf = func(id string, shards int) int { return len(id) - 5 } // negative ones are shards too
		e := joinOn(t, n, typ)
		ctx := context.Background()
		for _, tt := range []struct {
			id   string
			m    msg
			want error
		}{
			{"four", say{}, nil},
			{"sevenab", say{}, nil},
			{"", say{}, ErrNoID},
			{"four", secret{}, wire.ErrNotNamed},
			{"far too long for it", say{}, ErrShardNumber},
		} {
			if err := e.Ref(tt.id).Tell(ctx, tt.m); !errors.Is(err, tt.want) {
				t.Errorf("tell %q %T: %v, want %v", tt.id, tt.m, err, tt.want)
			}
		}
		time.Sleep(5 * time.Second)
		if len(l.of("four")) != 1 || len(l.of("sevenab")) != 1 {
			t.Errorf("heard %v, want one by each of four and sevenab", l.heard)
		}
	})
}

func TestSlotNumbers(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		n := w.start()
		e := joinOn(t, n, l.declare(n)) // 8 shards
		seen := map[*slot[msg]]int{}
		for number := -20; number <= 20; number++ {
			s, ok := e.r.slotNumbered(number)
			if want := number > -9 && number < 8; ok != want {
				t.Errorf("shard %d exists: %v, want %v", number, ok, want)
			}
			if !ok {
				continue
			}
			if other, twice := seen[s]; twice {
				t.Errorf("shards %d and %d share a slot", number, other)
			}
			seen[s] = number
			if back, ok := e.r.slotNamed(s.shard); !ok || back != s || s.number != number {
				t.Errorf("slot of %d is named %q and has number %d", number, s.shard, s.number)
			}
		}
		for _, name := range []string{"", "x", "01", "+1", "8", fmt.Sprint(math.MinInt64)} {
			if _, ok := e.r.slotNamed(name); ok {
				t.Errorf("%q names a shard", name)
			}
		}
	})
}

// The buffer is bounded over all shards; the refusal names the setting.
func TestFullBufferNamesTheSetting(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		n := w.start("edge")
		typ := l.declare(n)
		typ.Role, typ.Buffer = "dad", 3
		e := joinOn(t, n, typ)
		for i := range 3 {
			tell(t, e, fmt.Sprint("#", i), say{From: "x", N: 1})
		}
		err := e.Ref("#9").Tell(context.Background(), say{})
		var full *FullError
		if !errors.As(err, &full) || !errors.Is(err, actor.ErrFull) || !strings.Contains(full.Setting, "Type.Buffer") || full.Limit != 3 {
			t.Errorf("tell beyond the buffer: %v, want a FullError of Type.Buffer 3", err)
		}
		host := w.start("dad")
		typ.Start = l.start(host.id)
		joinOn(t, host, typ)
		time.Sleep(5 * time.Second)
		l.complete(ids(3), []string{"x"}, 1)
		tell(t, e, "#9", say{})
	})
}

// A proxy routes and hosts nothing, and says so.
func TestProxyHostsNothing(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		host, edge := w.start("dad"), w.start("edge")
		typ := l.declare(host)
		typ.Role = "dad"
		onHost := joinOn(t, host, typ)
		typ.Start = l.start(edge.id)
		onEdge := joinOn(t, edge, typ)
		for _, id := range ids(20) {
			tell(t, onEdge, id, say{From: "x", N: 1})
		}
		time.Sleep(5 * time.Second)
		l.complete(ids(20), []string{"x"}, 1)
		if r := onEdge.Region(); r.Hosts() || len(r.Hosted()) != 0 || !r.Registered() {
			t.Errorf("proxy: hosts %v %v, registered %v", r.Hosts(), r.Hosted(), r.Registered())
		}
		entities := 0
		for _, s := range onHost.Region().Hosted() {
			entities += s.Entities
		}
		if entities != 20 || !onHost.Region().Hosts() {
			t.Errorf("host has %d entities, want 20: %v", entities, onHost.Region().Hosted())
		}
		got, err := ask(onEdge, "#3", time.Second)
		if err != nil || len(got) != 1 {
			t.Errorf("ask through the proxy: %v, %v", got, err)
		}
	})
}

// SHD-07: a message that meets a passivation is handled by the old or the new
// incarnation, in order, and nothing gets stuck.
func TestSHD07EntityStuckBetweenActiveAndPassive(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		n := w.start()
		typ := l.declare(n)
		typ.Idle = time.Second
		e := joinOn(t, n, typ)
		const rounds = 300
		for i := 1; i <= rounds; i++ {
			tell(t, e, "#1", say{From: "x", N: i})
			if _, err := ask(e, "#1", time.Second); err != nil {
				t.Fatalf("ask in round %d: %v", i, err)
			}
			time.Sleep(typ.Idle / 2 * time.Duration(1+i%5)) // often exactly when a sweep is due
		}
		l.complete([]string{"#1"}, []string{"x"}, rounds)
		if got := l.starts1("#1"); got < 10 {
			t.Errorf("the entity was passivated %d times in %d rounds, want often", got-1, rounds)
		}
		time.Sleep(time.Minute)
		if _, ok := l.home("#1"); ok {
			t.Error("the entity is still active after a minute without messages")
		}
	})
}

// Tellers race with passivations on purpose: nothing is lost or overtaken.
func TestTellersMeetEnds(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		n := w.start()
		typ := l.declare(n)
		e := joinOn(t, n, typ)
		tell(t, e, "#1", say{From: "first", N: 1})
		time.Sleep(5 * time.Second)
		const each = 700
		var senders []string
		for i := range 4 {
			from := fmt.Sprint("sender-", i)
			senders = append(senders, from)
			go func() {
				for k := 1; k <= each; k++ {
					tell(t, e, "#1", say{From: from, N: k, Last: k%7 == i})
				}
			}()
		}
		synctest.Wait()
		l.complete([]string{"#1"}, senders, each)
	})
}

// What was accepted elsewhere waits for room in the mailbox, in order; a teller on
// the entity's own node is refused instead.
func TestFullMailbox(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		host, edge := w.start("dad"), w.start("edge")
		typ := l.declare(host)
		typ.Role, typ.Mailbox = "dad", 5
		onHost := joinOn(t, host, typ)
		onEdge := joinOn(t, edge, typ)
		tell(t, onEdge, "#1", say{From: "x", N: 1})
		time.Sleep(5 * time.Second)
		for i := 2; i <= 100; i++ {
			tell(t, onEdge, "#1", say{From: "x", N: i, Work: 20 * time.Millisecond})
		}
		time.Sleep(500 * time.Millisecond)
		if err := onHost.Ref("#1").Tell(context.Background(), say{From: "y"}); !errors.Is(err, actor.ErrFull) {
			t.Errorf("tell on the entity's node: %v, want ErrFull", err)
		}
		if onHost.Region().Waiting() == 0 {
			t.Error("nothing waits for the full mailbox")
		}
		time.Sleep(10 * time.Second)
		l.complete([]string{"#1"}, []string{"x"}, 100)
		if n := onHost.Region().Waiting(); n != 0 {
			t.Errorf("%d messages still wait", n)
		}
		tell(t, onHost, "#1", say{From: "y", N: 1})
	})
}

// A crash takes the message in hand with it; the next incarnation gets the rest.
func TestCrashedEntityIsStartedAgainForWhatWaits(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		n := w.start()
		e := joinOn(t, n, l.declare(n))
		for i := 1; i <= 3; i++ {
			tell(t, e, "#1", say{From: "x", N: i})
			tell(t, e, "#1", say{From: "x", Fail: true})
		}
		time.Sleep(5 * time.Second)
		l.complete([]string{"#1"}, []string{"x"}, 3)
		if got := l.starts1("#1"); got != 3 {
			t.Errorf("%d incarnations, want 3: one more is not needed", got)
		}
	})
}

// An entity that cannot start does not try for ever: what waits for it is
// dropped with the reason, and asks fail with it.
func TestEntityThatCannotStart(t *testing.T) {
	in(t, func(w *world) {
		const ErrNoDisk = actor.Error("no disk")
		l := newLedger(t)
		l.starts = func() error { return ErrNoDisk }
		n := w.start()
		e := joinOn(t, n, l.declare(n))
		_, err := ask(e, "#1", 10*time.Second)
		if !errors.Is(err, ErrNoDisk) {
			t.Errorf("ask: %v, want the start's error", err)
		}
		if got := e.Region().Drops()[DropStart]; got != 1 {
			t.Errorf("drops %v, want one by %q", e.Region().Drops(), DropStart)
		}
		l.starts = nil
		if _, err := ask(e, "#1", time.Second); err != nil {
			t.Errorf("ask when it can start: %v", err)
		}
	})
}

// A Start that gives neither a behavior nor an error is one that failed, too.
func TestEntityWithoutABehavior(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		n := w.start()
		typ := l.declare(n)
		typ.Start = func(*actor.Ctx[msg]) (actor.Behavior[msg], error) { return nil, nil }
		e := joinOn(t, n, typ)
		if _, err := ask(e, "#1", 10*time.Second); !errors.Is(err, actor.ErrNoBehavior) {
			t.Errorf("ask: %v, want %v", err, actor.ErrNoBehavior)
		}
		if got := e.Region().Drops()[DropStart]; got != 1 {
			t.Errorf("drops %v, want one by %q", e.Region().Drops(), DropStart)
		}
	})
}

// A message that is passed on for ever by nodes that are wrong about its home is
// given up.
func TestHopsAreLimited(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		n := w.start("edge")
		typ := l.declare(n)
		typ.Role = "dad"
		e := joinOn(t, n, typ)
		s, _ := e.r.slotOf("#1")
		message, _, err := e.r.typ.Protocol.Append(nil, say{})
		if err != nil {
			t.Fatal(err)
		}
		for hops := range uint8(5) {
			head := envelope{kind: frameMessage, hops: hops, shard: int32(s.number), id: "#1"}
			e.r.Receive(troupe.ID{UID: 5}, s.lane, append(head.append(nil), message...))
		}
		if got := e.Region().Drops()[DropHops]; got != 2 {
			t.Errorf("%d messages dropped for hops 3 and 4, want 2", got)
		}
	})
}

// What cannot be understood is counted by reason and never breaks anything.
func TestReceiveRefuses(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		n := w.start()
		e := joinOn(t, n, l.declare(n))
		s, _ := e.r.slotOf("#1")
		good := envelope{kind: frameMessage, shard: int32(s.number), id: "#1"}
		wrong := good
		wrong.shard = (good.shard + 1) % 8
		far := good
		far.shard = 1000
		for _, tt := range []struct {
			frame []byte
			want  Drop
		}{
			{nil, DropEnvelope},
			{[]byte{frameMessage, 1, 2}, DropEnvelope},
			{append(make([]byte, envelopeSize), 0), DropEnvelope},
			{good.append(nil), DropMessage},
			{append(good.append(nil), "\x07unknown"...), DropMessage},
			{wrong.append(nil), DropDisagree},
			{far.append(nil), DropDisagree},
			{[]byte{frameControl}, DropControl},
			{[]byte{frameControl, 255, 1}, DropControl},
		} {
			before := e.Region().Drops()[tt.want]
			e.r.Receive(n.id, s.lane, tt.frame)
			if got := e.Region().Drops()[tt.want]; got != before+1 {
				t.Errorf("frame %x: drops %v, want one more of %q", tt.frame, e.Region().Drops(), tt.want)
			}
		}
	})
}

// The test switch sends local messages through the codec too.
func TestRoundtrip(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		n := w.start()
		n.roundtrip = true
		e := joinOn(t, n, l.declare(n))
		tell(t, e, "#1", say{From: "x", N: 1})
		if got, err := ask(e, "#1", 10*time.Second); err != nil || len(got) != 1 {
			t.Errorf("ask: %v, %v", got, err)
		}
	})
}

func TestObserve(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		n := w.start()
		homes, lives := make(chan Event, 10), make(chan Event, 10) // one is not in order with the other
		typ := l.declare(n)
		typ.Shards, typ.Idle = 1000, time.Second
		typ.Observe = func(e Event) {
			if e.Kind == HomeLearned {
				homes <- e
			} else {
				lives <- e
			}
		}
		e := joinOn(t, n, typ)
		tell(t, e, "#engineering", say{})
		for _, tt := range []struct {
			from chan Event
			want Event
		}{
			{homes, Event{HomeLearned, "room", "320", "", n.id, nil}},
			{lives, Event{EntityStarted, "room", "320", "#engineering", n.id, nil}},
			{lives, Event{EntityStopped, "room", "320", "#engineering", n.id, nil}},
		} {
			if got := <-tt.from; got != tt.want {
				t.Errorf("event %+v, want %+v", got, tt.want)
			}
		}
		if got := e.Region().ShardOf("#random"); got != "878" {
			t.Errorf("#random is in shard %s, want 878", got)
		}
	})
}

func TestWhyNamesWhatAShardWaitsFor(t *testing.T) {
	in(t, func(w *world) {
		l := newLedger(t)
		n := w.start("edge")
		typ := l.declare(n)
		typ.Role = "dad"
		e := joinOn(t, n, typ)
		tell(t, e, "#1", say{})
		time.Sleep(time.Second)
		why := e.Region().Why(t.Context(), "#1").String()
		for _, want := range []string{"1 messages wait", "home: there is no member that is Up and can coordinate"} {
			if !strings.Contains(why, want) {
				t.Errorf("why says %q, want %q in it", why, want)
			}
		}
	})
}
