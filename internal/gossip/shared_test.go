package gossip

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// Whoever shares lists computes the same as who does not.
func TestSharingChangesNothing(t *testing.T) {
	h := hostile{Rand: rand.New(rand.NewPCG(2, 2))}
	_, h.nodes = trio(t)
	self := h.nodes[0].id
	apart := func(s *State) *State { // nothing in common with what others hold
		c, err := pack(s).unpack()
		if err != nil {
			return nil
		}
		return c
	}
	lists := 0
	for range 2000 {
		local, plain := apart(h.state()), apart(h.state())
		if local == nil || plain == nil {
			continue
		}
		sharing := apart(plain).sharing(local)
		if shared(sharing.Members, local.Members) && shared(sharing.Table.rows, local.Table.rows) {
			lists++
		}
		equal(t, "a state", pack(sharing), pack(plain))
		equal(t, "a packed state", packAfter(sharing, local, pack(local)), pack(plain))
		equal(t, "contradiction", local.contradicts(sharing), local.contradicts(plain))
		equal(t, "content", local.sameContent(sharing), local.sameContent(plain))
		equal(t, "a merge", pack(Reconcile(local, sharing, self, 1)), pack(Reconcile(local, plain, self, 1)))

		of := func(s *State) Perspective { return Perspective{State: s, Self: self, DataCenter: "default"} }
		before, after := Summarize(of(local)), Summarize(of(plain))
		next := before.next(of(sharing))
		equal(t, "a view", fmt.Sprintf("%+v", next.View()), fmt.Sprintf("%+v", after.View()))
		equal(t, "events", fmt.Sprintf("%+v", next.Diff(before)), fmt.Sprintf("%+v", after.Diff(before)))
	}
	if lists < 20 {
		t.Errorf("only %d states shared lists: the test is worth little", lists)
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s is another one with shared lists:\n%+v\n%+v", what, got, want)
	}
}

// thousand is a cluster in a partition: each of 1,000 members misses nine.
func thousand() *State {
	s := &State{ID: 1}
	var members []member.Member
	for i := range 1000 {
		id := member.ID{Address: addr(i), UID: int64(i + 1)}
		members = append(members, member.Member{ID: id, Status: member.Up, UpNumber: i + 1, DataCenter: "default"})
		s.Version = append(s.Version, Count{id, uint64(i + 1)})
	}
	for i, m := range members {
		for j := range 9 {
			s.Table = s.Table.Set(m.ID, members[(i+1+37*j)%len(members)].ID, Unreachable)
		}
	}
	s.Members = members
	return s
}

// What one message costs when the state of 1,000 members travels and only who has seen it
// is news, as most of the time in a partition.
func BenchmarkStepGossipOf1000(b *testing.B) {
	s := thousand()
	self, peer := s.Members[0].ID, s.Members[500].ID
	m := New(Config{Self: self, Cluster: "test", DataCenter: "default", Rand: rand.New(rand.NewPCG(1, 1))})
	now := time.Unix(0, 0)
	m.now = now
	m.enter(s.changedBy(self, self))
	m.tell()
	theirs := m.state
	var packs []Packed
	for i := 600; i < 1000; i++ {
		theirs = theirs.seenAlso(s.Members[i].ID)
		packs = append(packs, pack(theirs))
	}
	first, told := m.state, m.told
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%len(packs) == 0 {
			m.state, m.told = first, told
		}
		m.Step(now, Received{From: peer, Msg: GossipEnvelope{Cluster: "test", To: self, Gossip: packs[i%len(packs)]}})
	}
}
