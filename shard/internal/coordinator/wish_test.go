package coordinator

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// handOver confirms all that the move of a shard waits for.
func (r *rig) handOver(shard string) {
	r.t.Helper()
	s := r.core.reign.shards[shard]
	if s.move == nil {
		r.t.Fatalf("shard %s does not move", shard)
	}
	h, _ := r.core.home(s)
	next := s.move.next
	for _, id := range slices.Clone(s.move.Waiting()) {
		r.from(id, protocol.BeginHandOffAck{Acks: []protocol.Ack{{Shard: shard, Next: next}}})
	}
	r.from(h.Node, protocol.ShardsStopped{Shards: []protocol.Tenure{h.Tenure}})
	h, _ = r.core.home(s)
	r.from(h.Node, protocol.ShardsStarted{Shards: []protocol.Tenure{h.Tenure}})
}

func TestWishIsRefusedWithTheReason(t *testing.T) {
	for _, tt := range []struct {
		name string
		when func(*rig)
		in   Input
		want error
	}{
		{"no such shard", nil, Wish{Shard: "no", To: b.Address, Now: true}, ErrNoShard},
		{"no member there", nil, Wish{Shard: "1", To: node("z").Address, Now: true}, ErrUnfit},
		{"unreachable", func(r *rig) { r.view("a Up", "b Up unreachable", "c Up") }, Wish{Shard: "1", To: b.Address, Now: true}, ErrUnfit},
		{"leaving", func(r *rig) { r.from(b, protocol.GracefulShutdown{}) }, Wish{Shard: "1", To: b.Address, Now: true}, ErrUnfit},
		{"not the coordinator", func(r *rig) { r.view("a Leaving", "b Up", "c Up") }, Wish{Shard: "1", To: b.Address, Now: true}, ErrNotCoordinator},
		{"without hurry", func(r *rig) { r.view("a Up", "b Up unreachable", "c Up") }, Wish{Shard: "1", To: b.Address}, nil},
		{"release of what has no home", nil, Release{Shard: "2"}, ErrUnsettled},
		{"release of what moves", func(r *rig) { r.step(Release{Shard: "1"}) }, Release{Shard: "1"}, ErrUnsettled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := surveyed(t, Settings{Exists: func(s string) bool { return s != "no" }})
			r.place("1")
			if tt.when != nil {
				tt.when(r)
			}
			if r.step(tt.in); !errors.Is(r.out.Refused, tt.want) {
				t.Errorf("refused: %v, want %v", r.out.Refused, tt.want)
			}
		})
	}
}

// What nobody has sent anything to waits for nothing, though an operator asked
// about it: else the node would be degraded for good, and say that none can host.
func TestWishForAShardOfNobodyLeavesNothingWaiting(t *testing.T) {
	for name, in := range map[string]Input{
		"move":    Wish{Shard: "2", To: b.Address, Now: true},
		"release": Release{Shard: "2"},
	} {
		t.Run(name, func(t *testing.T) {
			r := surveyed(t, Settings{})
			r.step(in)
			if waits := r.core.Waits(); len(waits) > 0 {
				t.Errorf("waits: %v, want none", waits)
			}
		})
	}
}

// A shard that is moved by hand stays where it was put, whatever the strategy.
func TestWishMovesAShardAndKeepsItThere(t *testing.T) {
	for _, s := range []placement.Strategy{placement.LeastShards{}, placement.ConsistentHashing{}, placement.External{}} {
		t.Run(s.Name(), func(t *testing.T) {
			r := surveyed(t, Settings{Strategy: s, RebalanceEvery: time.Second})
			r.place("1", "2", "3")
			for _, shard := range []string{"1", "2", "3"} {
				r.step(Wish{Shard: shard, To: c.Address, Now: true})
				if r.out.Refused != nil {
					t.Fatal(r.out.Refused)
				}
				if r.home(shard) != c {
					r.handOver(shard)
				}
			}
			r.wait(time.Second)
			for _, shard := range []string{"1", "2", "3"} {
				if moves := r.core.reign.shards[shard].move != nil; r.home(shard) != c || moves {
					t.Errorf("shard %s is at %s, moves: %t; want it to stay at c", shard, r.home(shard), moves)
				}
			}
		})
	}
}

func TestReleaseEndsAWishAndGivesTheShardToAnother(t *testing.T) {
	r := surveyed(t, Settings{})
	r.place("1")
	r.step(Wish{Shard: "1", To: b.Address, Now: true})
	if r.home("1") != b {
		r.handOver("1")
	}
	r.step(Release{Shard: "1"})
	r.handOver("1")
	if r.out.Refused != nil || r.home("1") == b || len(r.core.reign.homes) > 0 {
		t.Errorf("the shard is at %s, wishes %v (%v)", r.home("1"), r.core.reign.homes, r.out.Refused)
	}
}

// Each region is told of a wish until it confirms that it keeps it; and a new
// coordinator learns from any of them, and tells the others.
func TestWishOutlivesTheCoordinator(t *testing.T) {
	r := surveyed(t, Settings{})
	r.step(Wish{Shard: "1", To: b.Address})
	w := protocol.Wish{Shard: "1", To: b.Address, At: epoch(1, 1)}
	for _, id := range []member.ID{a, b, c} {
		r.says(id, protocol.Wishes{Wishes: []protocol.Wish{w}})
	}
	kept := protocol.WishesKept{Kept: []protocol.Tenure{at("1", 1, 1)}}
	r.from(a, kept)
	r.from(b, kept)
	r.wait(2 * time.Second)
	r.says(b)
	r.says(c, protocol.Wishes{Wishes: []protocol.Wish{w}})
	r.from(c, kept)
	if r.core.reign.unkept() {
		t.Error("it goes on telling what all have confirmed")
	}

	r = newRig(t, Settings{})
	r.report(a)
	r.from(b, protocol.Report{Term: 1, Coordinator: a, Agree: "x", Wishes: []protocol.Wish{w}})
	r.wait(250 * time.Millisecond)
	r.says(a, protocol.Wishes{Wishes: []protocol.Wish{w}})
	newer := protocol.Wish{Shard: "1", To: c.Address, At: epoch(1, 2)}
	r.from(c, protocol.Report{Term: 1, Coordinator: a, Agree: "x", Wishes: []protocol.Wish{newer}})
	r.wait(2 * time.Second)
	r.says(b, protocol.Wishes{Wishes: []protocol.Wish{newer}})
	r.place("1")
	if r.home("1") != c {
		t.Errorf("the shard is at %s, want c, by the newer wish", r.home("1"))
	}
}

// While the node that is wished for is away the shard is anywhere, and goes there when
// it is back.
func TestWishWaitsForItsNode(t *testing.T) {
	r := surveyed(t, Settings{RebalanceEvery: time.Second})
	r.step(Wish{Shard: "1", To: node("d").Address})
	r.place("1")
	if r.home("1").IsZero() {
		t.Fatal("the shard has no home")
	}
	r.view("a Up", "b Up", "c Up", "d Up")
	r.report(node("d"))
	r.wait(time.Second)
	r.handOver("1")
	if r.home("1") != node("d") {
		t.Errorf("the shard is at %s, want d", r.home("1"))
	}
}
