package region

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/internal/member/membertest"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

var (
	a, b, c = membertest.Node("a"), membertest.Node("b"), membertest.Node("c")
	nobody  member.ID
)

// at makes a tenure of shard 1.
func at(term, n uint64) protocol.Tenure {
	return protocol.Tenure{Shard: "1", Epoch: protocol.Epoch{Term: term, N: n}}
}

func epoch(term, n uint64) protocol.Epoch { return protocol.Epoch{Term: term, N: n} }

// A rig is the region of node b and what came out of it last.
type rig struct {
	t    *testing.T
	core *Core
	now  time.Time
	out  Output
	seq  map[uint64]uint64
}

// newRig gives a region of a cluster of three in which a is the oldest.
func newRig(t *testing.T) *rig {
	r := arriving(t)
	r.step(NoPort{From: c})
	r.from(a, protocol.HighestTerm{})
	return r
}

// arriving: it knows the members and asks who has reigned.
func arriving(t *testing.T) *rig {
	r := &rig{t: t, core: New(b, Settings{Agree: "x"}), now: time.Unix(0, 0), seq: map[uint64]uint64{}}
	r.view("a Up", "b Up", "c Up")
	return r
}

// registered: with a, in term 3.
func registered(t *testing.T) *rig {
	r := newRig(t)
	r.claim(a, 3)
	r.from(a, protocol.Registered{Header: r.head(3)})
	return r
}

func (r *rig) head(term uint64) protocol.Header {
	r.seq[term]++
	return protocol.Header{Term: term, Seq: r.seq[term]}
}

func (r *rig) step(in Input) { r.out = r.core.Step(r.now, in) }

func (r *rig) from(id member.ID, m protocol.Message) { r.step(Received{From: id, Msg: m}) }

func (r *rig) claim(id member.ID, term uint64) { r.from(id, protocol.Claim{Header: r.head(term)}) }

func (r *rig) wait(d time.Duration) {
	r.now = r.now.Add(d)
	r.step(Tick{})
}

// view steps a membership as [membertest.View] reads it.
func (r *rig) view(members ...string) { r.step(ViewChanged{View: membertest.View(r.t, b, members...)}) }

func (r *rig) host(t protocol.Tenure, previous member.ID) {
	r.from(a, protocol.HostShards{Header: r.head(r.core.Term()), Shards: []protocol.Assignment{{Tenure: t, Previous: previous}}})
}

func (r *rig) home(t protocol.Tenure, node member.ID) {
	r.from(a, protocol.ShardHomes{Header: r.head(r.core.Term()), Homes: []protocol.Home{{Tenure: t, Node: node}}})
}

func (r *rig) begin(t protocol.Tenure, host member.ID, next protocol.Epoch) {
	r.from(a, protocol.BeginHandOff{Header: r.head(r.core.Term()), Moves: []protocol.Move{{Tenure: t, Host: host, Next: next}}})
}

func (r *rig) handOff(t protocol.Tenure, next protocol.Epoch, from ...member.ID) {
	r.from(a, protocol.HandOff{Header: r.head(r.core.Term()), From: from, Moves: []protocol.Leaving{{Tenure: t, Next: next}}})
}

// does fails unless exactly these actions came out.
func (r *rig) does(want ...Action) {
	r.t.Helper()
	if !reflect.DeepEqual(r.out.Do, want) {
		r.t.Errorf("does %+v, want %+v", r.out.Do, want)
	}
}

// says fails unless exactly this went to that node, and it may have gone among
// messages to others.
func (r *rig) says(to member.ID, want ...protocol.Message) {
	r.t.Helper()
	var got []protocol.Message
	for _, p := range r.out.Send {
		if p.To == to {
			got = append(got, p.Msg)
		}
	}
	if !reflect.DeepEqual(got, want) {
		r.t.Errorf("says to %s %+v, want %+v", to, got, want)
	}
}

func TestRegionObeysTheHighestTerm(t *testing.T) {
	r := newRig(t)
	r.claim(a, 3)
	r.says(a, protocol.Report{Term: 3, Coordinator: a, Agree: "x"})
	r.says(b, protocol.Refused{Highest: 3, Coordinator: a}) // its own coordinator

	r.claim(c, 3) // the same term of another
	r.says(c, protocol.Refused{Highest: 3, Coordinator: a})
	r.claim(c, 2)
	r.says(c, protocol.Refused{Highest: 3, Coordinator: a})
	r.from(c, protocol.HostShards{Header: protocol.Header{Term: 2, Seq: 9}, Shards: []protocol.Assignment{{Tenure: at(2, 1)}}})
	r.says(c, protocol.Refused{Highest: 3, Coordinator: a})
	r.does()

	r.claim(c, 4)
	r.says(c, protocol.Report{Term: 4, Coordinator: c, Agree: "x"})
	r.host(at(3, 1), nobody) // a's, of term 4 by its header, but a is not the one
	r.says(a, protocol.Refused{Highest: 4, Coordinator: c})
	r.does()
}

func TestRegionDropsWhatWasOvertaken(t *testing.T) {
	r := registered(t)
	late := r.head(3)
	r.host(at(3, 1), nobody)
	r.from(a, protocol.StopShards{Header: late, Shards: []protocol.Tenure{at(3, 1)}})
	r.does()
	if got := r.core.Hosted(); len(got) != 1 {
		t.Errorf("hosted %v, want shard 1", got)
	}
}

func TestRegionReportsUntilRegistered(t *testing.T) {
	r := newRig(t)
	var gaps []time.Duration
	for last := r.now; len(gaps) < 5; {
		if r.out.Wake.IsZero() {
			t.Fatal("it does not want to be woken")
		}
		r.wait(r.out.Wake.Sub(r.now))
		if len(r.out.Send) > 0 {
			gaps, last = append(gaps, r.now.Sub(last)), r.now
		}
	}
	want := []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 2 * time.Second}
	if !slices.Equal(gaps, want) {
		t.Errorf("reports after %v, want %v", gaps, want)
	}
	r.claim(a, 1)
	r.from(a, protocol.Registered{Header: r.head(1)})
	if !r.core.Registered() || !r.out.Wake.IsZero() {
		t.Errorf("registered %v, wakes at %v", r.core.Registered(), r.out.Wake)
	}
	r.view("a Leaving", "b Up", "c Up")
	if r.core.Registered() {
		t.Error("registered with a coordinator on its way out")
	}
	r.says(b, protocol.Report{Term: 1, Coordinator: a, Agree: "x"}) // b is the oldest now
}

func TestRegionAsksOnceAndThenWithEachRetry(t *testing.T) {
	r := registered(t)
	r.step(Wanted{Shard: "1"})
	r.says(a, protocol.GetShardHomes{Shards: []string{"1"}})
	asked := 0
	for range 16 {
		r.wait(250 * time.Millisecond)
		asked += len(r.out.Send)
	}
	if asked != 2 {
		t.Errorf("asked %d times in 4 s, want 2", asked)
	}
	r.home(at(3, 1), c)
	r.does(Route{Shard: "1", Home: c, Epoch: epoch(3, 1)})
	r.step(Emptied{Shard: "1", Epoch: epoch(3, 1)})
	if !r.out.Wake.IsZero() {
		t.Error("nothing waits, and it wants to be woken")
	}
	r.step(Wanted{Shard: "1"}) // was on its way when the home came
	r.does(Route{Shard: "1", Home: c, Epoch: epoch(3, 1)})
}

func TestRegionForgetsHomesOnTheDead(t *testing.T) {
	for _, then := range [][]string{{"a Up", "b Up", "c Down"}, {"a Up", "b Up"}} {
		r := registered(t)
		r.home(at(3, 1), c)
		r.view(then...)
		r.does(Buffer{Shard: "1"})
		r.home(at(3, 1), c) // the coordinator has not heard yet
		r.does()
	}
}

func TestRegionHandsOver(t *testing.T) {
	r := registered(t)
	r.host(at(3, 1), nobody)
	r.does(Host{Shard: "1", Epoch: epoch(3, 1)})
	r.says(a, protocol.ShardsStarted{Shards: []protocol.Tenure{at(3, 1)}})

	r.begin(at(3, 1), b, epoch(3, 2))
	r.does(Buffer{Shard: "1", MarkTo: b, Epoch: epoch(3, 2)})
	r.says(a, protocol.BeginHandOffAck{Acks: []protocol.Ack{{Shard: "1", Next: epoch(3, 2), Marked: true}}})

	r.step(Marked{From: c, Shard: "1", Epoch: epoch(3, 2)}) // before HandOff
	r.handOff(at(3, 1), epoch(3, 2), b, c)
	r.does()
	r.step(Marked{From: b, Shard: "1", Epoch: epoch(3, 2)})
	r.does(Drain{Shard: "1", Epoch: epoch(3, 1), Deadline: r.now.Add(time.Minute)})

	r.step(Drained{Shard: "1", Epoch: epoch(3, 1)})
	r.says(a, protocol.ShardsStopped{Shards: []protocol.Tenure{at(3, 1)}})
	r.home(at(3, 2), c)
	r.does(Route{Shard: "1", Home: c, Epoch: epoch(3, 2), Mark: true})
}

func TestRegionCountsOnlyMarkersOfThisAttempt(t *testing.T) {
	r := registered(t)
	r.host(at(3, 1), nobody)
	r.begin(at(3, 1), b, epoch(3, 2))
	r.home(at(3, 1), b) // given up: it stays
	r.does(Route{Shard: "1", Home: b, Epoch: epoch(3, 1)})
	r.begin(at(3, 1), b, epoch(3, 3))
	r.handOff(at(3, 1), epoch(3, 3), b, c)
	r.step(Marked{From: b, Shard: "1", Epoch: epoch(3, 3)})
	r.step(Marked{From: c, Shard: "1", Epoch: epoch(3, 2)}) // late, of the first
	r.does()
	r.step(Marked{From: c, Shard: "1", Epoch: epoch(3, 3)})
	r.does(Drain{Shard: "1", Epoch: epoch(3, 1), Deadline: r.now.Add(time.Minute)})
}

func TestRegionWaitsForMarkersOfTheLivingAndNotForEver(t *testing.T) {
	marking := func() *rig {
		r := registered(t)
		r.host(at(3, 1), nobody)
		r.begin(at(3, 1), b, epoch(3, 2))
		r.handOff(at(3, 1), epoch(3, 2), c)
		return r
	}
	r := marking()
	r.view("a Up", "b Up", "c Down")
	r.does(Drain{Shard: "1", Epoch: epoch(3, 1), Deadline: r.now.Add(time.Minute)})

	r = marking()
	if got := r.core.Why("1"); len(got) != 1 || !on(got[0], c) {
		t.Errorf("waits for %v, want markers of c", got)
	}
	r.wait(5 * time.Second)
	r.does(Drain{Shard: "1", Epoch: epoch(3, 1), Deadline: r.now.Add(time.Minute)})
	if want := []Event{MarkersMissing{Shard: "1", From: []member.ID{c}}}; !reflect.DeepEqual(r.out.Events, want) {
		t.Errorf("tells %+v, want %+v", r.out.Events, want)
	}
}

func TestRegionKeepsWhatANewTermFindsStillRunning(t *testing.T) {
	r := registered(t)
	r.host(at(3, 1), nobody)
	r.begin(at(3, 1), b, epoch(3, 2))
	r.handOff(at(3, 1), epoch(3, 2), c)
	r.claim(c, 4)
	r.says(c, protocol.Report{Term: 4, Coordinator: c, Agree: "x", Hosted: []protocol.Hosted{{Tenure: at(3, 1)}}})
	r.step(Marked{From: c, Shard: "1", Epoch: epoch(3, 2)})
	r.does() // the hand-over is void
}

func TestRegionHoldsOthersUntilThePreviousHostIsDone(t *testing.T) {
	r := registered(t)
	r.host(at(3, 2), c)
	r.does(Host{Shard: "1", Epoch: epoch(3, 2), Await: c})
	r.step(CarryDone{From: a, Shard: "1", Epoch: epoch(3, 2)})
	r.step(CarryDone{From: c, Shard: "1", Epoch: epoch(3, 1)})
	r.does()
	r.step(CarryDone{From: c, Shard: "1", Epoch: epoch(3, 2)})
	r.does(Open{Shard: "1", Epoch: epoch(3, 2)})

	r = registered(t)
	r.host(at(3, 2), c)
	r.view("a Up", "b Up")
	r.does(Open{Shard: "1", Epoch: epoch(3, 2)})

	r = registered(t)
	r.host(at(3, 2), c)
	r.view("a Up", "b Up", "c Removed exited") // what it carried over may come later than this news
	r.does()
	r.step(CarryDone{From: c, Shard: "1", Epoch: epoch(3, 2)})
	r.does(Open{Shard: "1", Epoch: epoch(3, 2)})

	r = registered(t)
	r.host(at(3, 2), c)
	r.wait(10 * time.Second)
	r.does(Open{Shard: "1", Epoch: epoch(3, 2)})
}

func TestRegionThatLeavesTakesNothing(t *testing.T) {
	r := registered(t)
	r.step(Leave{})
	if !r.out.Left {
		t.Error("it has nothing, and has not left")
	}
	r.host(at(3, 1), nobody)
	r.does()
	r.says(a, protocol.GracefulShutdown{}, protocol.ShardsStopped{Shards: []protocol.Tenure{at(3, 1)}})
}

func TestRegionThatLeavesGivesAllAway(t *testing.T) {
	r := registered(t)
	r.host(at(3, 1), nobody)
	r.step(Leave{})
	r.wait(250 * time.Millisecond)
	if r.out.Left {
		t.Error("it left with a shard")
	}
	r.begin(at(3, 1), b, epoch(3, 2))
	r.handOff(at(3, 1), epoch(3, 2))
	r.step(Drained{Shard: "1", Epoch: epoch(3, 1)})
	if r.out.Left {
		t.Error("it left with carry")
	}
	r.home(at(3, 2), c)
	if r.out.Left {
		t.Error("it left before the carry had")
	}
	r.step(Emptied{Shard: "1", Epoch: epoch(3, 2)})
	if !r.out.Left {
		t.Error("it is clear, and has not left")
	}
}

func TestLastRegionEndsItsShardsItself(t *testing.T) {
	r := registered(t)
	r.host(at(3, 1), nobody)
	r.view("a Leaving", "b Leaving", "c Exiting")
	r.does(Buffer{Shard: "1"}, Drain{Shard: "1", Epoch: epoch(3, 1), Deadline: r.now.Add(time.Minute)})
	r.step(Drained{Shard: "1", Epoch: epoch(3, 1)})
	if !r.out.Left {
		t.Error("nobody could take anything, and it has not left")
	}
}

// An unreachable member may come back in time to take what is here; when it is
// downed, or the time is over, the shards end here.
func TestRegionThatLeavesWaitsForTheUnreachable(t *testing.T) {
	for _, tt := range []struct {
		name string
		then func(*rig)
		want string
	}{
		{"it stays away", func(r *rig) { r.wait(9 * time.Second) }, "waits"},
		{"it comes back", func(r *rig) { r.wait(9 * time.Second); r.view("a Up", "b Leaving"); r.wait(time.Minute) }, "waits"},
		{"it is downed", func(r *rig) { r.view("a Down", "b Leaving") }, "ends"},
		{"the time is over", func(r *rig) { r.wait(10 * time.Second) }, "ends"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := registered(t)
			r.host(at(3, 1), nobody)
			r.view("a Up unreachable", "b Leaving")
			r.step(Leave{Until: r.now.Add(10 * time.Second)})
			tt.then(r)
			got := "waits"
			for _, a := range r.out.Do {
				if _, ok := a.(Drain); ok {
					got = "ends"
				}
			}
			if got != tt.want || r.out.Left {
				t.Errorf("%s, left %v; want that it %s", got, r.out.Left, tt.want)
			}
		})
	}
}

func TestRegionOfADownedNodeKillsAtOnce(t *testing.T) {
	for _, then := range [][]string{{"a Up", "b Down"}, {"a Up"}} {
		r := registered(t)
		r.host(at(3, 1), nobody)
		r.view(then...)
		r.does(Kill{Shard: "1"})
		r.host(at(3, 2), nobody)
		r.does()
	}
}

func TestRegionStopsACopy(t *testing.T) {
	r := registered(t)
	r.host(at(3, 1), nobody)
	r.home(at(4, 1), c)
	r.from(a, protocol.StopShards{Header: r.head(3), Shards: []protocol.Tenure{at(3, 1)}})
	r.does(Kill{Shard: "1"})
	r.step(Drained{Shard: "1", Epoch: epoch(3, 1)})
	r.does(Route{Shard: "1", Home: c, Epoch: epoch(4, 1), Mark: true})
	r.from(a, protocol.StopShards{Header: r.head(3), Shards: []protocol.Tenure{at(3, 1)}})
	r.says(a, protocol.ShardsStopped{Shards: []protocol.Tenure{at(3, 1)}})
}

func TestStaleRoutesAreForgotten(t *testing.T) {
	r := registered(t)
	r.home(at(3, 1), c)
	r.from(c, protocol.StaleRoute{Shard: "1", Epoch: epoch(2, 9)}) // of an older one
	r.does()
	r.from(c, protocol.StaleRoute{Shard: "1", Epoch: epoch(3, 1)})
	r.does(Buffer{Shard: "1"})

	r = registered(t)
	stray := StaleRoute{From: c, Shard: "1", Epoch: epoch(3, 5)}
	r.step(stray)
	r.says(c, protocol.StaleRoute{Shard: "1", Epoch: epoch(3, 5)})
	r.says(a, protocol.ShardsStopped{Shards: []protocol.Tenure{at(3, 5)}}) // whoever says so is wrong
	r.step(stray)
	r.says(c) // not for each message
	r.host(at(3, 5), nobody)
	r.does() // what was denied stays denied
}

func BenchmarkStepWanted(b *testing.B) {
	core := New(a, Settings{})
	now := time.Unix(0, 0)
	b.ReportAllocs()
	for b.Loop() {
		core.Step(now, Wanted{Shard: "1"})
	}
}

// on tells whether a wait is for that node alone.
func on(w member.Wait, id member.ID) bool { return len(w.On) == 1 && w.On[0].Node == id }
