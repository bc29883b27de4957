package membership

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/sbr"
)

// told puts what waits mean to people into one line each.
func told(start time.Time, waits []member.Wait) []string {
	var lines []string
	for _, w := range waits {
		line := string(w.What) + ": " + w.Why
		if !w.Since.IsZero() {
			line += " | since " + w.Since.Sub(start).Round(time.Second).String()
		}
		if !w.Until.IsZero() {
			line += " | until " + w.Until.Sub(start).Round(time.Second).String()
		}
		for _, on := range w.On {
			line += " | " + on.Node.Host + " " + on.Why
		}
		if w.Act != "" {
			line += " | to do: " + w.Act
		}
		lines = append(lines, line)
	}
	return lines
}

func wantWhy(t *testing.T, when string, start time.Time, got []member.Wait, want ...string) {
	t.Helper()
	if g, w := strings.Join(told(start, got), "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("%s a node says\n%s\nwant\n%s", when, g, w)
	}
}

func lonely(cfg gossip.Config) (*Core, time.Time) {
	cfg.Self = member.ID{Address: member.Address{Host: "n0", Port: 1}, UID: 1}
	cfg.Cluster, cfg.Rand = "test", rand.New(rand.NewPCG(1, 0))
	return New(Config{Gossip: cfg}), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
}

func TestWhyAJoinWaits(t *testing.T) {
	c, now := lonely(gossip.Config{})
	n1, n2 := member.ID{Address: member.Address{Host: "n1", Port: 1}, UID: 2}, member.ID{Address: member.Address{Host: "n2", Port: 1}, UID: 3}
	c.Step(now, gossip.JoinSeeds{Seeds: []member.Address{n1.Address, n2.Address}})
	c.Step(now.Add(time.Second), gossip.Received{From: n1, Msg: gossip.InitJoinNack{Cluster: "test"}})
	wantWhy(t, "while it asks", now, c.Why(now.Add(2*time.Second)),
		"join: this node asks its seeds for a cluster | since 0s | n1 answers that it is no member either | n2 has not answered"+
			" | to do: start a seed that is a member or may found a cluster, or name others")
	c.Step(now.Add(2*time.Second), gossip.Received{From: n2, Msg: gossip.InitJoinAck{Cluster: "test", ID: 7}})
	wantWhy(t, "when a member was found", now, c.Why(now.Add(2*time.Second)),
		"join: this node has found a member and asks it to let it in | since 0s | until 12s | n2 has not let this node in yet")
}

// With a store nobody has to agree: it founds that finds nobody there.
func TestWhyAJoinWaitsForTheStore(t *testing.T) {
	c, now := lonely(gossip.Config{})
	c.Step(now, gossip.JoinContacts{})
	got := c.Why(now.Add(2 * time.Second))
	if len(got) != 1 || !strings.HasPrefix(got[0].Why, "this node looks for members in the store") || !strings.Contains(got[0].Act, "log") {
		t.Errorf("with a store that has nobody: %q, want what the store has to do with it", told(now, got))
	}
}

func TestWhyMembersDoNotComeUp(t *testing.T) {
	c, now := lonely(gossip.Config{MinMembers: 3, MinRoleMembers: map[string]int{"dad": 1}})
	c.Step(now, gossip.JoinAddress{Address: member.Address{Host: "n0", Port: 1}})
	wantWhy(t, "alone", now, c.Why(now.Add(time.Minute)),
		"join: n0:1 is Joining: MinMembers is 3, and there are 1; role dad needs 1 members, and there are 0 | since 0s | to do: start more nodes")
}

func TestWhyStrangersAreStates(t *testing.T) {
	c, now := lonely(gossip.Config{})
	c.Step(now, gossip.JoinAddress{Address: member.Address{Host: "n0", Port: 1}})
	stranger := member.ID{Address: member.Address{Host: "s", Port: 1}, UID: 9}
	for i := range 3 {
		c.Step(now.Add(time.Duration(i)*time.Second), gossip.Received{From: stranger, Msg: gossip.InitJoin{Cluster: "other"}})
	}
	got := c.Why(now.Add(3 * time.Second))
	if len(got) != 1 || got[0].What != member.WaitConfig || !got[0].Since.Equal(now) || !strings.Contains(got[0].Why, `"other"`) || got[0].Act == "" {
		t.Errorf("after a stranger has asked: %+v, want its state since the first time, with both names", got)
	}
	if got := c.Why(now.Add(3 * time.Minute)); len(got) != 0 {
		t.Errorf("minutes after a stranger has asked last: %q, want nothing", told(now, got))
	}
	for i := range 100 {
		stranger.Port = i + 2
		c.Step(now.Add(time.Minute), gossip.Received{From: stranger, Msg: gossip.InitJoin{Cluster: "other"}})
	}
	if got := c.Why(now.Add(time.Minute)); len(got) != mistakesKept {
		t.Errorf("after 100 strangers: %d states, want %d", len(got), mistakesKept)
	}
}

func TestWhyNothingConverges(t *testing.T) {
	w := newWorld(3, sbr.Settings{})
	start := w.now
	if got := w.cores[0].Why(w.now); len(got) > 0 {
		t.Errorf("at rest a node waits for %q", told(start, got))
	}
	w.dead[2] = true
	for range 100 {
		if v := w.cores[0].Machine().View(); !v.Reachable(w.ids[2]) {
			break
		}
		w.run(100 * time.Millisecond)
	}
	w.run(3 * time.Second)
	got := w.cores[0].Why(w.now)
	if len(got) != 2 || got[0].What != member.WaitConvergence || got[1].What != member.WaitDecision {
		t.Fatalf("with a dead member a node says %q, want convergence and a decision", told(start, got))
	}
	on := got[0].On
	if len(on) != 1 || on[0].Node != w.ids[2] || !strings.HasPrefix(on[0].Why, "is unreachable for n") || got[0].Act == "" {
		t.Errorf("convergence waits for %+v and %q, want the dead member, by whom since when, and what to do", on, got[0].Act)
	}
	if d := w.now.Sub(got[0].Since); d < 3*time.Second || d > 5*time.Second {
		t.Errorf("convergence waits for %v, want 3 to 5 s", d)
	}
	if until := got[1].Until; !until.After(w.now) || until.Sub(w.now) > 7*time.Second {
		t.Errorf("the decision is due in %v, want within 7 s", until.Sub(w.now))
	}
}

func TestWhyALeaveAndAShutdownWait(t *testing.T) {
	w := newWorld(2, sbr.Settings{})
	start := w.now
	w.step(0, gossip.Leave{Address: w.ids[1].Address})
	got := w.cores[0].Why(w.now)
	if len(got) == 0 || got[len(got)-1].What != member.WaitLeave || !strings.HasPrefix(got[len(got)-1].Why, "n1:1 hands over") {
		t.Errorf("while a member leaves a node says %q", told(start, got))
	}

	w = newWorld(2, sbr.Settings{})
	start = w.now
	w.step(0, gossip.PrepareShutdown{})
	w.run(5 * time.Second)
	wantWhy(t, "while all shut down", start, w.cores[0].Why(w.now),
		"shutdown: the whole cluster shuts down: nobody joins, nothing is moved, and nobody is downed but for a confirmed crash | since 1s"+
			" | n0 is ReadyForShutdown | n1 is ReadyForShutdown | to do: stop all nodes")
}

// While the whole cluster shuts down a member that is gone is downed by nobody,
// and those that are left do not down themselves, however few they are.
func TestNobodyIsDownedWhileAllShutDown(t *testing.T) {
	w := newWorld(5, sbr.Settings{})
	w.step(0, gossip.PrepareShutdown{})
	w.run(5 * time.Second)
	for i := 1; i < 5; i++ {
		w.dead[i] = true
	}
	w.run(5 * time.Minute)
	waits := w.cores[0].Why(w.now)
	if len(waits) == 0 || waits[0].What != member.WaitConvergence || strings.Contains(waits[0].Act, "resolver") {
		t.Errorf("the last of five waits for %+v, want convergence, and not for the resolver", waits)
	}
	if w.dead[0] || w.last[0].Decision != nil {
		t.Errorf("the last of five has stopped (%v) or decided %v, want neither", w.dead[0], w.last[0].Decision)
	}
	for _, m := range w.cores[0].Machine().View().Members {
		if m.Status != member.ReadyForShutdown {
			t.Errorf("%v is %v, want ReadyForShutdown", m.ID, m.Status)
		}
	}
}

// A crash that a majority has confirmed is one during a shutdown, too: nobody
// waits for that member, and all can leave.
func TestCrashIsConfirmedWhileAllShutDown(t *testing.T) {
	w := newWorld(4, sbr.Settings{})
	w.step(0, gossip.PrepareShutdown{})
	w.run(5 * time.Second)
	w.dies(3)
	for range 20 {
		w.run(50 * time.Millisecond)
		for i := range 3 {
			w.step(i, gossip.Dialed{Peer: w.ids[3], Result: gossip.Refused})
		}
	}
	if is := w.seen(0, 3); is != 0 {
		t.Fatalf("a second after its crash node 3 is %v, want removed; node 0 says %q", is, told(w.now, w.cores[0].Why(w.now)))
	}
	for i := range 3 {
		w.step(i, gossip.Leave{Address: w.ids[i].Address})
		w.step(i, gossip.ExitDone{})
	}
	w.run(10 * time.Second)
	for i := range 3 {
		if !w.dead[i] || w.last[i].Decision != nil {
			t.Errorf("node %d has left: %v, and decided %v; want that it has, and nothing", i, w.dead[i], w.last[i].Decision)
		}
	}
}

// Who knows of the shutdown alone has to stop acting when its links break, since
// the others may confirm its crash and place anew what it hosts.
func TestShutdownThatNobodyKnowsOfStopsNoPause(t *testing.T) {
	for _, known := range []bool{false, true} {
		w := newWorld(3, sbr.Settings{})
		w.dead[1], w.dead[2] = !known, !known
		w.step(0, gossip.PrepareShutdown{})
		if known {
			w.run(5 * time.Second)
		}
		w.cores[0].Step(w.now, gossip.LinkBroke{Peer: w.ids[1]})
		out := w.cores[0].Step(w.now, gossip.LinkBroke{Peer: w.ids[2]})
		if paused := !out.CutOff.IsZero(); paused == known {
			t.Errorf("the others know of the shutdown: %v; node 0, which lost them, has to stop: %v", known, paused)
		}
	}
}

func TestWhyCountsVotes(t *testing.T) {
	w := newWorld(3, sbr.Settings{})
	w.dies(2)
	w.refused(0, 2, time.Second)
	want := "1 vote is in that n2:1 has crashed; 2 confirm it"
	got := w.cores[0].Why(w.now)
	if !slices.ContainsFunc(got, func(wait member.Wait) bool { return wait.What == member.WaitCrash && wait.Why == want }) {
		t.Errorf("with one vote a node says %q, want %q", told(w.now, got), want)
	}
}
