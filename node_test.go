package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/sbr"
	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/wire"
)

// A world is a cluster in one synctest bubble: nodes n1, n2, … on an
// in-memory network.
type world struct {
	t      *testing.T
	net    *transport.Memory
	seeds  []string
	change func(*troupe.Config) // of each node, if set
}

func inWorld(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(t, &world{t: t, net: transport.NewMemory(), seeds: []string{"n1:2552", "n2:2552"}})
	})
}

func (w *world) start(name string) *troupe.Node {
	w.t.Helper()
	cfg := troupe.Config{
		Listen: name + ":2552", Seeds: w.seeds, Transport: w.net, Insecure: true,
		Log: slog.New(slog.DiscardHandler),
	}
	if w.change != nil {
		w.change(&cfg)
	}
	n, err := troupe.Start(w.t.Context(), cfg)
	if err != nil {
		w.t.Fatalf("start %s: %v", name, err)
	}
	w.t.Cleanup(n.Kill)
	return n
}

func (w *world) startAll(count int) []*troupe.Node {
	w.t.Helper()
	var nodes []*troupe.Node
	for i := range count {
		nodes = append(nodes, w.start(fmt.Sprintf("n%d", i+1)))
	}
	w.sees(time.Minute, nodes, nodes)
	return nodes
}

// sees waits until each of the observers has exactly the members, all Up and
// reachable.
func (w *world) sees(within time.Duration, observers, members []*troupe.Node) {
	w.t.Helper()
	var want []string
	for _, m := range members {
		want = append(want, m.ID().String()+" Up")
	}
	slices.Sort(want)
	for _, o := range observers {
		w.eventually(within, o, fmt.Sprintf("members %v", want), func(v *troupe.View) bool {
			var got []string
			for _, m := range v.Members {
				got = append(got, m.ID.String()+" "+m.Status.String())
			}
			slices.Sort(got)
			return slices.Equal(got, want) && len(v.Unreachable) == 0
		})
	}
}

// eventually waits until a view of the node satisfies ok.
func (w *world) eventually(within time.Duration, n *troupe.Node, what string, ok func(*troupe.View) bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), within)
	defer cancel()
	reached := make(chan struct{}, 1)
	stop := n.Subscribe(func(v *troupe.View) {
		if ok(v) {
			select {
			case reached <- struct{}{}:
			default:
			}
		}
	})
	defer stop()
	select {
	case <-reached:
	case <-ctx.Done():
		w.t.Fatalf("%s: not within %s: %s; the view is %+v", n.ID(), within, what, n.View())
	}
}

func TestThreeNodesFormAClusterAndLeave(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(3)
		if err := nodes[1].Leave(t.Context()); err != nil {
			t.Fatalf("leave: %v", err)
		}
		if err := nodes[1].Err(); err != nil {
			t.Errorf("Err after leaving = %v, want nil", err)
		}
		rest := []*troupe.Node{nodes[0], nodes[2]}
		w.sees(20*time.Second, rest, rest)
		for _, n := range rest {
			if err := n.Leave(t.Context()); err != nil {
				t.Errorf("%s: leave: %v", n.ID(), err)
			}
		}
	})
}

func TestNodeWithoutSeedsIsAClusterOfOne(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.seeds = nil
		n := w.start("alone")
		if err := n.WhenUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := n.Leave(t.Context()); err != nil {
			t.Fatalf("the last node leaves: %v", err)
		}
		if err := n.WhenUp(t.Context()); !errors.Is(err, troupe.ErrLeft) {
			t.Errorf("WhenUp after leaving = %v, want ErrLeft", err)
		}
	})
}

func TestKilledNodeIsDownedAndItsSuccessorJoins(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(3)
		old := nodes[2].ID()
		nodes[2].Kill()
		if err := nodes[2].Err(); !errors.Is(err, troupe.ErrKilled) {
			t.Errorf("Err = %v, want ErrKilled", err)
		}
		rest := nodes[:2]
		w.sees(time.Minute, rest, rest)
		again := w.start("n3")
		if again.ID() == old || again.ID().Address != old.Address {
			t.Errorf("restarted as %s, was %s: want the same address and another incarnation", again.ID(), old)
		}
		all := append(slices.Clone(rest), again)
		w.sees(time.Minute, all, all)
	})
}

// The side of a partition that does not survive ends by itself, entities first.
func TestMinorityDownsItself(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(5)
		var order []string
		if err := nodes[4].OnEnd("entities", func() { order = append(order, "entities") }); err != nil {
			t.Fatal(err)
		}
		for _, a := range nodes[:3] {
			for _, b := range nodes[3:] {
				w.net.Cut(a.ID().Address, b.ID().Address)
				w.net.Cut(b.ID().Address, a.ID().Address)
			}
		}
		for _, n := range nodes[3:] {
			<-n.Done()
			if !errors.Is(n.Err(), troupe.ErrDowned) {
				t.Errorf("%s: Err = %v, want ErrDowned", n.ID(), n.Err())
			}
		}
		w.sees(time.Minute, nodes[:3], nodes[:3])
		if !slices.Equal(order, []string{"entities"}) {
			t.Errorf("what ran at the end of a downed node: %v", order)
		}
	})
}

func TestTenNodesLoseTwoHealAndReform(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(10)
		nodes[3].Kill()
		nodes[7].Kill()
		rest := slices.Concat(nodes[:3], nodes[4:7], nodes[8:])
		w.sees(time.Minute, rest, rest)

		island := rest[7].ID().Address
		for _, n := range rest[:7] {
			w.net.Cut(island, n.ID().Address)
			w.net.Cut(n.ID().Address, island)
		}
		w.eventually(time.Minute, rest[0], "an unreachable member", func(v *troupe.View) bool { return len(v.Unreachable) > 0 })
		for _, n := range rest[:7] {
			w.net.Heal(island, n.ID().Address)
			w.net.Heal(n.ID().Address, island)
		}
		w.sees(time.Minute, rest, rest)

		back := append(slices.Clone(rest), w.start("n4"), w.start("n8"))
		w.sees(time.Minute, back, back)
	})
}

func TestStartReportsAllProblemsTogether(t *testing.T) {
	_, err := troupe.Start(t.Context(), troupe.Config{
		Name: "my cluster", Listen: "0.0.0.0:0", Seeds: []string{"nohost"}, Roles: []string{"dc-west"}, Lanes: 1000,
		Downing: sbr.Settings{Strategy: sbr.LeaseMajority{}}, Times: troupe.Times{Gossip: -1},
	})
	if err == nil {
		t.Fatal("started")
	}
	for _, want := range []string{"Name", "Advertise", "Seeds", "Roles", "Lanes", "Downing", "Times"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
}

func TestOPS03FailedStartLeavesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.seeds = nil
		first := w.start("busy")
		_, err := troupe.Start(t.Context(), troupe.Config{Listen: "busy:2552", Transport: w.net, Insecure: true})
		if err == nil || !strings.Contains(err.Error(), "busy:2552") {
			t.Fatalf("second start on one address: %v, want an error that names the address", err)
		}
		first.Kill()
		second := w.start("busy")
		if err := second.WhenUp(t.Context()); err != nil {
			t.Errorf("start after the address is free: %v", err)
		}
	})
}

type greeting interface{ isGreeting() }

type (
	hello   struct{ Name string }
	whisper struct{}
	greet   struct {
		Name  string
		Reply actor.Reply[string]
	}
)

func (hello) isGreeting()   {}
func (whisper) isGreeting() {}
func (greet) isGreeting()   {}

func (g greet) WithReply(r actor.Reply[string]) greeting { g.Reply = r; return g }

var greetings = wire.MustProtocol[greeting](
	wire.Message("test.hello", hello{}),
	wire.Request("test.greet", greet{}),
)

const errRude = actor.Error("test: rude")

func greeter(*actor.Ctx[greeting]) (actor.Behavior[greeting], error) {
	return func(c *actor.Ctx[greeting], m greeting) error {
		switch m := m.(type) {
		case greet:
			if m.Name == "" {
				return m.Reply.Fail(c, fmt.Errorf("greet: %w", errRude))
			}
			return m.Reply.Send(c, "hello "+m.Name)
		default:
			return actor.ErrUnhandled
		}
	}, nil
}

func TestRemoteActorAnswers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(2)
		ref, err := actor.Spawn(nodes[0], "greeter", greeter)
		if err != nil {
			t.Fatal(err)
		}
		if err := troupe.Serve(nodes[0], "greeter", ref, greetings); err != nil {
			t.Fatal(err)
		}
		for _, from := range nodes {
			far := troupe.Remote(from, nodes[0].ID(), "greeter", greetings)
			got, err := actor.Ask(t.Context(), far, greet{Name: "Ann"})
			if got != "hello Ann" || err != nil {
				t.Errorf("from %s: got %q, %v", from.ID(), got, err)
			}
			if _, err := actor.Ask(t.Context(), far, greet{}); !errors.Is(err, errRude) {
				t.Errorf("from %s: error %v, want one that is errRude over the wire too", from.ID(), err)
			}
			if err := far.Tell(t.Context(), whisper{}); !errors.Is(err, wire.ErrNotNamed) {
				t.Errorf("from %s: a message without a name: %v, want ErrNotNamed", from.ID(), err)
			}
		}
		nobody := troupe.Remote(nodes[1], nodes[0].ID(), "nobody", greetings)
		if _, err := actor.Ask(t.Context(), nobody, greet{Name: "Bob"}); !errors.Is(err, troupe.ErrNobody) {
			t.Errorf("ask of a name that is not served: %v, want ErrNobody", err)
		}
	})
}

// An ask whose node goes away ends with a typed error, not with its context.
func TestAskEndsWhenItsNodeIsRemoved(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(3)
		far := troupe.Remote(nodes[0], nodes[2].ID(), "silent", greetings)
		silent, err := actor.Spawn(nodes[2], "silent", func(*actor.Ctx[greeting]) (actor.Behavior[greeting], error) {
			return func(*actor.Ctx[greeting], greeting) error { return nil }, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := troupe.Serve(nodes[2], "silent", silent, greetings); err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() {
			_, err := actor.Ask(t.Context(), far, greet{Name: "Ann"})
			failed <- err
		}()
		synctest.Wait()
		nodes[2].Kill()
		if err := <-failed; !errors.Is(err, troupe.ErrPeerRemoved) {
			t.Errorf("the ask ended with %v, want ErrPeerRemoved", err)
		}
	})
}

type recorder struct {
	got    chan string
	closed chan troupe.ID
}

func (r recorder) Receive(from troupe.ID, _ transport.Lane, payload []byte) {
	r.got <- fmt.Sprintf("%s: %s", from.Host, payload)
}
func (r recorder) NoPort(from troupe.ID) { r.closed <- from }

func TestPortsBelongTogetherByName(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(2)
		r := recorder{make(chan string, 4), make(chan troupe.ID, 4)}
		a, err := nodes[0].Open("test", r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nodes[0].Open("test", r); !errors.Is(err, troupe.ErrPortTaken) {
			t.Errorf("open twice: %v, want ErrPortTaken", err)
		}
		if err := a.Send(nodes[1].ID(), transport.User, []byte("anybody?")); err != nil {
			t.Fatal(err)
		}
		if from := <-r.closed; from != nodes[1].ID() {
			t.Errorf("told that %s has not opened the port, want %s", from, nodes[1].ID())
		}
		if _, err := nodes[1].Open("test", r); err != nil {
			t.Fatal(err)
		}
		for _, to := range nodes {
			if err := a.Send(to.ID(), transport.User, []byte("to "+to.ID().Host)); err != nil {
				t.Fatal(err)
			}
			if got, want := <-r.got, "n1: to "+to.ID().Host; got != want {
				t.Errorf("received %q, want %q", got, want)
			}
		}
		a.Retire()
		if from := <-r.closed; from != nodes[0].ID() {
			t.Errorf("told that %s has retired its port, want %s", from, nodes[0].ID())
		}
	})
}

func TestOnLeaveRunsWhileLeaving(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(2)
		var status troupe.Status
		err := nodes[1].OnLeave("slow", func(context.Context) error {
			m, _ := nodes[1].View().SelfMember()
			status = m.Status
			time.Sleep(15 * time.Second)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := nodes[1].Leave(t.Context()); err != nil {
			t.Fatalf("leave: %v", err)
		}
		if status != troupe.Leaving {
			t.Errorf("the task ran while the node was %s, want Leaving", status)
		}
		if err := nodes[1].OnLeave("late", func(context.Context) error { return nil }); !errors.Is(err, troupe.ErrEnding) {
			t.Errorf("OnLeave after the leave: %v, want ErrEnding", err)
		}
		if err := nodes[1].OnEnd("late", func() {}); !errors.Is(err, troupe.ErrEnding) {
			t.Errorf("OnEnd after the end: %v, want ErrEnding", err)
		}
	})
}

// A node that could not hand over in time is downed, not taken for one that
// has left: what still runs on it must not start elsewhere before the margin.
func TestLeaveThatCannotHandOverIsBoundedAndDowned(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(3)
		var previous troupe.Status
		stop := nodes[0].Events(func(e troupe.Event) {
			if e, ok := e.(gossip.MemberRemoved); ok && e.Member.ID == nodes[2].ID() {
				previous = e.Previous
			}
		})
		defer stop()
		if err := nodes[2].OnLeave("stuck", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err := nodes[2].Leave(t.Context())
		if !errors.Is(err, troupe.ErrDowned) || !strings.Contains(err.Error(), "stuck") {
			t.Errorf("leave: %v, want ErrDowned and the name of what was not handed over", err)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("the leave took %s, want less than 30 s", took)
		}
		w.sees(time.Minute, nodes[:2], nodes[:2])
		if previous != troupe.Down {
			t.Errorf("it was %s when it was removed, want Down", previous)
		}
	})
}

// Asks that are sent to a node after its removal end at once too.
func TestAskOfARemovedNodeEnds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(3)
		gone := nodes[2].ID()
		nodes[2].Kill()
		w.sees(time.Minute, nodes[:2], nodes[:2])
		_, err := actor.Ask(t.Context(), troupe.Remote(nodes[0], gone, "greeter", greetings), greet{Name: "Ann"})
		if err == nil {
			t.Fatal("answered")
		}
		if !errors.Is(err, troupe.ErrPeerRemoved) && !errors.Is(err, transport.ErrQuarantined) {
			t.Errorf("the ask ended with %v, want ErrPeerRemoved or ErrQuarantined", err)
		}
	})
}

// A node that the others have removed while it could not hear of it is told so
// when it is back, and ends.
func TestREM01RemovedNodeIsToldAndEnds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(3)
		lost, rest := nodes[2], nodes[:2]
		for _, n := range rest {
			w.net.Cut(lost.ID().Address, n.ID().Address)
			w.net.Cut(n.ID().Address, lost.ID().Address)
		}
		w.eventually(20*time.Second, nodes[0], "n3 unreachable", func(v *troupe.View) bool { return !v.Reachable(lost.ID()) })
		if err := nodes[0].Down(t.Context(), lost.ID().Address); err != nil {
			t.Fatal(err)
		}
		w.sees(5*time.Second, rest, rest)
		for _, n := range rest {
			w.net.Heal(lost.ID().Address, n.ID().Address)
			w.net.Heal(n.ID().Address, lost.ID().Address)
		}
		select {
		case <-lost.Done():
		case <-time.After(5 * time.Second):
			t.Fatalf("the removed node goes on: %+v", lost.View())
		}
		if err := lost.Err(); !errors.Is(err, troupe.ErrDowned) {
			t.Errorf("Err = %v, want ErrDowned", err)
		}
	})
}

// Every restart on one address is seen as the removal of the old incarnation
// before anything of the new one.
func TestMEM02RestartIsRemovedThenJoined(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nodes := w.startAll(3)
		var trace []string
		stop := nodes[0].Events(func(e troupe.Event) {
			switch e := e.(type) {
			case gossip.MemberRemoved:
				trace = append(trace, fmt.Sprintf("removed %d", e.Member.UID))
			case gossip.MemberChanged:
				if e.Previous == 0 {
					trace = append(trace, fmt.Sprintf("new %d", e.Member.UID))
				}
			}
		})
		var want []string
		for range 20 {
			old := nodes[2]
			old.Kill()
			nodes[2] = w.start("n3")
			w.sees(time.Minute, nodes[:2], nodes)
			want = append(want, fmt.Sprintf("removed %d", old.ID().UID), fmt.Sprintf("new %d", nodes[2].ID().UID))
		}
		stop()
		if !slices.Equal(trace, want) {
			t.Errorf("events of 20 restarts:\n got %v\nwant %v", trace, want)
		}
	})
}
