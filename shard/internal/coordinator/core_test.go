package coordinator

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
	a, b, c = node("a"), node("b"), node("c")
	nobody  member.ID
)

func at(shard string, term, n uint64) protocol.Tenure {
	return protocol.Tenure{Shard: shard, Epoch: epoch(term, n)}
}

func epoch(term, n uint64) protocol.Epoch { return protocol.Epoch{Term: term, N: n} }

// A rig is the core of node a and what came out of it last.
type rig struct {
	t    *testing.T
	core *Core
	now  time.Time
	out  Output
}

// newRig gives a coordinator, in its first term, of a, b and c: nobody has
// answered yet.
func newRig(t *testing.T, set Settings) *rig {
	set.Agree = "x"
	r := &rig{t: t, core: New(a, set), now: time.Unix(0, 0)}
	r.view("a Up", "b Up", "c Up")
	return r
}

// surveyed: everybody has answered and hosts nothing.
func surveyed(t *testing.T, set Settings) *rig {
	r := newRig(t, set)
	for _, id := range []member.ID{a, b, c} {
		r.report(id)
	}
	return r
}

// seconds is a margin for clusters of all sizes.
func seconds(n int) func(int) time.Duration {
	return func(int) time.Duration { return time.Duration(n) * time.Second }
}

func (r *rig) step(in Input) { r.out = r.core.Step(r.now, in) }

func (r *rig) from(id member.ID, m protocol.Message) { r.step(Received{From: id, Msg: m}) }

func (r *rig) report(id member.ID, hosted ...protocol.Tenure) {
	m := protocol.Report{Term: r.core.Term(), Coordinator: a, Agree: "x"}
	for _, t := range hosted {
		m.Hosted = append(m.Hosted, protocol.Hosted{Tenure: t})
	}
	r.from(id, m)
}

func (r *rig) wait(d time.Duration) {
	r.now = r.now.Add(d)
	r.step(Tick{})
}

// view steps a membership as [membertest.View] reads it.
func (r *rig) view(members ...string) { r.step(ViewChanged{View: membertest.View(r.t, a, members...)}) }

// place has shards hosted, one after the other, and confirmed.
func (r *rig) place(shards ...string) {
	for _, shard := range shards {
		r.from(b, protocol.GetShardHomes{Shards: []string{shard}})
		s := r.core.reign.shards[shard]
		h, ok := r.core.home(s)
		if !ok {
			r.t.Fatalf("%s was not placed: %v", shard, r.core.Why(shard))
		}
		r.from(h.Node, protocol.ShardsStarted{Shards: []protocol.Tenure{h.Tenure}})
	}
}

func (r *rig) home(shard string) member.ID {
	id, _ := r.core.reign.state.Home(shard)
	return id
}

// says fails unless exactly this went to that node, whatever its header.
func (r *rig) says(to member.ID, want ...protocol.Message) {
	r.t.Helper()
	var got []protocol.Message
	for _, p := range r.out.Send {
		if p.To == to {
			got = append(got, headless(p.Msg))
		}
	}
	if !reflect.DeepEqual(got, want) {
		r.t.Errorf("says to %s %+v, want %+v", to.Host, got, want)
	}
}

func headless(m protocol.Message) protocol.Message {
	v := reflect.New(reflect.TypeOf(m)).Elem()
	v.Set(reflect.ValueOf(m))
	if h := v.FieldByName("Header"); h.IsValid() {
		h.SetZero()
	}
	return v.Interface().(protocol.Message)
}

func (r *rig) tells(want ...Event) {
	r.t.Helper()
	if !reflect.DeepEqual(r.out.Events, want) {
		r.t.Errorf("tells %+v, want %+v", r.out.Events, want)
	}
}

// Shards that need not be asked for get homes when everybody has answered, and again
// when nobody has them.
func TestShardsThatAlwaysHaveAHome(t *testing.T) {
	r := newRig(t, Settings{Always: []string{"3", "7"}})
	homes := func(want int) {
		t.Helper()
		got := 0
		for _, name := range []string{"3", "7"} {
			if _, ok := r.core.home(r.core.reign.shard(name)); ok {
				got++
			}
		}
		if got != want {
			t.Errorf("%d of the two shards have a home, want %d", got, want)
		}
	}
	r.report(a)
	r.report(b)
	homes(0)
	r.report(c, at("7", 0, 1)) // which a coordinator before had given it
	homes(2)
	if h, _ := r.core.home(r.core.reign.shard("7")); h.Node != c {
		t.Errorf("7 is at %v, want where it is hosted", h.Node)
	}
	h, _ := r.core.home(r.core.reign.shard("3"))
	r.from(h.Node, protocol.ShardsStopped{Shards: []protocol.Tenure{h.Tenure}}) // refused
	homes(2)
	r.view("a Up", "b Up")
	homes(2)
	if _, ok := r.core.reign.shards["5"]; ok {
		t.Error("another shard is known that nobody has asked for")
	}
}

func TestUnclaimedShardWaitsForAllWhoCanHost(t *testing.T) {
	for _, tt := range []struct {
		name string
		then func(*rig)
		want member.ID // where the shard is in the end
	}{
		{"all answer", func(r *rig) { r.report(c) }, a},
		{"the last has not joined the type", func(r *rig) { r.step(NoPort{From: c}) }, a},
		{"the last is unreachable", func(r *rig) { r.view("a Up", "b Up", "c Up unreachable") }, nobody},
		{"the last is down", func(r *rig) { r.view("a Up", "b Up", "c Down") }, nobody},
		{"its margin runs", func(r *rig) {
			r.view("a Up", "b Up", "c Down")
			r.view("a Up", "b Up", "c Removed downed")
			r.wait(4 * time.Second)
		}, nobody},
		{"its margin is over", func(r *rig) {
			r.view("a Up", "b Up", "c Down")
			r.view("a Up", "b Up", "c Removed downed")
			r.wait(5 * time.Second)
		}, a},
		{"it has left", func(r *rig) { r.view("a Up", "b Up", "c Exiting"); r.view("a Up", "b Up", "c Removed exited") }, a},
		{"it has left, while nobody looked", func(r *rig) { r.view("a Up", "b Up", "c Removed exited") }, a},
		{"it exited, as far as others could tell", func(r *rig) { r.view("a Up", "b Up", "c Exiting"); r.view("a Up", "b Up") }, nobody},
		{"it names the shard", func(r *rig) { r.report(c, at("1", 1, 5)) }, c},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Settings{Margin: seconds(5)})
			r.report(a)
			r.report(b)
			r.from(b, protocol.GetShardHomes{Shards: []string{"1"}})
			if got := r.home("1"); got != nobody {
				t.Fatalf("given to %s before c has answered", got)
			}
			tt.then(r)
			if got := r.home("1"); got != tt.want {
				t.Errorf("given to %q, want %q; %s", got.Host, tt.want.Host, r.core.Describe())
			}
		})
	}
}

// The margin counts from the removal, also for the coordinator that it makes.
func TestSuccessorRemembersWhoWasRemoved(t *testing.T) {
	r := &rig{t: t, core: New(a, Settings{Agree: "x", Margin: seconds(5)}), now: time.Unix(0, 0)}
	r.view("b Up", "a Up")
	r.view("b Down", "a Up")
	r.view("a Up", "b Removed downed")
	r.report(a)
	r.from(a, protocol.GetShardHomes{Shards: []string{"1"}})
	if got := r.core.Why("1"); len(got) != 1 || !on(got[0], b) {
		t.Errorf("waits for %v, want b", got)
	}
	r.wait(5 * time.Second)
	if got := r.home("1"); got != a {
		t.Errorf("given to %q after the margin, want a", got.Host)
	}
}

func TestShardStaysWhereItIsFound(t *testing.T) {
	r := newRig(t, Settings{})
	r.from(a, protocol.Report{Term: 1, Coordinator: a, Agree: "x"})
	r.from(a, protocol.GetShardHomes{Shards: []string{"1"}})
	r.report(b, at("1", 0, 5))
	r.says(a, protocol.ShardHomes{Homes: []protocol.Home{{Tenure: at("1", 0, 5), Node: b}}}) // c is not waited for
}

func TestHigherEpochWins(t *testing.T) {
	low, high := at("1", 0, 4), at("1", 0, 5)
	for _, first := range []member.ID{b, c} {
		r := newRig(t, Settings{})
		tenures := map[member.ID]protocol.Tenure{b: low, c: high}
		second := map[member.ID]member.ID{b: c, c: b}[first]
		r.report(first, tenures[first])
		r.report(second, tenures[second])
		stop := protocol.StopShards{Shards: []protocol.Tenure{low}}
		if first == b {
			r.says(b, stop)
		} else {
			r.says(b, stop, protocol.Registered{})
		}
		if got := r.home("1"); got != c {
			t.Errorf("home is %s, want c", got.Host)
		}
		r.wait(2 * time.Second)
		if got := r.out.Send; !slices.ContainsFunc(got, func(p Packet) bool { _, ok := p.Msg.(protocol.StopShards); return ok && p.To == b }) {
			t.Errorf("the stop is not repeated: %+v", got)
		}
		r.from(b, protocol.ShardsStopped{Shards: []protocol.Tenure{low}})
		r.wait(2 * time.Second)
		r.says(b)
	}
}

func TestOnlyTheFirstReportOfATermCounts(t *testing.T) {
	r := newRig(t, Settings{})
	r.report(a)
	r.report(c)
	r.report(b, at("1", 0, 5))
	r.from(b, protocol.GracefulShutdown{})
	for _, id := range []member.ID{a, b, c} {
		r.from(id, protocol.BeginHandOffAck{Acks: []protocol.Ack{{Shard: "1", Next: epoch(1, 1), Marked: true}}})
	}
	r.says(b, protocol.HandOff{From: []member.ID{a, b, c}, Moves: []protocol.Leaving{{Tenure: at("1", 0, 5), Next: epoch(1, 1)}}})
	r.from(b, protocol.ShardsStopped{Shards: []protocol.Tenure{at("1", 0, 5)}})
	if got := r.home("1"); got != a {
		t.Fatalf("moved to %s, want a", got.Host)
	}
	r.report(b, at("1", 0, 5)) // a late copy
	if got := r.home("1"); got != a {
		t.Errorf("a late report has moved it to %s", got.Host)
	}
}

func TestHomeIsToldOnlyWhenHosted(t *testing.T) {
	r := surveyed(t, Settings{ShardStartTimeout: 3 * time.Second})
	r.from(c, protocol.GetShardHomes{Shards: []string{"1"}})
	host := protocol.HostShards{Shards: []protocol.Assignment{{Tenure: at("1", 1, 1)}}}
	r.says(a, host)
	r.says(c)
	r.wait(3 * time.Second)
	r.says(a, host)
	r.from(b, protocol.GetShardHomes{Shards: []string{"1"}})
	r.says(b)
	r.from(a, protocol.ShardsStarted{Shards: []protocol.Tenure{at("1", 1, 1)}})
	homes := protocol.ShardHomes{Homes: []protocol.Home{{Tenure: at("1", 1, 1), Node: a}}}
	r.says(b, homes)
	r.says(c, homes)
	r.from(a, protocol.GetShardHomes{Shards: []string{"1"}})
	r.says(a, homes)
}

func TestRefusedShardGoesElsewhereAtOnce(t *testing.T) {
	r := surveyed(t, Settings{})
	r.from(c, protocol.GetShardHomes{Shards: []string{"1"}})
	r.from(a, protocol.GracefulShutdown{})
	r.from(a, protocol.ShardsStopped{Shards: []protocol.Tenure{at("1", 1, 1)}})
	r.says(b, protocol.HostShards{Shards: []protocol.Assignment{{Tenure: at("1", 1, 2)}}})
}

func TestSilentRegionKeepsARebalanceButNotALeave(t *testing.T) {
	for _, must := range []bool{false, true} {
		r := surveyed(t, Settings{})
		r.place("1")
		s := r.core.reign.shards["1"]
		r.core.begin(r.now, s)
		r.core.reign.parties[a].leaving = must
		h := protocol.Home{Tenure: at("1", 1, 1), Node: a}
		for _, id := range []member.ID{a, b} {
			r.from(id, protocol.BeginHandOffAck{Acks: []protocol.Ack{{Shard: "1", Next: epoch(1, 2), Marked: true}}})
		}
		r.wait(2 * time.Second)
		r.says(c, protocol.BeginHandOff{Moves: []protocol.Move{{Tenure: h.Tenure, Host: a, Next: epoch(1, 2)}}})
		if got := r.core.Why("1"); len(got) != 1 || !on(got[0], c) {
			t.Errorf("waits for %v, want c", got)
		}
		r.wait(3 * time.Second)
		if must {
			r.tells(GoneAhead{Home: h, Silent: []member.ID{c}})
			r.says(a, protocol.HandOff{From: []member.ID{a, b}, Moves: []protocol.Leaving{{Tenure: h.Tenure, Next: epoch(1, 2)}}})
			continue
		}
		r.tells(Kept{Home: h, Silent: []member.ID{c}})
		r.says(b, protocol.ShardHomes{Homes: []protocol.Home{h}})
		r.from(c, protocol.BeginHandOffAck{Acks: []protocol.Ack{{Shard: "1", Next: epoch(1, 2)}}})
		r.says(a) // too late
	}
}

// A node that has left is a member for a while yet.
func TestLeaversThatHaveEndedAreNotWaitedFor(t *testing.T) {
	r := surveyed(t, Settings{})
	r.place("1", "2")
	r.view("a Up", "b Up", "c Exiting")
	begin := func(shard string) {
		r.core.begin(r.now, r.core.reign.shards[shard])
		for _, id := range []member.ID{a, b} {
			r.from(id, protocol.BeginHandOffAck{Acks: []protocol.Ack{{Shard: shard, Next: r.core.reign.shards[shard].move.next}}})
		}
	}
	begin("1")
	r.says(a) // waits for c
	r.step(NoPort{From: c})
	r.says(a, protocol.HandOff{Moves: []protocol.Leaving{{Tenure: at("1", 1, 1), Next: epoch(1, 3)}}})
	begin("2")
	r.says(b, protocol.HandOff{Moves: []protocol.Leaving{{Tenure: at("2", 1, 2), Next: epoch(1, 4)}}})

	next := newRig(t, Settings{}) // who comes to reign later
	next.view("b Up", "a Up", "c Exiting")
	next.step(NoPort{From: c})
	next.view("b Leaving", "a Up", "c Exiting")
	next.report(a)
	next.report(b)
	next.tells(Surveyed{Term: next.core.Term()})
}

func TestDeadRegionsAreNotWaitedFor(t *testing.T) {
	r := surveyed(t, Settings{})
	r.place("1")
	r.core.begin(r.now, r.core.reign.shards["1"])
	for _, id := range []member.ID{a, b} {
		r.from(id, protocol.BeginHandOffAck{Acks: []protocol.Ack{{Shard: "1", Next: epoch(1, 2)}}})
	}
	r.view("a Up", "b Up", "c Down")
	r.says(a, protocol.HandOff{Moves: []protocol.Leaving{{Tenure: at("1", 1, 1), Next: epoch(1, 2)}}})
}

func TestShardsOfADownedHostRestForTheMargin(t *testing.T) {
	r := surveyed(t, Settings{Margin: seconds(5)})
	r.place("1", "2", "3")
	if r.home("3") != c {
		t.Fatalf("shard 3 is on %s", r.home("3").Host)
	}
	r.view("a Up", "b Up", "c Down")
	r.view("a Up", "b Up", "c Removed downed")
	r.from(b, protocol.GetShardHomes{Shards: []string{"3"}})
	r.wait(4 * time.Second)
	r.says(b)
	r.wait(time.Second) // placed by itself
	if got := r.home("3"); got != a && got != b {
		t.Errorf("after the margin the shard is on %q", got.Host)
	}
}

func TestRegionOfOtherSettingsGetsNothing(t *testing.T) {
	r := newRig(t, Settings{})
	r.report(b)
	r.report(c)
	r.from(a, protocol.Report{Term: 1, Coordinator: a, Agree: "y"})
	r.says(a, protocol.Mismatch{Agree: "x"})
	r.from(b, protocol.GetShardHomes{Shards: []string{"1"}})
	if got := r.home("1"); got != b {
		t.Errorf("given to %q, want b", got.Host)
	}
}

func TestDescribeNamesWhatWaitsForWhom(t *testing.T) {
	r := newRig(t, Settings{})
	r.report(a)
	r.report(b, at("2", 0, 5))
	r.from(a, protocol.GetShardHomes{Shards: []string{"1"}})
	want := `term 1, 1 shards, still asking
region a:1#1: 
region b:1#1: 2
shard 1 waits for home: a new coordinator gives out what nobody hosts when all that may host it have said what they host; c:1#1 has not answered
`
	if got := r.core.Describe(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func BenchmarkGetShardHomes(b *testing.B) {
	r := surveyed(&testing.T{}, Settings{})
	r.place("1")
	b.ReportAllocs()
	for b.Loop() {
		r.from(c, protocol.GetShardHomes{Shards: []string{"1"}})
	}
}

// A new coordinator must not send anybody to a shard that is being stopped.
func TestDrainingShardIsNobodysHome(t *testing.T) {
	r := newRig(t, Settings{})
	r.report(a)
	r.report(c)
	r.from(c, protocol.GetShardHomes{Shards: []string{"1"}})
	r.from(b, protocol.Report{
		Term: 1, Coordinator: a, Agree: "x",
		Hosted: []protocol.Hosted{{Tenure: at("1", 0, 5), Draining: true}},
	})
	move := protocol.BeginHandOff{Moves: []protocol.Move{{Tenure: at("1", 0, 5), Host: b, Next: epoch(1, 1)}}}
	r.says(c, move)
	r.says(b, move, protocol.Registered{})
	r.from(c, protocol.GetShardHomes{Shards: []string{"1"}})
	r.says(c)
}

// on tells whether a wait is for that node alone.
func on(w member.Wait, id member.ID) bool { return len(w.On) == 1 && w.On[0].Node == id }
