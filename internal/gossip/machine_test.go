package gossip

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

func TestClusterForms(t *testing.T) {
	for _, n := range []int{1, 3, 10, 50} {
		w := newWorld(t, uint64(n))
		w.codec = n <= 10
		nodes := w.cluster(n)
		if first := nodes[0].View(); n > 1 {
			m, _ := first.Member(nodes[0].id)
			if m.UpNumber != 1 || first.Leader != nodes[0].id {
				t.Errorf("%d nodes: the founder has rank %d, the leader is %v", n, m.UpNumber, first.Leader)
			}
		}
		t.Logf("%d nodes: up after %v, %d steps", n, w.now.Sub(time.UnixMilli(1_700_000_000_000)), w.steps)
	}
}

func TestLeave(t *testing.T) {
	w := newWorld(t, 1)
	nodes := w.cluster(3)
	for _, leaver := range nodes {
		w.do(leaver, Leave{leaver.id.Address})
		w.within(10*time.Second, "exiting", func() bool { return leaver.exits })
		w.run(5 * time.Second)
		if leaver.dead || leaver.status(leaver.id) != member.Exiting {
			t.Fatalf("%v did not wait for its exiting tasks:\n%s", leaver.id, leaver.Describe())
		}
		w.do(leaver, ExitDone{})
		w.within(10*time.Second, "left", func() bool { return leaver.stop != nil && w.up() })
		if leaver.stop.Reason != Left {
			t.Errorf("%v stopped as %v", leaver.id, leaver.stop.Reason)
		}
	}
}

func TestLeaveBeforeJoined(t *testing.T) {
	w := newWorld(t, 2)
	n := w.start(3, 0)
	w.run(3 * time.Second)
	w.do(n, Leave{n.id.Address})
	w.run(time.Millisecond)
	if n.stop == nil || n.stop.Reason != Left {
		t.Errorf("stopped as %v, want %v", n.stop, Left)
	}
}

// A node that has handed over before it is Exiting holds nobody up.
func TestHandOverBeforeExiting(t *testing.T) {
	w := newWorld(t, 3)
	nodes := w.cluster(3)
	w.do(nodes[0], Leave{nodes[0].id.Address})
	w.do(nodes[0], ExitDone{})
	took := w.within(10*time.Second, "left", func() bool { return nodes[0].stop != nil && w.up() })
	if nodes[0].exits {
		t.Error("was told to hand over although it had")
	}
	if took > 5*time.Second {
		t.Errorf("a leave took %v", took)
	}
}

func TestLeaverIsCutLater(t *testing.T) {
	w := newWorld(t, 4)
	nodes := w.cluster(2)
	leaver := nodes[1]
	w.do(leaver, ExitDone{})
	w.do(leaver, Leave{leaver.id.Address})
	w.within(10*time.Second, "left", func() bool { return leaver.stop != nil && w.up() })
	w.run(4 * time.Second)
	if len(nodes[0].gone) > 0 {
		t.Errorf("links to %v were cut before it could say its last words", nodes[0].gone)
	}
	w.run(2 * time.Second)
	if len(nodes[0].gone) != 1 || nodes[0].gone[0] != leaver.id {
		t.Errorf("links cut: %v, want %v", nodes[0].gone, leaver.id)
	}
}

func TestRemovedNodeLearnsOfIt(t *testing.T) {
	w := newWorld(t, 5)
	nodes := w.cluster(3)
	lost := nodes[2]
	lost.paused = w.now.Add(30 * time.Second)
	w.within(20*time.Second, "unreachable", func() bool { return !nodes[0].View().Reachable(lost.id) })
	w.do(nodes[0], Down{lost.id.Address})
	w.within(9*time.Second, "removed", func() bool { return nodes[0].status(lost.id) == 0 })
	nodes[0].gone, nodes[1].gone = nil, nil // as if the transport did not cut links
	w.within(40*time.Second, "it stops", func() bool { return lost.stop != nil })
	if r := lost.stop.Reason; r != Removed && r != Downed {
		t.Errorf("stopped as %v: %s", r, lost.stop.Text)
	}
}

func TestQuarantinedIsTerminated(t *testing.T) {
	w := newWorld(t, 6)
	nodes := w.cluster(3)
	w.do(nodes[0], Quarantined{nodes[2].id})
	w.run(20 * time.Second)
	if got := nodes[1].State().Table.Status(nodes[0].id, nodes[2].id); got != Terminated {
		t.Errorf("the others hear %v, want %v for good:\n%s", got, Terminated, nodes[1].Describe())
	}
}

func TestMinMembers(t *testing.T) {
	w := newWorld(t, 7)
	w.cfg.MinMembers = 3
	w.cfg.Roles = []string{"dad"}
	w.cfg.MinRoleMembers = map[string]int{"dad": 3}
	a, b := w.start(0), w.start(1)
	w.run(30 * time.Second)
	if a.status(a.id) != member.Joining || b.status(b.id) != member.Joining {
		t.Fatalf("up with two of three:\n%s", a.Describe())
	}
	w.start(2)
	w.within(20*time.Second, "up", w.up)
}

func TestConfigurationsMustAgree(t *testing.T) {
	for _, anyway := range []bool{false, true} {
		w := newWorld(t, 8)
		w.cfg.Agree = []Setting{{"downing", "keep-majority"}, {"mine", "1"}}
		nodes := w.cluster(1)
		w.cfg.Agree = []Setting{{"downing", "down-all"}, {"other", "2"}}
		w.cfg.JoinAnyway = anyway
		joiner := w.start(1)
		w.run(10 * time.Second)
		if anyway {
			if nodes[0].status(joiner.id) != member.Up {
				t.Errorf("did not join anyway:\n%s", joiner.Describe())
			}
			continue
		}
		want := `the configuration differs from that of ` + nodes[0].id.String() + `: downing is "down-all" here and "keep-majority" there`
		if joiner.stop == nil || joiner.stop.Reason != IncompatibleConfig || joiner.stop.Text != want {
			t.Errorf("stopped as %+v, want %v: %s", joiner.stop, IncompatibleConfig, want)
		}
	}
}

func TestWholeClusterShutdown(t *testing.T) {
	w := newWorld(t, 9)
	nodes := w.cluster(3)
	w.do(nodes[1], PrepareShutdown{})
	w.within(10*time.Second, "all are ready", func() bool { return w.agreed(member.ReadyForShutdown) })
	late := w.start(3)
	w.run(20 * time.Second)
	if nodes[0].status(late.id) != 0 {
		t.Errorf("took in a node during the shutdown:\n%s", nodes[0].Describe())
	}
	w.crash(late)
	for _, n := range nodes {
		w.do(n, ExitDone{})
		w.do(n, Leave{n.id.Address})
	}
	w.within(30*time.Second, "all have left", func() bool { return len(w.living()) == 0 })
	for _, n := range nodes {
		if n.stop.Reason != Left {
			t.Errorf("%v stopped as %v", n.id, n.stop.Reason)
		}
	}
}

// Two members let in two incarnations of one address, neither knowing of the
// other: the one that lives ends up alone.
func TestTwoIncarnationsLetInAtOnce(t *testing.T) {
	w := newWorld(t, 10)
	nodes := w.cluster(4)
	w.crash(nodes[3])
	w.partition(nodes[0], nodes[1])
	first := w.boot(3, w.cfg)
	w.do(first, JoinAddress{addr(2)})
	w.within(10*time.Second, "2 lets it in", func() bool { return nodes[2].status(first.id) != 0 })
	w.crash(first)
	second := w.boot(3, w.cfg)
	w.partition(nodes[2])
	w.do(second, JoinAddress{addr(0)})
	w.within(10*time.Second, "0 lets it in", func() bool { return nodes[0].status(second.id) != 0 })
	w.heal()
	w.within(30*time.Second, "only one is left", w.up)
}

// The same seed gives the same run, to the last event.
func TestRunsAreReproducible(t *testing.T) {
	run := func() string {
		w := newWorld(t, 11)
		nodes := w.cluster(5)
		w.crash(nodes[4])
		w.start(4)
		w.run(30 * time.Second)
		return text(w.steps) + text(nodes[0].events) + nodes[0].Describe()
	}
	if a, b := run(), run(); a != b {
		t.Errorf("two runs of one seed differ:\n%s\n%s", a, b)
	}
}

func TestDescribe(t *testing.T) {
	w := newWorld(t, 12)
	nodes := w.cluster(2)
	w.crash(nodes[1])
	w.run(10 * time.Second)
	a, b := nodes[0].id, nodes[1].id
	want := a.String() + " is Up in cluster \"test\"\n" +
		"  " + a.String() + " Up, leader\n" +
		"  " + b.String() + " Up, has not seen this version, " + a.String() + " says Unreachable: blocks convergence\n"
	same(t, "description", nodes[0].Describe(), want)
}

// Each data center has its own leader, and the first one of a new data center
// waits for the eyes of all.
func TestTwoDataCenters(t *testing.T) {
	w := newWorld(t, 13)
	w.cfg.DataCenter = "east"
	east := []*node{w.start(0), w.start(2)}
	w.within(20*time.Second, "east is up", w.up)
	w.cfg.DataCenter = "west"
	west := []*node{w.start(1), w.start(3)}
	w.within(time.Minute, "all are up", w.up)
	for _, n := range east {
		if got := n.View().Leader; got != east[0].id {
			t.Errorf("%v in the east is led by %v, want %v", n.id, got, east[0].id)
		}
	}
	for _, n := range west {
		if got := n.View().Leader; got != west[0].id {
			t.Errorf("%v in the west is led by %v, want %v", n.id, got, west[0].id)
		}
	}
	w.do(west[1], ExitDone{})
	w.do(west[1], Leave{west[1].id.Address})
	w.within(time.Minute, "one has left", func() bool { return west[1].stop != nil && w.up() })
}
