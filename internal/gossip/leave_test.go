package gossip

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// Of a large side that is declared down at one moment, only some are sent the
// whole state: the burst of who decides does not grow with the square of the cluster.
func TestDownOfManyTellsFew(t *testing.T) {
	w := newWorld(t, 1)
	nodes := w.cluster(60)
	w.run(10 * time.Second)
	m, now := nodes[0].Machine, w.now
	tell := func(now time.Time, gone []*node) (told int) {
		for _, n := range gone {
			for _, p := range m.Step(now, Down{Address: n.id.Address}).Send {
				if p.To == n.id {
					told++
				}
			}
		}
		return told
	}
	if told := tell(now, nodes[10:]); told != hurryTo {
		t.Errorf("told %d of %d that were declared down at once, want %d", told, len(nodes[10:]), hurryTo)
	}
	if told := tell(now.Add(time.Second), nodes[9:10]); told != 1 {
		t.Errorf("told %d of one that was declared down a second later, want it", told)
	}
}

// A coordinator that leaves resigns at once, and its successor is obeyed by those who
// know that: so all hear of it at once, in a cluster that is not too large.
func TestALeaveIsToldToAllAtOnce(t *testing.T) {
	for _, tt := range []struct{ nodes, want int }{{5, 4}, {hurryTo + 10, hurryTo}} {
		w := newWorld(t, 1)
		leaver := w.cluster(tt.nodes)[0]
		w.run(10 * time.Second)
		told := map[member.ID]bool{}
		for _, p := range leaver.Step(w.now, Leave{Address: leaver.id.Address}).Send {
			if e, ok := p.Msg.(GossipEnvelope); ok {
				told[e.To] = true
			}
		}
		if len(told) != tt.want {
			t.Errorf("of %d nodes %d are told, want %d", tt.nodes, len(told), tt.want)
		}
	}
}

// All who stay are told how a member went: one that has said itself that it is done,
// and not one that fell silent while it left, whatever they had seen of it before.
func TestHowAMemberWentIsTold(t *testing.T) {
	for _, tt := range []struct {
		name   string
		silent bool // it falls silent when it is Exiting
		want   member.End
	}{
		{"it said so", false, member.Exited},
		{"it fell silent", true, member.Silent},
	} {
		w := newWorld(t, 1)
		nodes := w.cluster(3)
		leaver := nodes[2]
		w.do(leaver, Leave{Address: leaver.id.Address})
		w.within(10*time.Second, "the leaver is Exiting", func() bool { return nodes[0].status(leaver.id) == member.Exiting })
		if tt.silent {
			w.crash(leaver)
		} else {
			w.do(leaver, ExitDone{})
		}
		w.within(time.Minute, "the leaver is removed", func() bool { return nodes[0].status(leaver.id) == 0 && nodes[1].status(leaver.id) == 0 })
		for _, n := range nodes[:2] {
			if end, ok := n.View().End(leaver.id); !ok || end != tt.want {
				t.Errorf("%s: %v holds that it went by %v, %v; want %v", tt.name, n.id, end, ok, tt.want)
			}
		}
	}
}

// Views remember a bounded number of those who went, the last ones.
func TestViewsForgetWhoWentLongAgo(t *testing.T) {
	w := newWorld(t, 1)
	m := w.cluster(1)[0].Machine
	joiner := func(i int) member.ID {
		return member.ID{Address: member.Address{Host: "joiner", Port: 1}, UID: int64(i) + 1}
	}
	const joiners = departuresKept + 11
	for i := range joiners { // each next incarnation drives out the one before
		m.Step(w.now, Received{From: joiner(i), Msg: Join{Cluster: "test", Node: joiner(i), DataCenter: "default"}})
	}
	v := m.View()
	if len(v.Departed) != departuresKept {
		t.Errorf("%d departures are remembered, want %d", len(v.Departed), departuresKept)
	}
	for i, want := range map[int]bool{0: false, 9: false, 10: true, joiners - 2: true, joiners - 1: false} {
		if _, ok := v.End(joiner(i)); ok != want {
			t.Errorf("joiner %d is remembered: %v, want %v", i, ok, want)
		}
	}
}

// Members that are declared dead together are so in one version: nobody of them
// leads in between, and lets somebody come up. Who lives at an address now is not
// meant by the identity of its predecessor.
func TestDownOfManyIsOneChange(t *testing.T) {
	w := newWorld(t, 1)
	nodes := w.cluster(4)
	m := nodes[0].Machine
	joiner := member.ID{Address: member.Address{Host: "joiner", Port: 1}, UID: 1}
	m.Step(w.now, Received{From: joiner, Msg: Join{Cluster: "test", Node: joiner, DataCenter: "default"}})
	predecessor := nodes[1].id
	predecessor.UID++
	before := m.State().Version.count(nodes[0].id)
	now := w.now.Add(time.Second) // the leader's tick is due
	for _, e := range m.Step(now, DownAll{[]member.ID{predecessor, nodes[2].id, nodes[3].id, nodes[0].id}}).Events {
		if e, ok := e.(MemberChanged); ok && e.Member.Status == member.Up {
			t.Errorf("%v came up when its leader was declared dead", e.Member.ID)
		}
	}
	for i, want := range []member.Status{member.Down, member.Up, member.Down, member.Down} {
		if got := nodes[0].status(nodes[i].id); got != want {
			t.Errorf("node %d is %v, want %v", i, got, want)
		}
	}
	if got := m.State().Version.count(nodes[0].id) - before; got != 1 {
		t.Errorf("%d new versions, want 1", got)
	}
}

// Who is to leave while it joins comes up first: a member that leaves counts for
// agreement, and where nobody has come up yet it would agree with itself alone.
func TestJoiningMemberLeavesWhenItHasComeUp(t *testing.T) {
	w := newWorld(t, 1)
	nodes := w.cluster(3)
	late := w.start(3)
	w.within(10*time.Second, "it is a member", func() bool { return late.status(late.id) == member.Joining })
	w.do(late, Leave{Address: late.id.Address})
	if got := late.status(late.id); got != member.Joining {
		t.Errorf("it is %v at once, want Joining still", got)
	}
	seen := map[member.Status]bool{}
	w.within(20*time.Second, "it is Exiting", func() bool {
		seen[nodes[0].status(late.id)] = true
		return nodes[0].status(late.id) == member.Exiting
	})
	if !seen[member.Up] {
		t.Errorf("it went through %v, want Up among them", seen)
	}
	w.do(late, ExitDone{})
	w.within(20*time.Second, "it is removed", func() bool { return nodes[0].status(late.id) == 0 })
}
