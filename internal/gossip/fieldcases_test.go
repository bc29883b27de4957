package gossip

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

func TestMEM01RestartedNodeLockedOutWhileUnrelatedNodeIsDown(t *testing.T) {
	w := newWorld(t, 1)
	nodes := w.cluster(3)
	a, b, c := nodes[0], nodes[1], nodes[2]
	w.crash(b)
	w.crash(c)
	again := w.start(1)
	w.within(10*time.Second, "b is usable", func() bool { return again.status(again.id) >= member.WeaklyUp })
	if a.View().Reachable(c.id) || a.status(c.id) != member.Up {
		t.Errorf("c should be listed as unreachable:\n%s", a.Describe())
	}
	for _, n := range []*node{a, again} {
		if got := n.View().Blocking; !slices.Contains(got, c.id) {
			t.Errorf("%v names %v as what blocks convergence, want %v among them", n.id, got, c.id)
		}
		if n.status(b.id) != 0 {
			t.Errorf("%v still has the old incarnation:\n%s", n.id, n.Describe())
		}
	}
}

func TestMEM02EventOrderWhenReplacedByNewIncarnation(t *testing.T) {
	w := newWorld(t, 2)
	nodes := w.cluster(5)
	current := nodes[3]
	for range 20 {
		w.crash(current)
		w.run(500 * time.Millisecond)
		current = w.start(3)
		w.within(20*time.Second, "the restarted node is up", w.up)
	}
	for _, n := range w.living() {
		alive := map[member.Address]member.ID{}
		for _, e := range n.events {
			switch e := e.(type) {
			case MemberRemoved:
				if alive[e.Member.Address] == e.Member.ID {
					delete(alive, e.Member.Address)
				}
			case MemberChanged:
				if old, ok := alive[e.Member.Address]; ok && old != e.Member.ID {
					t.Fatalf("%v hears of %v before %v is removed", n.id, e.Member.ID, old)
				}
				alive[e.Member.Address] = e.Member.ID
			}
		}
	}
}

func TestMEM03NodeThatDiesBeforeItIsUp(t *testing.T) {
	w := newWorld(t, 3)
	nodes := w.cluster(1)
	w.cfg.MinMembers = 3
	a := nodes[0]
	a.cfg.MinMembers = 3 // a gate that holds whoever comes now
	b := w.start(1)
	w.within(10*time.Second, "b joins", func() bool { return a.status(b.id) == member.Joining })
	w.crash(b)
	w.within(20*time.Second, "a notices", func() bool { return !a.View().Reachable(b.id) })
	w.do(a, Down{b.id.Address})
	w.within(10*time.Second, "b is removed", func() bool { return len(a.View().Members) == 1 && a.View().Converged })
}

func TestMEM04RemovedMemberReappears(t *testing.T) {
	for _, apart := range []time.Duration{time.Second, time.Minute, time.Hour} {
		t.Run(apart.String(), func(t *testing.T) {
			w := newWorld(t, 4)
			nodes := w.cluster(5)
			d, e := nodes[3], nodes[4]
			w.partition(e)
			w.crash(d)
			w.do(nodes[0], Down{d.id.Address})
			w.within(30*time.Second, "d is unreachable", func() bool { return !nodes[0].View().Reachable(d.id) })
			w.run(apart) // e holds up the removal, and learns of d's fate when it is back
			w.heal()
			w.within(30*time.Second, "all agree without d", w.up)
			for _, n := range w.living() {
				removed := false
				for _, ev := range n.events {
					switch ev := ev.(type) {
					case MemberRemoved:
						removed = removed || ev.Member.ID == d.id
					case MemberChanged:
						if removed && ev.Member.ID == d.id {
							t.Errorf("%v saw d come back as %v", n.id, ev.Member.Status)
						}
					}
				}
				if !removed {
					t.Errorf("%v did not hear that d is removed", n.id)
				}
			}
		})
	}
}

// The same with a state that the isolated node has changed meanwhile, so that
// the two are merged.
func TestMEM04TombstoneOutlivesMerge(t *testing.T) {
	w := newWorld(t, 5)
	nodes := w.cluster(5)
	d, e := nodes[3], nodes[4]
	w.partition(e)
	w.crash(d)
	again := w.start(3) // replaces d at once, though e is unreachable
	w.within(20*time.Second, "d is replaced", func() bool { return nodes[0].status(d.id) == 0 })
	if e.status(d.id) != member.Up {
		t.Fatalf("e was to know d as Up:\n%s", e.Describe())
	}
	w.heal()
	w.within(30*time.Second, "all agree", w.up)
	if e.status(again.id) != member.Up || e.status(d.id) != 0 {
		t.Errorf("e has\n%s", e.Describe())
	}
}

func TestMEM05DownedMemberActsAsLeader(t *testing.T) {
	w := newWorld(t, 6)
	nodes := w.cluster(4)
	first := nodes[0]
	w.do(nodes[2], Down{first.id.Address})
	w.within(30*time.Second, "the downed leader is removed", func() bool { return first.stop != nil && w.up() })
	if first.stop.Reason != Downed {
		t.Errorf("the downed node stopped as %v", first.stop.Reason)
	}
	for _, n := range nodes {
		down := false
		for _, e := range n.events {
			switch e := e.(type) {
			case MemberChanged:
				down = down || e.Member.ID == first.id && e.Member.Status == member.Down
			case LeaderChanged:
				if down && e.Leader == first.id {
					t.Errorf("%v holds the downed %v for the leader", n.id, first.id)
				}
			}
		}
	}
}

func TestMEM06RecycledAddressBridgesClusters(t *testing.T) {
	w := newWorld(t, 7)
	nodes := w.cluster(3)
	w.crash(nodes[2])
	cfg := w.cfg
	cfg.Cluster = "other"
	stranger := w.boot(2, cfg)
	w.do(stranger, JoinSeeds{[]member.Address{addr(0), addr(1)}})
	w.run(time.Minute)
	if v := stranger.View(); len(v.Members) != 0 {
		t.Errorf("a node of another cluster got in: %v", v.Members)
	}
	refused := uint64(0)
	for _, n := range nodes[:2] {
		if n.status(stranger.id) != 0 {
			t.Errorf("%v took in %v", n.id, stranger.id)
		}
		refused += n.Ignored(WrongCluster)
		for _, e := range n.events {
			if e, ok := e.(Ignored); ok && (!strings.Contains(e.Text, `"test"`) || !strings.Contains(e.Text, `"other"`)) {
				t.Errorf("the refusal %q does not name both clusters", e.Text)
			}
		}
	}
	if refused == 0 {
		t.Error("the refusals were not counted")
	}
}

func TestMEM08NewNodesGatherAroundTheMinority(t *testing.T) {
	w := newWorld(t, 8)
	var nodes []*node
	for i := range 10 {
		nodes = append(nodes, w.start(i, 0, 1))
	}
	w.within(time.Minute, "10 nodes up", w.up)
	w.crash(nodes[0])
	w.crash(nodes[1])
	w.do(nodes[5], Down{addr(0)})
	w.do(nodes[5], Down{addr(1)})
	w.within(time.Minute, "the seeds are removed", w.up)
	for _, i := range []int{0, 1, 10, 11, 12} {
		w.start(i, 0, 1)
	}
	w.within(time.Minute, "all are one cluster", func() bool { return len(w.living()) == 13 && w.up() })
}

// Two clusters of one name: a seed has founded its own behind a partition.
func TestMEM08TwoClustersOfOneNameSeeEachOther(t *testing.T) {
	w := newWorld(t, 9)
	nodes := w.cluster(4)
	w.crash(nodes[0])
	w.do(nodes[1], Down{addr(0)})
	w.within(time.Minute, "the seed is removed", w.up)
	w.cut = func(from, to member.ID) bool { return from.Address == addr(0) || to.Address == addr(0) }
	lonely := w.start(0)
	w.within(time.Minute, "the seed founds another cluster", func() bool { return lonely.status(lonely.id) == member.Up })
	w.heal()
	w.within(10*time.Second, "it is told", func() bool {
		return slices.ContainsFunc(lonely.events, func(e Event) bool { _, ok := e.(OtherCluster); return ok })
	})
}

func TestMEM12NotReadyOrTerminatingPodsUsedAsPeers(t *testing.T) {
	w := newWorld(t, 10)
	live := w.start(0, 0)
	w.run(5 * time.Second)
	terminating := w.start(1, 0) // takes every message and never answers
	w.within(time.Minute, "two are up", w.up)
	terminating.dead = false
	w.do(terminating, Leave{addr(1)})
	w.within(time.Minute, "one is exiting", func() bool { return terminating.exits })
	joiner := w.start(3, 1, 2, 0) // 2 was never started
	w.within(10*time.Second, "the joiner is in", func() bool { return live.status(joiner.id) != 0 })
	w.do(terminating, ExitDone{})
	w.within(20*time.Second, "all agree", w.up)

	w.cfg.Times.GiveUp = 30 * time.Second
	lost := w.start(4, 8, 9)
	w.run(29 * time.Second)
	if lost.stop != nil {
		t.Fatalf("gave up early: %v", lost.stop)
	}
	w.run(2 * time.Second)
	if lost.stop == nil || lost.stop.Reason != JoinTimedOut {
		t.Errorf("stopped as %v, want %v", lost.stop, JoinTimedOut)
	}
}

func TestFD01PausedNodeBlamesEveryone(t *testing.T) {
	w := newWorld(t, 11)
	nodes := w.cluster(5)
	paused := nodes[2]
	seen := len(paused.events)
	paused.paused = w.now.Add(15 * time.Second)
	w.within(15*time.Second, "the others notice", func() bool { return !nodes[0].View().Reachable(paused.id) })
	w.run(16 * time.Second)
	w.within(20*time.Second, "all is well again", w.up)
	stalled := false
	for _, e := range paused.events[seen:] {
		switch e := e.(type) {
		case Stalled:
			stalled = true
		case ReachabilityChanged:
			for _, o := range e.Observations {
				if o.Observer == paused.id {
					t.Errorf("the paused node blames %v", o.Subject)
				}
			}
		case MemberChanged:
			t.Errorf("%v became %v", e.Member.ID, e.Member.Status)
		}
	}
	if !stalled {
		t.Error("the paused node did not notice its stall")
	}
}

func TestFD02SlowStartUpCountsAsMissedHeartbeats(t *testing.T) {
	w := newWorld(t, 12)
	nodes := w.cluster(3)
	late := w.boot(3, w.cfg)
	w.run(time.Minute) // its transport is open and nothing else
	w.do(late, JoinSeeds{[]member.Address{addr(0)}})
	w.within(20*time.Second, "it is up", w.up)
	for _, n := range append(nodes, late) {
		for _, e := range n.events {
			if e, ok := e.(UnreachableMember); ok {
				t.Errorf("%v held %v for unreachable", n.id, e.Member.ID)
			}
		}
	}
}

func TestREM13AddressOrderingIsTheSameEverywhere(t *testing.T) {
	w := newWorld(t, 13)
	nodes := w.cluster(20)
	for _, n := range nodes {
		if got := n.View().Leader; got != nodes[0].id {
			t.Errorf("%v holds %v for the leader, want %v", n.id, got, nodes[0].id)
		}
	}
}

func TestPartitionHeals(t *testing.T) {
	w := newWorld(t, 14)
	nodes := w.cluster(5)
	w.partition(nodes[3:]...)
	w.within(20*time.Second, "both sides notice", func() bool {
		return len(nodes[0].View().Unreachable) == 2 && len(nodes[4].View().Unreachable) == 3
	})
	w.run(time.Minute)
	w.heal()
	took := w.within(20*time.Second, "all is well again", w.up)
	t.Log("healed after", took)
}

func TestCrashAndDown(t *testing.T) {
	for _, n := range []int{3, 10} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newWorld(t, 15)
			nodes := w.cluster(n)
			dead := nodes[n-1]
			w.crash(dead)
			w.within(10*time.Second, "unreachable", func() bool { return !nodes[0].View().Reachable(dead.id) })
			w.do(nodes[1], Down{dead.id.Address})
			w.within(20*time.Second, "removed", w.up)
			for _, other := range w.living() {
				if !slices.Contains(other.gone, dead.id) {
					t.Errorf("%v did not cut its links to the downed %v", other.id, dead.id)
				}
			}
		})
	}
}
