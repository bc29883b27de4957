package gossip

import (
	"math/rand/v2"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
)

func mem(name string, status member.Status) member.Member {
	return member.Member{ID: named(name), Status: status, UpNumber: 1, DataCenter: "default"}
}

// stateOf has members, each of which has made one change.
func stateOf(members ...member.Member) *State {
	s := (&State{}).Update(members...)
	for _, m := range members {
		s = s.changedBy(m.ID)
	}
	return s
}

func TestReconcile(t *testing.T) {
	a, b, c, d := named("a"), named("b"), named("c"), named("d")
	base := stateOf(mem("a", member.Up), mem("b", member.Up), mem("c", member.Up), mem("d", member.Joining))

	t.Run("what a removed member did is a new version", func(t *testing.T) {
		local := base.Update(mem("d", member.Up)).changedBy(b) // b, as the leader, moves d up
		remote := base.Remove(b, 1).changedBy(a)               // a removes b and has not heard of it
		got := Reconcile(local, remote, c, 2)
		if m, _ := got.Member(d); m.Status != member.Up {
			t.Errorf("d is %v, want Up", m.Status)
		}
		if order := got.Version.Compare(remote.Version); order != After {
			t.Errorf("the version with more in it is %v relative to the other, want %v", order, After)
		}
		if back := Reconcile(remote, local, a, 3); Reconcile(back, got, a, 4).Version.Compare(Reconcile(got, back, c, 5).Version) != Same {
			t.Error("two nodes that reconcile the same states do not come together")
		}
	})
	t.Run("plain merges agree without a new version", func(t *testing.T) {
		local, remote := base.Update(mem("d", member.Up)).changedBy(a), base.Update(mem("c", member.Leaving)).changedBy(c)
		x, y := Reconcile(local, remote, a, 1), Reconcile(remote, local, c, 1)
		if x.Version.Compare(y.Version) != Same || !x.sameContent(y) {
			t.Errorf("%+v\n%+v", x, y)
		}
	})
	t.Run("who goes stays until it is removed", func(t *testing.T) {
		e := named("e")
		for _, status := range []member.Status{member.Exiting, member.Down} {
			local := base.Update(mem("e", status)).changedBy(a)
			remote := base.changedBy(c) // has never heard of e
			third := base.Update(mem("e", member.Joining)).changedBy(d)
			got := Reconcile(Reconcile(local, remote, a, 1), third, a, 1)
			if m, _ := got.Member(e); m.Status != status {
				t.Errorf("e is %v after a merge with who does not know it, want %v", m.Status, status)
			}
			if got = Reconcile(got, got.Remove(e, 2).changedBy(b), a, 1); got.Has(e) || !got.tombstoned(e) {
				t.Errorf("e is back although it was removed: %+v", got)
			}
		}
	})
	t.Run("down is final", func(t *testing.T) {
		local := base.Update(mem("c", member.Down)).changedBy(a)
		remote := base.Update(mem("c", member.ReadyForShutdown)).changedBy(b)
		if m, _ := Reconcile(local, remote, a, 1).Member(c); m.Status != member.Down {
			t.Errorf("c is %v, want Down", m.Status)
		}
	})
}

// Whatever two sides did, both orders of reconciling give the same members.
func TestReconcileIsCommutative(t *testing.T) {
	h := hostile{Rand: rand.New(rand.NewPCG(1, 1))}
	_, h.nodes = trio(t)
	for i := range 500 {
		l, r := h.state(), h.state()
		x, y := Reconcile(l, r, h.nodes[0].id, 1), Reconcile(r, l, h.nodes[0].id, 1)
		x.Tombstones, y.Tombstones = nil, nil
		if !x.sameContent(y) {
			t.Fatalf("round %d:\n%+v\nwith\n%+v\ngive\n%+v\nor\n%+v", i, l, r, x, y)
		}
	}
}

func TestFirstMemberNeedsAllEyes(t *testing.T) {
	s := stateOf(mem("a", member.Joining), mem("b", member.Joining), mem("c", member.Down))
	p := Perspective{State: s.withSeen(ids{named("a")}), Self: named("a"), DataCenter: "default"}
	same(t, "blocking", p.Blocking(nil), []member.ID{named("b")})
	same(t, "blocking when confirmed", p.Blocking([]member.ID{named("b")}), []member.ID(nil))
}

// What a leaver said of others before it went does not hold up its removal.
func TestLostLeaverAccusesNobody(t *testing.T) {
	a, b, c := named("a"), named("b"), named("c")
	s := stateOf(mem("a", member.Up), mem("b", member.Up), mem("c", member.Exiting)).withSeen(ids{a, b})
	for _, tt := range []struct {
		name  string
		table Table
		want  []member.ID
	}{
		{"a leaver that is here", Table{}.Set(c, b, Unreachable), []member.ID{b}},
		{"a leaver that is lost", Table{}.Set(c, b, Unreachable).Set(a, c, Unreachable), nil},
		{"others say so too", Table{}.Set(c, b, Unreachable).Set(a, c, Unreachable).Set(a, b, Unreachable), []member.ID{b}},
	} {
		p := Perspective{State: s.withTable(tt.table), Self: a, DataCenter: "default"}
		same(t, tt.name, p.Blocking(nil), tt.want)
	}
}

func TestMailForPredecessorIsDropped(t *testing.T) {
	w, nodes := trio(t)
	n, peer := nodes[0], nodes[1]
	old := n.id
	old.UID++
	newer := peer.State().Update(mem("z", member.Joining)).changedBy(peer.id)
	newer.Members[len(newer.Members)-1].UID = 1
	n.Step(w.now, Received{From: peer.id, Msg: GossipEnvelope{Cluster: "test", To: old, Gossip: pack(newer)}})
	if n.Ignored(OtherSelf) != 1 || len(n.State().Members) != 3 {
		t.Errorf("ignored %d, members %v", n.Ignored(OtherSelf), n.State().Members)
	}
	n.Step(w.now, Received{From: peer.id, Msg: GossipEnvelope{Cluster: "test", To: n.id, Gossip: pack(newer)}})
	if len(n.State().Members) != 4 {
		t.Errorf("mail for this incarnation was not taken: %v", n.State().Members)
	}
}
