package gossip

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// orphan lets a node in through a member that crashes before it has told the
// others, of which one was let in before.
func orphan(t *testing.T, w *world) (others []*node, lost *node) {
	nodes := w.cluster(3)
	w.cutOff(2)
	lost = w.boot(3, w.cfg)
	w.do(lost, JoinAddress{addr(2)})
	w.within(10*time.Second, "2 lets it in", func() bool { return lost.status(lost.id) == member.Joining })
	w.crash(nodes[2])
	w.do(nodes[0], Down{addr(2)})
	w.heal()
	w.run(time.Second)
	if nodes[0].status(lost.id) != 0 || nodes[1].status(lost.id) != 0 {
		t.Fatalf("nobody was to know %v:\n%s", lost.id, nodes[0].Describe())
	}
	return nodes[:2], lost
}

// cutOff cuts the hosts from the i-th on from those before it.
func (w *world) cutOff(i int) {
	later := func(id member.ID) bool { return id.Address.Compare(addr(i)) >= 0 }
	w.cut = func(from, to member.ID) bool { return later(from) != later(to) }
}

func TestMEM03LetInByOneThatDies(t *testing.T) {
	w := newWorld(t, 1)
	_, lost := orphan(t, w)
	w.within(30*time.Second, "it ends", func() bool { return lost.stop != nil })
	if lost.stop.Reason != Removed {
		t.Errorf("stopped as %v: %s", lost.stop.Reason, lost.stop.Text)
	}
	w.within(30*time.Second, "the others are well", w.up)
}

// Two who know only each other end as well as one.
func TestMEM03TwoLetInByOneThatDies(t *testing.T) {
	w := newWorld(t, 2)
	nodes := w.cluster(3)
	w.cutOff(2)
	var lost []*node
	for i := range 2 {
		lost = append(lost, w.boot(3+i, w.cfg))
		w.do(lost[i], JoinAddress{addr(2)})
	}
	w.within(10*time.Second, "2 lets both in", func() bool {
		return lost[0].status(lost[1].id) != 0 && lost[1].status(lost[0].id) != 0
	})
	w.crash(nodes[2])
	w.do(nodes[0], Down{addr(2)})
	w.heal()
	w.within(time.Minute, "both end", func() bool { return lost[0].stop != nil && lost[1].stop != nil })
}

// Who hears from a member that knows it stays, whatever strangers say.
func TestKnownNodeStays(t *testing.T) {
	w := newWorld(t, 3)
	nodes := w.cluster(2)
	n, peer := nodes[1], nodes[0]
	without := GossipEnvelope{Cluster: "test", To: n.id, Gossip: pack(stateOf(member.Member{
		ID: peer.id, Status: member.Up, UpNumber: 1, DataCenter: "default",
	}))}
	for range 60 {
		w.do(n, Received{From: peer.id, Msg: without})
		w.run(time.Second)
	}
	if n.stop != nil {
		t.Errorf("stopped as %v: %s", n.stop.Reason, n.stop.Text)
	}
}

// A state without its addressee is never answered, or two nodes that each have
// removed the other would send theirs to and fro without end.
func TestDisownedDoNotArgue(t *testing.T) {
	w := newWorld(t, 4)
	nodes := w.cluster(3)
	victim, peer := nodes[0], nodes[1]
	w.do(victim, Down{addr(2)})
	w.crash(nodes[2])
	w.within(time.Minute, "2 is removed", func() bool { return victim.status(nodes[2].id) == 0 && victim.State().tombstoned(nodes[2].id) })
	for _, stranger := range []member.ID{nodes[2].id, {Address: addr(9), UID: 9}} {
		theirs := stateOf(member.Member{ID: stranger, Status: member.Up, UpNumber: 1, DataCenter: "default"})
		theirs.Tombstones = []Tombstone{{Node: victim.id, Removed: 1}}
		out := victim.Step(w.now, Received{From: stranger, Msg: GossipEnvelope{Cluster: "test", To: victim.id, Gossip: pack(theirs)}})
		for _, p := range out.Send {
			if p.To == stranger {
				t.Errorf("%v was answered by %T", stranger, p.Msg)
			}
		}
		if out.Stop != nil {
			t.Errorf("the word of %v, which is no member, stopped it: %s", stranger, out.Stop.Text)
		}
	}
	if peer.stop != nil {
		t.Error("the other member stopped")
	}
}

// A node that slept through its welcome and was removed meanwhile is told.
func TestRemovedBeforeItWasWelcome(t *testing.T) {
	w := newWorld(t, 5)
	nodes := w.cluster(2)
	late := w.boot(3, w.cfg)
	w.cut = func(_, to member.ID) bool { return to == late.id }
	w.do(late, JoinAddress{addr(0)})
	w.within(10*time.Second, "it is let in", func() bool { return nodes[0].status(late.id) != 0 })
	w.do(nodes[0], Down{addr(3)})
	w.within(time.Minute, "it is removed", func() bool { return nodes[0].State().tombstoned(late.id) && w.agreedWithout(late) })
	w.heal()
	nodes[0].gone, nodes[1].gone = nil, nil // as if the transport did not cut links
	w.within(20*time.Second, "it ends", func() bool { return late.stop != nil })
	if late.stop.Reason != Removed {
		t.Errorf("stopped as %v: %s", late.stop.Reason, late.stop.Text)
	}
}

// agreedWithout tells whether nobody but n itself has it for a member.
func (w *world) agreedWithout(n *node) bool {
	for _, other := range w.living() {
		if other != n && other.status(n.id) != 0 {
			return false
		}
	}
	return true
}

func TestExpelled(t *testing.T) {
	w := newWorld(t, 6)
	nodes := w.cluster(3)
	w.do(nodes[1], Expelled{By: member.ID{Address: addr(9), UID: 9}})
	w.run(time.Second)
	if nodes[1].stop != nil {
		t.Errorf("a stranger had it stop: %s", nodes[1].stop.Text)
	}
	w.do(nodes[1], Expelled{By: nodes[0].id})
	joiner := w.start(4, 5)
	w.do(joiner, Expelled{By: member.ID{Address: addr(5)}})
	w.within(20*time.Second, "both end", func() bool { return nodes[1].stop != nil && joiner.stop != nil })
	if got := [...]StopReason{nodes[1].stop.Reason, joiner.stop.Reason}; got != [...]StopReason{Downed, Removed} {
		t.Errorf("the member and the joiner stopped as %v, want downed and removed", got)
	}
}
