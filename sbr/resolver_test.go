package sbr

import (
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// at is so many seconds after the epoch.
func at(seconds float64) time.Time {
	return epoch.Add(time.Duration(seconds * float64(time.Second)))
}

func up(i int) member.Member {
	return member.Member{ID: nodeID(i), Status: member.Up, UpNumber: i + 1, DataCenter: "default"}
}

// viewOf is what node self sees of n members that are Up.
func viewOf(self, n int, unreachable ...int) *member.View {
	v := &member.View{Self: nodeID(self), DataCenter: "default", Leader: nodeID(self)}
	for i := range n {
		v.Members = append(v.Members, up(i))
		if slices.Contains(unreachable, i) {
			v.Unreachable = append(v.Unreachable, nodeID(i))
			v.Observations = append(v.Observations, member.Observation{Observer: nodeID(self), Subject: nodeID(i)})
		} else {
			v.SeenBy = append(v.SeenBy, nodeID(i))
		}
	}
	return v
}

// decided is the decision among the events of a step; nil when there is none.
func decided(out Output) *Decision {
	for _, e := range out.Events {
		if d, ok := e.(Decision); ok {
			return &d
		}
	}
	return nil
}

// untilDecided lets time pass from wake to wake until a decision, at most until
// nothing is left to wait for.
func untilDecided(r *Resolver, out Output) Output {
	for decided(out) == nil && !out.Wake.IsZero() {
		out = r.Step(out.Wake, Tick{})
	}
	return out
}

func TestResolverWakesWhenStable(t *testing.T) {
	r := NewResolver(nodeID(0), "default", Settings{})
	if out := r.Step(at(0), ViewChanged{viewOf(0, 5)}); !out.Wake.IsZero() {
		t.Errorf("all reachable: wake at %v, want never", out.Wake)
	}
	out := r.Step(at(10), ViewChanged{viewOf(0, 5, 3, 4)})
	out = r.Step(out.Wake, Tick{}) // tells of it
	if want := at(10 + 7); !out.Wake.Equal(want) || len(out.Down) > 0 {
		t.Fatalf("two unreachable: wake %v, down %v, want %v, nobody", out.Wake, out.Down, want)
	}
	// Who has seen the membership changes all the time; that is no unrest.
	seen := viewOf(0, 5, 3, 4)
	seen.SeenBy = seen.SeenBy[:1]
	if out = r.Step(at(12), ViewChanged{seen}); !out.Wake.Equal(at(17)) {
		t.Errorf("seen changed: wake %v, want %v", out.Wake, at(17))
	}
	if out = r.Step(at(16), Tick{}); len(out.Down) > 0 {
		t.Errorf("too early, down %v", out.Down)
	}
	out = r.Step(at(17), Tick{})
	if want := []member.ID{nodeID(3), nodeID(4)}; !slices.Equal(out.Down, want) || decided(out) == nil {
		t.Fatalf("stable: down %v (%v), want %v", out.Down, out.Events, want)
	}
}

// A member that counts on this side may have been cut off just now.
func TestResolverAwaitsTheSilent(t *testing.T) {
	r := NewResolver(nodeID(0), "default", Settings{})
	out := r.Step(at(0), ViewChanged{viewOf(0, 3, 2)})
	out = r.Step(out.Wake, Tick{}) // tells of it
	now := out.Wake
	for end := now.Add(awaitedFor); now.Before(end); now = out.Wake {
		if out = r.Step(now, Tick{Awaiting: true}); len(out.Down) > 0 || !out.Wake.After(now) {
			t.Fatalf("at %v: down %v, wake %v, want nobody, later", now, out.Down, out.Wake)
		}
	}
	if out = r.Step(now, Tick{Awaiting: true}); len(out.Down) != 1 {
		t.Errorf("waits for ever: %+v", out)
	}

	short := NewResolver(nodeID(0), "default", Settings{DownAllWhenUnstable: time.Second})
	out = short.Step(at(0), ViewChanged{viewOf(0, 3, 2)})
	for len(out.Down) == 0 && out.Wake.Before(at(60)) {
		out = short.Step(out.Wake, Tick{Awaiting: true})
	}
	if len(out.Down) != 1 {
		t.Errorf("a wait became a reason to down %v", out.Down)
	}
}

func TestResolverIsQuietWhenAllIsDown(t *testing.T) {
	r := NewResolver(nodeID(0), "default", Settings{})
	v := viewOf(0, 3, 2)
	v.Members[2].Status = member.Down
	r.Step(at(0), ViewChanged{viewOf(0, 3)})
	out := r.Step(at(0), ViewChanged{v})
	out = untilDecided(r, out)
	if len(out.Down) > 0 || decided(out) != nil || !out.Wake.IsZero() {
		t.Errorf("nobody left to down: %+v, want nothing, not even a wake", out)
	}
}

func TestResolverFollowsViews(t *testing.T) {
	r := NewResolver(nodeID(0), "default", Settings{StableAfter: 2 * time.Second})
	r.Step(at(0), ViewChanged{viewOf(0, 4, 2, 3)})
	// One of the two comes back, the other is removed: peace.
	back := viewOf(0, 3)
	if out := r.Step(at(1), ViewChanged{back}); !out.Wake.IsZero() {
		t.Errorf("peace: wake %v", out.Wake)
	}
	// A node of another data center does not count.
	other := viewOf(0, 4, 3)
	other.Members[3].DataCenter = "other"
	if out := r.Step(at(2), ViewChanged{other}); !out.Wake.IsZero() {
		t.Errorf("other data center unreachable: wake %v", out.Wake)
	}
	// Somebody else leads: nothing to do here.
	led := viewOf(0, 3, 2)
	led.Leader = nodeID(1)
	if out := r.Step(at(3), ViewChanged{led}); r.responsible() || out.Wake.Equal(at(5)) {
		t.Errorf("not the leader, but would decide at %v", out.Wake)
	}
}

func TestResolverDownsAllWhenUnstable(t *testing.T) {
	r := NewResolver(nodeID(1), "default", Settings{})
	views := []*member.View{viewOf(1, 3, 2), viewOf(1, 3, 0, 2)}
	for _, v := range views {
		v.Leader = nodeID(0)
	}
	limit := 7*time.Second + 7*time.Second*3/4
	var out Output
	for second := 0; len(out.Down) == 0; second++ {
		now := at(float64(second))
		if now.After(epoch.Add(limit + time.Second)) {
			t.Fatalf("nothing downed at %v", now)
		}
		r.Step(now, ViewChanged{views[second%2]})
		if out = r.Step(now, Tick{}); len(out.Down) > 0 && !now.After(epoch.Add(limit)) {
			t.Fatalf("downed all at %v, after less than %v", now, limit)
		}
	}
	want := []member.ID{nodeID(0), nodeID(2), nodeID(1)} // self last
	if !slices.Equal(out.Down, want) || decided(out).Action != DownEverybody {
		t.Errorf("down %v, want %v\n%s", out.Down, want, decided(out).Describe())
	}
}

// A leader that was paused while the wait for stability ran out does not act
// on what it knew before.
func TestFD01ResolverWaitsAnewAfterStall(t *testing.T) {
	r := NewResolver(nodeID(0), "default", Settings{})
	r.Step(at(0), ViewChanged{viewOf(0, 5, 4)})
	r.Step(at(60), Stalled{})
	if out := r.Step(at(60), Tick{}); len(out.Down) > 0 || !out.Wake.Equal(at(67)) {
		t.Errorf("just woken: down %v, wake %v, want nobody, %v", out.Down, out.Wake, at(67))
	}
	if out := r.Step(at(67), Tick{}); !slices.Equal(out.Down, []member.ID{nodeID(4)}) {
		t.Errorf("stable since: down %v, want %v", out.Down, nodeID(4))
	}
}

// What the other side said of itself before the partition is no news: the
// isolated one of three does not survive because the other two once did not
// reach each other.
func TestResolverForgetsOldNewsOfTheOtherSide(t *testing.T) {
	old := []member.Observation{
		{Observer: nodeID(0), Subject: nodeID(2)},
		{Observer: nodeID(2), Subject: nodeID(0)},
	}
	v := viewOf(1, 3, 0, 2)
	v.Observations = append(v.Observations, old...)
	r := NewResolver(nodeID(1), "default", Settings{})
	r.Step(at(0), ViewChanged{viewOf(1, 3)})
	out := r.Step(at(1), ViewChanged{v})
	if out = untilDecided(r, out); !slices.Equal(out.Down, []member.ID{nodeID(1)}) {
		t.Errorf("isolated: down %v, want self\n%s", out.Down, decided(out).Describe())
	}
	// As long as both are heard of, it is current.
	v = viewOf(1, 3, 0, 2)
	v.Observations, v.SeenBy = old, []member.ID{nodeID(0), nodeID(1), nodeID(2)}
	r = NewResolver(nodeID(1), "default", Settings{})
	r.Step(at(0), ViewChanged{viewOf(1, 3)})
	out = r.Step(at(1), ViewChanged{v})
	if out = untilDecided(r, out); !slices.Equal(out.Down, []member.ID{nodeID(0), nodeID(2)}) {
		t.Errorf("between the two: down %v, want both", out.Down)
	}
}

// A joiner that is left alone by a decision that did not know of it goes at
// once, before it comes up as a cluster of its own.
// Who was suspected by a node that is now on the other side, and has seen what
// happened since, is here.
func TestResolverAcquitsWhomOnlyTheLostSuspect(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(v *member.View)
		want   []member.ID
	}{
		{"it has seen the membership", func(*member.View) {}, []member.ID{nodeID(3), nodeID(4)}},
		{"it has not", func(v *member.View) { v.SeenBy = v.SeenBy[:2] }, []member.ID{nodeID(2), nodeID(3), nodeID(4)}},
		{"it is Down", func(v *member.View) { v.Members[2].Status = member.Down }, []member.ID{nodeID(3), nodeID(4)}},
	} {
		v := viewOf(0, 5, 3, 4)
		v.Unreachable = append([]member.ID{nodeID(2)}, v.Unreachable...)
		v.Observations = append(v.Observations, member.Observation{Observer: nodeID(3), Subject: nodeID(2)})
		tt.change(v)
		r := NewResolver(nodeID(0), "default", Settings{Strategy: KeepOldest{}})
		out := r.Step(at(0), ViewChanged{v})
		if out = untilDecided(r, out); !slices.Equal(out.Down, tt.want) {
			t.Errorf("%s: down %v, want %v\n%+v", tt.name, out.Down, tt.want, out.Events)
		}
	}
}

func TestResolverDownsOrphan(t *testing.T) {
	v := viewOf(2, 3)
	v.Members[2].Status, v.Members[2].UpNumber = member.WeaklyUp, member.NeverUp
	v.Leader = nodeID(0)
	r := NewResolver(nodeID(2), "default", Settings{})
	r.Step(at(0), ViewChanged{v})

	one := *v
	one.Members = slices.Clone(v.Members)
	one.Members[0].Status = member.Down
	if out := r.Step(at(1), ViewChanged{&one}); out.Wake.Equal(at(1)) {
		t.Error("one of two is down: would act at once")
	}
	both := one
	both.Members = slices.Clone(one.Members)
	both.Members[1].Status = member.Down
	out := r.Step(at(2), ViewChanged{&both})
	if out.Wake.After(at(2)) {
		t.Errorf("both are down: wake %v, want at once", out.Wake)
	}
	if out = r.Step(at(2), Tick{}); !slices.Equal(out.Down, []member.ID{nodeID(2)}) {
		t.Errorf("both are down: down %v, want self", out.Down)
	}
	gone := both
	gone.Members = slices.Clone(both.Members)
	gone.Members[2].Status = member.Down
	if out = r.Step(at(2), ViewChanged{&gone}); !out.Wake.IsZero() {
		t.Errorf("down: wake %v, want never", out.Wake)
	}
}

// One lease decides between two sides of equal rights, whoever asks first; a
// node that waits for its answer is not asked to decide again.
func TestResolverLease(t *testing.T) {
	for _, acquired := range []bool{true, false} {
		r := NewResolver(nodeID(2), "default", Settings{Strategy: LeaseMajority{AcquireDelay: 2 * time.Second}})
		out := r.Step(at(0), ViewChanged{viewOf(2, 4, 0, 1)})
		out = untilDecided(r, out)
		if out.Acquire == nil || !out.Acquire.At.Equal(at(9)) || len(out.Down) > 0 || !out.Wake.IsZero() {
			t.Fatalf("half without the lowest address: %+v, want a request at %v", out, at(9))
		}
		if out := r.Step(at(10), Tick{}); out.Acquire != nil || len(out.Down) > 0 {
			t.Fatalf("while waiting: %+v", out)
		}
		want := []member.ID{nodeID(0), nodeID(1)}
		if !acquired {
			want = []member.ID{nodeID(3), nodeID(2)}
		}
		if out := r.Step(at(11), LeaseReply{Acquired: acquired}); !slices.Equal(out.Down, want) {
			t.Errorf("acquired %v: down %v, want %v", acquired, out.Down, want)
		}
		if out := r.Step(at(11), LeaseReply{Acquired: true}); len(out.Down) > 0 {
			t.Errorf("a second answer downs %v", out.Down)
		}
	}
}

// Records of nodes that were removed during a partition, as quick restarts
// leave them, decide nothing.
func TestDWN01StaleRecordsAreIgnored(t *testing.T) {
	gone := member.ID{Address: member.Address{Host: "c", Port: 1}, UID: 99} // an earlier incarnation of a member
	gone2 := member.ID{Address: member.Address{Host: "x", Port: 1}, UID: 1}
	stale := []member.Observation{
		{Observer: gone, Subject: nodeID(1)},
		{Observer: nodeID(1), Subject: gone},
		{Observer: gone, Subject: gone2},
		{Observer: gone2, Subject: nodeID(0)},
	}
	strategies := []Strategy{KeepMajority{}, StaticQuorum{Size: 3}, KeepOldest{}, KeepOldest{DownIfAlone: true}, DownAll{}, LeaseMajority{}}
	for _, strategy := range strategies {
		for _, side := range [][]int{{}, {3, 4}, {2, 3, 4}} {
			in := graph{n: 5}.situation(0, []int{0, 1, 2, 3, 4})
			for _, i := range side {
				in.Unreachable = append(in.Unreachable, nodeID(i))
				in.Observations = append(in.Observations, member.Observation{Observer: nodeID(0), Subject: nodeID(i)})
				in.SeenBy = subtract(in.SeenBy, []member.ID{nodeID(i)})
			}
			want := Decide(strategy, in)
			in.Observations = append(in.Observations, stale...)
			if got := Decide(strategy, in); got.Action != want.Action || !slices.Equal(got.Down, want.Down) {
				t.Errorf("%s, unreachable %v: stale records turn %s of %v into\n%s", strategy.Name(), side, want.Action, want.Down, got.Describe())
			}
		}
		r := NewResolver(nodeID(0), "default", Settings{Strategy: strategy})
		v := viewOf(0, 5)
		v.Observations = stale
		r.Step(at(0), ViewChanged{v})
		if out := r.Step(at(60), Tick{}); len(out.Down) > 0 {
			t.Errorf("%s: in a connected cluster stale records down %v", strategy.Name(), out.Down)
		}
	}
}

func TestDescribe(t *testing.T) {
	g := graph{n: 4, lost: [5]uint8{0b1010, 0b1001, 0b1000, 0b0111}} // a-b, and d from all
	d := Decide(LeaseMajority{AcquireDelay: time.Second}, g.situation(0, []int{0, 1, 2}))
	want := `lease-majority on a:1#1: acquire_lease_then_down_indirectly_connected, because some members reach a:1#1, b:1#1 and others do not
  a:1#1: Up, reachable, not reached by b:1#1, indirectly connected
  b:1#1: Up, unreachable, not reached by a:1#1, indirectly connected
  c:1#1: Up, reachable
  d:1#1: Up, unreachable, not reached by a:1#1, b:1#1, c:1#1, has not seen this membership
asks for the lease after 0s; if it is denied, downs: a:1#1, b:1#1, c:1#1
downs: a:1#1, b:1#1, d:1#1
`
	got := d.Describe()
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func BenchmarkDecide(b *testing.B) {
	in := Situation{Self: member.ID{Address: member.Address{Host: "n", Port: 0}}}
	for i := range 100 {
		id := member.ID{Address: member.Address{Host: "n", Port: i}, UID: 1}
		in.Members = append(in.Members, member.Member{ID: id, Status: member.Up, UpNumber: i})
		if i >= 60 {
			in.Unreachable = append(in.Unreachable, id)
			continue
		}
		in.SeenBy = append(in.SeenBy, id)
		for j := 60; j < 100; j++ {
			subject := member.ID{Address: member.Address{Host: "n", Port: j}, UID: 1}
			in.Observations = append(in.Observations, member.Observation{Observer: id, Subject: subject})
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		Decide(KeepMajority{}, in)
	}
}
