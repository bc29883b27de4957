package coordinator

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/placement"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

func (r *rig) moving() (n int) {
	for _, s := range r.core.reign.shards {
		if s.move != nil {
			n++
		}
	}
	return n
}

// What is spread over the nodes that are there in the middle of a roll-out has to
// move again with the next that goes.
func TestRebalanceWaitsUntilNodesHaveStoppedComingAndGoing(t *testing.T) {
	r := surveyed(t, Settings{RebalanceEvery: 10 * time.Second, RollOut: time.Minute})
	var shards []string
	for i := range 30 {
		shards = append(shards, fmt.Sprint(i))
	}
	r.view("a Up", "b Up")
	r.place(shards...)
	r.wait(9 * time.Second)
	r.view("a Up", "b Up", "c Up")
	r.report(c)
	r.wait(5 * time.Second) // 14 s: the usual time is over
	if n := r.moving(); n > 0 {
		t.Fatalf("%d shards move 5 s after a node has come", n)
	}
	r.from(b, protocol.GracefulShutdown{})
	r.wait(5 * time.Second)
	began := r.moving()
	r.wait(30 * time.Second)
	if n := r.moving(); n != began || began != 15 {
		t.Fatalf("%d shards move while a node is leaving, %d after half a minute; want the 15 that it has", began, n)
	}
}

// A drained node gets nothing and gives all; and takes part again afterwards.
func TestDrainedNodeTakesShardsAgainWhenItStays(t *testing.T) {
	r := surveyed(t, Settings{RebalanceEvery: time.Second})
	r.place("1", "2", "3")
	r.from(b, protocol.GracefulShutdown{})
	r.handOver(r.core.reign.state.Shards(b)[0])
	r.place("4", "5", "6")
	if got := r.core.reign.state.Shards(b); len(got) > 0 {
		t.Fatalf("the drained node has %v", got)
	}
	r.from(b, protocol.Staying{})
	r.says(b, protocol.Registered{})
	r.place("7")
	if r.home("7") != b {
		t.Errorf("7 is at %s, want b, which has the fewest", r.home("7"))
	}
}

func TestMixedVersionsHoldBackForABoundedTimeOnly(t *testing.T) {
	r := surveyed(t, Settings{RebalanceEvery: time.Second, RollOut: time.Minute})
	r.view("a Up", "b Up")
	r.place("1", "2", "3", "4", "5", "6")
	mixed := *r.core.view
	mixed.Members = slices.Clone(mixed.Members)
	mixed.Members[1].AppVersion = "2.0"
	mixed.Members = append(mixed.Members, member.Member{ID: c, Status: member.Up, UpNumber: 3, DataCenter: "dc"})
	r.step(ViewChanged{View: &mixed})
	r.report(c)
	for range 50 {
		r.wait(time.Second)
	}
	if n := r.moving(); n > 0 {
		t.Fatalf("%d shards move while versions are mixed", n)
	}
	for range 15 {
		r.wait(time.Second)
	}
	if n := r.moving(); n == 0 {
		t.Error("nothing moves when versions have been mixed for longer than a roll-out may take")
	}
}

// What regions measure reaches the strategy, and only from a shard's home.
func TestLoadsReachTheStrategy(t *testing.T) {
	r := surveyed(t, Settings{Strategy: placement.LeastLoad{}, RebalanceEvery: time.Second})
	r.place("1", "2", "3")
	home := r.home("1")
	other := a
	if home == a {
		other = b
	}
	r.from(home, protocol.Loads{Loads: []protocol.Load{{Shard: "1", Messages: 2_500, Bytes: 1_000_000, Seconds: 60}}})
	r.from(other, protocol.Loads{Loads: []protocol.Load{{Shard: "1", Messages: 1}}})
	want := placement.Load{Messages: 2.5, Bytes: 1000, Over: time.Minute}
	if got := r.core.placementState(nil).Loads["1"]; got != want {
		t.Errorf("load %+v, want %+v", got, want)
	}
	r.step(Release{Shard: "1"})
	r.handOver("1")
	want.Over = 0
	if got := r.core.placementState(nil).Loads["1"]; got != want {
		t.Errorf("load after a move %+v, want %+v", got, want)
	}
}

// SHD-13: one node is added to ten with 1,000 shards and no traffic.
func TestSHD13RebalanceSettlesWithTheFewestMoves(t *testing.T) {
	for _, s := range []placement.Strategy{placement.LeastShards{}, placement.LeastLoad{}} {
		t.Run(s.Name(), func(t *testing.T) {
			r := &rig{t: t, core: New(a, Settings{Agree: "x", Strategy: s, RebalanceEvery: 10 * time.Second}), now: time.Unix(0, 0)}
			var words []string
			for i := range 10 {
				words = append(words, fmt.Sprintf("%c Up", 'a'+i))
			}
			r.view(words...)
			for i := range 10 {
				r.report(node(string(rune('a' + i))))
			}
			for i := range 1000 {
				r.place(fmt.Sprint(i))
			}
			newest := node("k")
			r.view(append(words, "k Up")...)
			r.report(newest)

			moves, quiet := map[string]int{}, 0
			for round := 0; quiet < 3; round++ {
				if round > 50 {
					t.Fatalf("it still moves after %d rounds, %d moves", round, len(moves))
				}
				r.wait(10 * time.Second)
				quiet++
				for name, sh := range r.core.reign.shards { // any order: counted
					if sh.move != nil {
						moves[name]++
						r.handOver(name)
						quiet = 0
					}
				}
			}
			for name, n := range moves {
				if n > 1 {
					t.Errorf("shard %s moved %d times", name, n)
				}
			}
			if n := len(moves); n > 109 { // 1.2 times 91
				t.Errorf("%d moves, want 109 at most", n)
			}
			t.Logf("%d moves; the new node has %d", len(moves), len(r.core.reign.state.Shards(newest)))
		})
	}
}
