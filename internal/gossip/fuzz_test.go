package gossip

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/troupe-go/troupe/internal/member"
)

// trio is a settled cluster of three in which one machine is to be attacked.
func trio(t testing.TB) (*world, []*node) {
	w := newWorld(t, 1)
	return w, w.cluster(3)
}

// samples has one of every kind of message.
func samples(n *node) []Message {
	gossip := pack(n.State())
	return []Message{
		InitJoin{Cluster: "test", Settings: []Setting{{"sbr", "keep-majority"}}, Choice: addr(3)},
		InitJoinAck{
			Cluster: "test", Check: Compatible, Settings: []Setting{{"sbr", "keep-majority"}}, ID: gossip.ID, Invitation: true, Stage: Begun,
		},
		InitJoinNack{Cluster: "test", Choice: addr(3)},
		Join{Cluster: "test", Node: n.id, Roles: []string{"dad", "edge"}, DataCenter: "default", AppVersion: "1.2", ID: gossip.ID},
		Welcome{Cluster: "test", To: n.id, Gossip: gossip},
		GossipStatus{Version: n.State().Version, Seen: digest(n.State().Seen), ID: gossip.ID},
		GossipEnvelope{Cluster: "test", To: n.id, Gossip: gossip},
		ExitingConfirmed{},
		Heartbeat{Seq: 3},
		HeartbeatRsp{Seq: 1},
		CrashVote{Suspect: n.id, Withdrawn: true},
	}
}

func TestEveryMessageTravels(t *testing.T) {
	_, nodes := trio(t)
	messages := samples(nodes[0])
	kinds := map[string]bool{}
	for i, zero := range Messages() {
		kind := fmt.Sprintf("%T", zero)
		if kinds[kind] || kind != fmt.Sprintf("%T", messages[i]) {
			t.Errorf("%s is listed twice or has no sample", kind)
		}
		kinds[kind] = true
		same(t, kind, roundtrip(t, messages[i]), messages[i])
	}
	if len(messages) != len(kinds) {
		t.Errorf("%d samples of %d kinds", len(messages), len(kinds))
	}
}

func TestStateSurvivesPacking(t *testing.T) {
	w, nodes := trio(t)
	w.crash(nodes[2])
	w.within(20*time.Second, "one is unreachable", func() bool { return len(nodes[0].View().Unreachable) == 1 })
	s := nodes[0].State().Remove(nodes[1].id, 77).Update(member.Member{
		ID: member.ID{Address: addr(7), UID: 7}, Status: member.Joining, UpNumber: member.NeverUp,
		Roles: []string{"a", "b"}, DataCenter: "west", AppVersion: "2",
	})
	back, err := pack(s).unpack()
	if err != nil {
		t.Fatal(err)
	}
	same(t, "state", text(*back), text(*s))
}

// FuzzStep sends a member whatever decodes, and then well-formed nonsense drawn
// from the seed. It must not panic, and must not let a member go back in life.
func FuzzStep(f *testing.F) {
	_, nodes := trio(f)
	for i, msg := range samples(nodes[0]) {
		data, err := cbor.Marshal(msg)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint64(i), uint8(i), data)
	}
	f.Fuzz(attack)
}

func attack(t *testing.T, seed uint64, kind uint8, data []byte) {
	w, nodes := trio(t)
	victim, peer := nodes[0], nodes[1]
	like := Messages()[int(kind)%len(Messages())]
	if msg, err := decode(data, like); err == nil {
		victim.Step(w.now, Received{From: peer.id, Msg: msg})
	}
	h := hostile{rand.New(rand.NewPCG(seed, 2)), nodes}
	for range 100 {
		w.now = w.now.Add(time.Duration(h.IntN(1000)) * time.Millisecond)
		victim.Step(w.now, h.input())
	}
}

func TestMEM11MalformedPacketCrashesTheProcess(t *testing.T) {
	w, nodes := trio(t)
	victim, peer := nodes[0], nodes[1]
	for kind, msg := range samples(peer) {
		data, err := cbor.Marshal(msg)
		if err != nil {
			t.Fatal(err)
		}
		try := func(data []byte) {
			if msg, err := decode(data, Messages()[kind]); err == nil {
				victim.Step(w.now, Received{From: peer.id, Msg: msg})
			}
		}
		for i := range data {
			try(data[:i])
			for _, b := range []byte{0x00, 0x1b, 0x7f, 0xff, data[i] ^ 1} {
				mutant := slices.Clone(data)
				mutant[i] = b
				try(mutant)
			}
		}
	}
	for seed := range uint64(30) {
		attack(t, seed, 0, nil)
	}
}

func TestMalformedGossipIsCounted(t *testing.T) {
	w, nodes := trio(t)
	victim, peer := nodes[0], nodes[1]
	before := victim.State()
	for _, tt := range []struct {
		name string
		harm func(*Packed)
	}{
		{"no such node", func(p *Packed) { p.Members[0].Node = 1 << 31 }},
		{"no such string", func(p *Packed) { p.Members[0].DataCenter = 99 }},
		{"no such status", func(p *Packed) { p.Members[0].Status = 99 }},
		{"a removed member", func(p *Packed) { p.Members[0].Status = member.Removed }},
		{"members out of order", func(p *Packed) { p.Members[0], p.Members[1] = p.Members[1], p.Members[0] }},
		{"too many have seen it", func(p *Packed) { p.Seen = []byte{0xff} }},
		{"a count of nothing", func(p *Packed) { p.Version[0].N = 0 }},
		{"a count that overflows", func(p *Packed) { p.Version[0].N = 1 << 63 }},
		{"a node without incarnation", func(p *Packed) { p.Nodes[0].UID = 0 }},
		{"an observer of itself", func(p *Packed) { p.Rows = []PackedRow{{0, 1, []PackedRecord{{0, Unreachable, 1}}}} }},
		{"a record from the future", func(p *Packed) { p.Rows = []PackedRow{{0, 1, []PackedRecord{{1, Unreachable, 2}}}} }},
		{"a tombstone of nobody", func(p *Packed) { p.Tombstones = []PackedTombstone{{Node: 9}} }},
		{"an unknown end", func(p *Packed) { p.Tombstones = []PackedTombstone{{Node: 0, End: 4}} }},
	} {
		msg := GossipEnvelope{Cluster: "test", To: victim.id, Gossip: pack(peer.State())}
		tt.harm(&msg.Gossip)
		want := victim.Ignored(Malformed) + 1
		victim.Step(w.now, Received{From: peer.id, Msg: msg})
		if got := victim.Ignored(Malformed); got != want || victim.State() != before {
			t.Errorf("%s: counted %d, want %d; state changed: %v", tt.name, got, want, victim.State() != before)
		}
	}
}

// hostile makes inputs that look right from a distance.
type hostile struct {
	*rand.Rand
	nodes []*node
}

func (h hostile) id() member.ID {
	id := h.nodes[h.IntN(len(h.nodes))].id
	switch h.IntN(4) {
	case 0:
		id.UID = int64(h.IntN(4))
	case 1:
		id.Address = addr(h.IntN(6))
	}
	return id
}

func (h hostile) input() Input {
	from := h.nodes[1+h.IntN(2)].id
	to := h.nodes[0].id
	switch h.IntN(14) {
	case 0:
		return Leave{h.id().Address}
	case 1:
		return Down{h.id().Address}
	case 2:
		return Quarantined{h.id()}
	case 3:
		return ExitDone{}
	case 4:
		id := h.id()
		return Received{From: id, Msg: Join{Cluster: "test", Node: id, DataCenter: "default"}}
	case 5:
		return Received{From: from, Msg: GossipStatus{Version: h.state().Version, Seen: h.Uint64(), ID: h.nodes[0].State().ID + member.ClusterID(h.IntN(20)/19)}}
	case 6:
		return Received{From: h.id(), Msg: ExitingConfirmed{}}
	case 7:
		return Received{From: from, Msg: HeartbeatRsp{h.Uint64N(9)}}
	case 8:
		return Received{From: h.id(), Msg: Welcome{Cluster: "test", To: to, Gossip: h.packed()}}
	case 9:
		return Tick{}
	case 10:
		return Received{From: from} // a nil message
	default:
		return Received{From: from, Msg: GossipEnvelope{Cluster: "test", To: to, Gossip: h.packed()}}
	}
}

// state is consistent in itself, and a lie.
func (h hostile) state() *State {
	s := h.nodes[h.IntN(len(h.nodes))].State()
	for range h.IntN(6) {
		id := h.id()
		status := []member.Status{
			member.Joining, member.WeaklyUp, member.Up, member.Leaving, member.Exiting, member.Down,
			member.PreparingForShutdown, member.ReadyForShutdown,
		}[h.IntN(8)]
		switch h.IntN(5) {
		case 0:
			s = s.Remove(id, h.Int64())
		case 1:
			if other := h.id(); s.Has(id) && s.Has(other) && id != other {
				s = s.withTable(s.Table.Set(id, other, Reachability(h.IntN(3))))
			}
		case 2:
			s = s.copy()
			s.Tombstones = bury(s.Tombstones, Tombstone{id, h.Int64(), member.End(h.IntN(4))})
		default:
			s = s.Update(member.Member{ID: id, Status: status, UpNumber: h.IntN(5), DataCenter: "default"})
		}
		if s.Has(id) && h.IntN(2) == 0 {
			s = s.changedBy(id, id)
		}
	}
	return s
}

// packed may also be broken.
func (h hostile) packed() Packed {
	p := pack(h.state())
	if h.IntN(4) > 0 {
		return p
	}
	n := uint32(h.IntN(8))
	switch h.IntN(6) {
	case 0:
		p.Nodes = p.Nodes[:len(p.Nodes)/2]
	case 1:
		p.Seen = append(p.Seen, 0xff)
	case 2:
		p.Members = append(p.Members, PackedMember{Node: n, Status: member.Status(n)})
	case 3:
		p.Rows = append(p.Rows, PackedRow{Observer: n, Version: h.Uint64()})
	case 4:
		p.Version = append(p.Version, PackedCount{n, h.Uint64()})
	case 5:
		p.Strings = nil
	}
	return p
}

func BenchmarkStepHeartbeat(b *testing.B) {
	w, nodes := trio(b)
	b.ReportAllocs()
	in := Received{From: nodes[1].id, Msg: Heartbeat{1}}
	for b.Loop() {
		nodes[0].Step(w.now, in)
	}
}

func BenchmarkStepGossip(b *testing.B) {
	w := newWorld(b, 1)
	nodes := w.cluster(100)
	w.within(time.Minute, "settled", func() bool { return len(nodes[1].State().Seen) == 100 })
	b.ReportAllocs()
	in := Received{From: nodes[1].id, Msg: GossipEnvelope{Cluster: "test", To: nodes[0].id, Gossip: pack(nodes[1].State())}}
	for b.Loop() {
		nodes[0].Step(w.now, in)
	}
}

// BenchmarkCluster is a settled cluster of 100 for a virtual second.
func BenchmarkCluster(b *testing.B) {
	w := newWorld(b, 1)
	w.cluster(100)
	w.steps = 0
	b.ReportAllocs()
	for b.Loop() {
		w.run(time.Second)
	}
	b.ReportMetric(float64(w.steps)/b.Elapsed().Seconds(), "steps/s")
}
