package gossip

import (
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// incarnation is the one of a host that was started at a millisecond.
func incarnation(host, start int) member.ID {
	return member.ID{Address: addr(host), UID: member.NewUID(time.UnixMilli(int64(start)), uint64(9-start)<<60)}
}

func (w *world) join(n *node, from member.ID) Output {
	return n.Step(w.now, Received{From: from, Msg: Join{Cluster: "test", Node: from, DataCenter: "default"}})
}

func TestMEM02StaleJoinDoesNotDisplaceSuccessor(t *testing.T) {
	w := newWorld(t, 1)
	n := w.cluster(1)[0]
	first, second := incarnation(5, 1), incarnation(5, 2)
	w.join(n, second)
	out := w.join(n, first)
	if n.status(second) != member.Joining || n.status(first) != 0 || len(out.Send) > 0 {
		t.Errorf("a late join came in:\n%s", n.Describe())
	}
	if n.Ignored(Outdated) != 1 || len(out.Events) != 1 || !strings.Contains(out.Events[0].(Ignored).Text, "clock") {
		t.Errorf("ignored %d, events %+v: want a hint at the clock", n.Ignored(Outdated), out.Events)
	}
	// If it was no late join but a clock that was set back, it gets in when the
	// other one was found to be dead.
	n.Step(w.now, Down{addr(5)})
	if w.join(n, first); n.status(first) != member.Joining || n.status(second) != 0 {
		t.Errorf("the dead did not make way:\n%s", n.Describe())
	}
}

func TestMEM02MergeKeepsTheLaterIncarnation(t *testing.T) {
	base := stateOf(mem("a", member.Up), mem("b", member.Up))
	first, second := mem("n005", member.Up), mem("n005", member.Joining)
	first.ID, second.ID = incarnation(5, 1), incarnation(5, 2)
	local := base.Update(first).changedBy(named("a")).changedBy(first.ID)
	remote := base.Update(second).changedBy(named("b"))
	for _, got := range []*State{Reconcile(local, remote, named("a"), 7), Reconcile(remote, local, named("b"), 7)} {
		if got.Has(first.ID) || !got.tombstoned(first.ID) || !got.Has(second.ID) {
			t.Errorf("want only the later incarnation, and a tombstone for the other: %+v", got)
		}
		if _, counted := got.Version.find(first.ID); counted {
			t.Errorf("the clock %v counts what is removed", got.Version)
		}
	}
}

// A node that finds a later incarnation in its place ends.
func TestMEM02TwoProcessesAtOneAddress(t *testing.T) {
	w := newWorld(t, 2)
	nodes := w.cluster(3)
	first := nodes[2]
	w.partition(first)
	w.join(nodes[0], incarnation(2, int(first.id.UID%1000)+1000))
	w.heal()
	w.within(time.Minute, "the earlier one ends", func() bool { return first.stop != nil })
	if first.stop.Reason != Removed && first.stop.Reason != Downed {
		t.Errorf("stopped as %v: %s", first.stop.Reason, first.stop.Text)
	}
}

func TestTwoAtOneAddressAreMalformed(t *testing.T) {
	first, second := mem("n005", member.Up), mem("n005", member.Up)
	first.ID, second.ID = incarnation(5, 1), incarnation(5, 2)
	s := (&State{ID: 1}).Update(first, second)
	if _, err := pack(s).unpack(); err == nil || !strings.Contains(err.Error(), "one address") {
		t.Errorf("error %v, want one about two members at one address", err)
	}
}

// A merge that has removed a node may have a clock that looks older than that
// of a state in which the node still counts. The two come together all the same.
func TestRemovalByMergeSpreads(t *testing.T) {
	w := newWorld(t, 3)
	n := w.cluster(2)[0]
	peer := w.nodes[1]
	gone := member.Member{ID: incarnation(5, 1), Status: member.Down, UpNumber: 3, DataCenter: "default"}
	n.state = n.state.Update(gone).changedBy(gone.ID, n.id)
	without := peer.State().Remove(gone.ID, 1)
	if order := without.Version.Compare(n.state.Version); order != Before {
		t.Fatalf("the removal is %v, want it to look older", order)
	}
	n.Step(w.now, Received{From: peer.id, Msg: GossipEnvelope{Cluster: "test", To: n.id, Gossip: pack(without)}})
	if n.State().Has(gone.ID) || !n.State().tombstoned(gone.ID) {
		t.Errorf("still there:\n%s", n.Describe())
	}
	if got := n.State().Version.Compare(without.Version); got != Same {
		t.Errorf("the outcome is %v the removal, want the same: %v", got, n.State().Version)
	}
}

// The node that let a member in is removed, and with it the count of that
// change; who has heard of neither still counts what the member's predecessor
// did. When that one is removed there as well, the state looks newer. It does not
// make the member vanish, least of all for an earlier incarnation.
func TestMEM02MemberWhoseHostWasRemovedStays(t *testing.T) {
	predecessor, first, second := incarnation(5, 0), incarnation(5, 1), incarnation(5, 2)
	at := func(id member.ID, s member.Status) member.Member {
		return member.Member{ID: id, Status: s, UpNumber: member.NeverUp, DataCenter: "default"}
	}
	for _, tt := range []struct {
		name string
		then func(*State) *State // at the peer, when the predecessor is removed
	}{
		{"the peer knows nobody there", func(s *State) *State { return s }},
		{"the peer has let in an earlier one", func(s *State) *State { return s.Update(at(first, member.Joining)) }},
		{"the peer has downed an earlier one", func(s *State) *State { return s.Update(at(first, member.Down)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 3)
			w.cluster(3)
			n, peer, host := w.nodes[0], w.nodes[1], w.nodes[2]
			take := func(s *State) {
				n.Step(w.now, Received{From: peer.id, Msg: GossipEnvelope{Cluster: "test", To: n.id, Gossip: pack(s)}})
			}
			common := n.state.Update(at(predecessor, member.WeaklyUp)).changedBy(predecessor)
			n.state = common.Remove(predecessor, 1).Update(at(second, member.Joining)).changedBy(host.id, n.id)
			theirs := common.Remove(host.id, 2).changedBy(peer.id)
			take(theirs)
			theirs = tt.then(theirs.Remove(predecessor, 3)).changedBy(peer.id)
			if order := theirs.Version.Compare(n.State().Version); order != After {
				t.Fatalf("the peer's clock %v is %v this node's %v, want After", theirs.Version, order, n.State().Version)
			}
			take(theirs)
			if n.status(second) != member.Joining || n.status(first) != 0 {
				t.Errorf("the member is gone:\n%s", n.Describe())
			}
			if order := n.State().Version.Compare(theirs.Version); order != After {
				t.Errorf("the outcome is %v the peer's state, want After: the peer has to hear of it", order)
			}
		})
	}
}
