package owner

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/internal/member/membertest"
)

var a, b, c, nobody = membertest.Node("a"), membertest.Node("b"), membertest.Node("c"), member.ID{}

// rig is the part of one node, told what the others say.
type rig struct {
	t    *testing.T
	core *Core
	now  time.Time
	out  Output // of the last step
}

// newRig is the part of a among members as in view.
func newRig(t *testing.T, set Settings, members ...string) *rig {
	set.Name, set.Retry, set.CloseWithin = "s", time.Second, 5*time.Second
	set.Margin = func(int) time.Duration { return 5 * time.Second }
	r := &rig{t: t, core: New(a, set), now: time.Unix(0, 0)}
	r.view(members...)
	return r
}

// view steps a membership as [membertest.View] reads it.
func (r *rig) view(members ...string) { r.step(ViewChanged{membertest.View(r.t, a, members...)}) }

func (r *rig) step(in Input) { r.out = r.core.Step(r.now, in) }

func (r *rig) hear(from member.ID, m Message) { r.step(Received{from, m}) }

func (r *rig) wait(d time.Duration) {
	r.now = r.now.Add(d)
	r.step(Tick{})
}

// grant answers the present claim.
func (r *rig) grant(from member.ID) {
	if r.core.claim == nil {
		r.t.Fatal("there is no claim")
	}
	r.hear(from, Granted{Claim: r.core.claim.term})
}

// does fails unless exactly these actions came out of the last step.
func (r *rig) does(want ...Action) {
	r.t.Helper()
	if !reflect.DeepEqual(r.out.Do, want) {
		r.t.Errorf("does %+v, want %+v; waits %+v", r.out.Do, want, r.core.Why(r.now))
	}
}

// says fails unless exactly this went to a node.
func (r *rig) says(to member.ID, want ...Message) {
	r.t.Helper()
	var got []Message
	for _, p := range r.out.Send {
		if p.To == to {
			got = append(got, p.Msg)
		}
	}
	if !reflect.DeepEqual(got, want) {
		r.t.Errorf("says to %s %+v, want %+v", to.Host, got, want)
	}
}

func (r *rig) runs() bool { return r.core.tenure != nil && r.core.tenure.lives }

// owning is a with an instance.
func owning(t *testing.T, members ...string) *rig {
	r := newRig(t, Settings{}, members...)
	for _, m := range r.core.view.Members {
		if m.ID != a && r.core.claim != nil {
			r.grant(m.ID)
		}
	}
	if !r.runs() {
		t.Fatalf("it does not run: %+v", r.core.Why(r.now))
	}
	return r
}

func TestStartWaitsForAllThatMayRunIt(t *testing.T) {
	for _, tt := range []struct {
		name string
		then func(*rig)
		want bool
	}{
		{"all grant", func(r *rig) { r.grant(c) }, true},
		{"the last has not the singleton", func(r *rig) { r.step(NoPort{c}) }, true},
		{"the last had the singleton when it said so", func(r *rig) { r.hear(c, Hello{}); r.step(NoPort{c}) }, false},
		{"it grants another claim", func(r *rig) { r.hear(c, Granted{Claim: Term{r.core.claim.term.N - 1, a}}) }, false},
		{"the last is unreachable", func(r *rig) { r.view("a Up", "b Up", "c Up unreachable") }, false},
		{"it is down", func(r *rig) { r.view("a Up", "b Up", "c Down") }, false},
		{"its margin runs", func(r *rig) {
			r.view("a Up", "b Up", "c Down")
			r.view("a Up", "b Up", "c Removed downed")
			r.wait(4 * time.Second)
		}, false},
		{"its margin is over", func(r *rig) {
			r.view("a Up", "b Up", "c Down")
			r.view("a Up", "b Up", "c Removed downed")
			r.wait(5 * time.Second)
		}, true},
		{"it has crashed for certain", func(r *rig) { r.view("a Up", "b Up", "c Removed crashed") }, true},
		{"it has left", func(r *rig) { r.view("a Up", "b Up", "c Exiting"); r.view("a Up", "b Up", "c Removed exited") }, true},
		{"it has left, while nobody looked", func(r *rig) { r.view("a Up", "b Up", "c Removed exited") }, true},
		{"it exited, as far as others could tell", func(r *rig) { r.view("a Up", "b Up", "c Exiting"); r.view("a Up", "b Up") }, false},
		{"somebody new has not granted", func(r *rig) { r.view("a Up", "b Up", "c Up", "d Joining"); r.grant(c) }, false},
		{"this node leaves", func(r *rig) { r.step(Leave{}); r.hear(c, Granted{Claim: Term{1, a}}) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Settings{}, "a Up", "b Up", "c Up")
			r.grant(b)
			if r.runs() {
				t.Fatal("it runs before c has answered")
			}
			tt.then(r)
			if r.runs() != tt.want {
				t.Errorf("runs: %t, want %t; waits: %+v", r.runs(), tt.want, r.core.Why(r.now))
			}
		})
	}
}

// A node that came just after a removal has not seen it; the first of a cluster has
// missed none.
func TestStartWaitsForWhatItHasNotSeen(t *testing.T) {
	r := newRig(t, Settings{}, "b Up", "a Up")
	r.view("b Exiting", "a Up")
	r.grant(b)
	r.wait(5*time.Second - 1)
	if r.runs() {
		t.Errorf("it runs though somebody may have been removed before")
	}
	if r.out.Wake != time.Unix(5, 0) {
		t.Errorf("wakes at %v, want 5 s", r.out.Wake)
	}
	r.wait(1)
	if !r.runs() {
		t.Errorf("it waits for %+v", r.core.Why(r.now))
	}
}

func TestOnlyWhoIsNotTheRightOneGrants(t *testing.T) {
	claim := Claim{Term: Term{7, b}, Last: true}
	granted := Granted{Claim: claim.Term, Top: 7}
	r := newRig(t, Settings{}, "a Up", "b Up")
	r.hear(b, claim)
	r.says(b) // its view will change, or ours
	r.view("b Up", "a Up")
	r.says(b, granted, Hello{})
	r.hear(b, claim)
	r.says(b, granted)
	r.view("a Up", "b Up")
	if got := r.core.claim.term.N; got <= 7 {
		t.Errorf("claims %d, below what was granted", got)
	}
}

func TestHandOver(t *testing.T) {
	r := owning(t, "a Up", "b Up", "c Up")
	term := r.core.tenure.term
	claim := Claim{Term: Term{9, b}}
	r.view("b Up", "a Up", "c Up")
	r.hear(b, claim)
	r.does() // something else is missing to it
	claim.Last = true
	r.hear(b, claim)
	r.does(Hold{})
	r.says(b, Close{term})
	r.says(c, Close{term})
	r.step(Marked{b, term})
	r.wait(250 * time.Millisecond)
	r.says(b)
	r.says(c, Close{term})
	r.step(Marked{c, Term{1, c}}) // of another term
	r.does()
	r.step(Marked{c, term})
	r.does(Drain{term})
	r.says(b)
	r.step(Ended{term})
	r.says(b, Granted{Claim: claim.Term, Top: 9}, Hello{})
	r.hear(b, Here{Term{10, b}})
	r.does(Route{Term{10, b}})
}

func TestHandOverGoesOnWithoutTheSilent(t *testing.T) {
	r := owning(t, "a Up", "b Up", "c Up", "d Up")
	term := r.core.tenure.term
	r.view("a Leaving", "b Up", "c Up", "d Up")
	r.step(Marked{b, term})
	r.view("a Leaving", "b Up", "c Up", "d Down")
	r.wait(5*time.Second - 1)
	r.does()
	if why := r.core.Why(r.now); len(why) != 1 || len(why[0].On) != 1 || why[0].On[0].Node != c {
		t.Errorf("waits for %+v, want c", why)
	}
	r.wait(1)
	r.does(Drain{term})
	if want := []Event{Unmarked{[]member.ID{c}}}; !reflect.DeepEqual(r.out.Events, want) {
		t.Errorf("tells %+v, want %+v", r.out.Events, want)
	}
}

func TestWhoIsNoMemberStopsAtOnce(t *testing.T) {
	for _, view := range [][]string{{"a Down", "b Up"}, {"b Up"}} {
		r := owning(t, "a Up", "b Up")
		term := r.core.tenure.term
		r.view(view...)
		r.does(Hold{}, Kill{term})
		r.wait(time.Second)
		r.does()
		r.step(Ended{term})
		if r.core.tenure != nil || r.core.claim != nil {
			t.Errorf("after %v it has %+v, %+v", view, r.core.tenure, r.core.claim)
		}
	}
}

func TestLease(t *testing.T) {
	r := newRig(t, Settings{Lease: true}, "a Up", "b Up")
	r.does()
	r.grant(b)
	first := r.core.claim.term
	r.does(Acquire{first})
	r.view("b Up", "a Up")
	r.does(Release{})
	r.view("a Up", "b Up")
	r.grant(b)
	r.step(LeaseHeld{first}) // too late
	r.does()
	r.step(LeaseHeld{r.core.claim.term})
	term := r.core.tenure.term
	r.does(Route{term}, Start{term})
	r.step(LeaseLost{})
	r.does(Hold{}, Kill{term})
	r.step(Ended{term})
	r.does(Release{})
	r.grant(b)
	r.step(LeaseHeld{r.core.claim.term})
	if again := r.core.tenure.term; again.Compare(term) <= 0 {
		t.Errorf("term %v follows %v", again, term)
	}
}

func TestInstanceThatEndsStartsAgain(t *testing.T) {
	r := owning(t, "a Up")
	term := r.core.tenure.term
	for _, gap := range []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond} {
		r.step(Ended{term})
		if r.out.Wake != r.now.Add(gap) {
			t.Errorf("starts again in %v, want %v", r.out.Wake.Sub(r.now), gap)
		}
		r.wait(gap)
		r.does(Start{term})
	}
	r.wait(time.Minute)
	r.step(Ended{term})
	if r.out.Wake != r.now.Add(200*time.Millisecond) {
		t.Errorf("starts again in %v after it has lived", r.out.Wake.Sub(r.now))
	}
}

func TestNewsOfOwners(t *testing.T) {
	at := func(n uint64, id member.ID) Term { return Term{n, id} }
	for _, tt := range []struct {
		name string
		news []Term
		then func(*rig)
		want Term
	}{
		{"the later", []Term{at(1, b), at(2, c)}, nil, at(2, c)},
		{"the later came first", []Term{at(2, c), at(1, b)}, nil, at(2, c)},
		{"who is no member", []Term{at(2, membertest.Node("x"))}, nil, Term{}},
		{"it has closed", []Term{at(1, b)}, func(r *rig) { r.hear(b, Close{at(1, b)}); r.hear(c, Here{at(1, b)}) }, Term{}},
		{"it closes a tenure of which nothing was heard", []Term{at(1, b)}, func(r *rig) { r.hear(b, Close{at(3, b)}) }, Term{}},
		{"an older one closes", []Term{at(2, c)}, func(r *rig) { r.hear(b, Close{at(1, b)}) }, at(2, c)},
		{"it returned what was sent", []Term{at(1, b)}, func(r *rig) { r.step(Stray{b}); r.hear(c, Here{at(1, b)}) }, Term{}},
		{"it leaves", []Term{at(1, b)}, func(r *rig) { r.view("b Leaving", "c Up", "a Up"); r.hear(c, Here{at(1, b)}) }, Term{}},
		{"it was downed", []Term{at(2, c)}, func(r *rig) { r.view("b Up", "c Down", "a Up") }, Term{}},
		{"the next knew nothing of its number", []Term{at(7, c)}, func(r *rig) { r.view("b Up", "c Down", "a Up"); r.hear(b, Here{at(3, b)}) }, at(3, b)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Settings{}, "b Up", "c Up", "a Up")
			for _, term := range tt.news {
				r.hear(b, Here{term})
			}
			if tt.then != nil {
				tt.then(r)
			}
			if got := r.core.Owner(); got != tt.want {
				t.Errorf("sends to %v, want %v", got, tt.want)
			}
		})
	}
}

func TestSpreadIsEvenAndMovesLittle(t *testing.T) {
	const nodes, names = 10, 2000
	var v member.View
	for i := range nodes {
		v.Members = append(v.Members, member.Member{ID: member.ID{Address: member.Address{Host: "node", Port: 9000 + i}, UID: 1}, Status: member.Up})
	}
	count := map[member.ID]int{}
	moved := 0
	for i := range names {
		core := New(v.Members[0].ID, Settings{Name: strings.Repeat("x", i), Spread: true})
		core.view = &v
		at, _ := core.right()
		count[at]++
		fewer := v
		fewer.Members = v.Members[1:]
		core.view = &fewer
		if then, _ := core.right(); then != at {
			moved++
			if at != v.Members[0].ID {
				t.Fatalf("%d moves from %v to %v, which both stay", i, at, then)
			}
		}
	}
	for id, n := range count {
		if n < names/nodes*3/4 || n > names/nodes*5/4 {
			t.Errorf("%v has %d of %d", id, n, names)
		}
	}
	if moved != count[v.Members[0].ID] {
		t.Errorf("%d move, want the %d of the node that goes", moved, count[v.Members[0].ID])
	}
}

func TestWhyNamesWhoIsWaitedFor(t *testing.T) {
	r := newRig(t, Settings{}, "a Up", "b Up", "c Up unreachable")
	why := r.core.Why(r.now)
	if len(why) != 1 || len(why[0].On) != 2 || !strings.Contains(why[0].On[0].Why, "has not said") || !strings.Contains(why[0].On[1].Why, "cannot be reached") {
		t.Errorf("waits for %+v", why)
	}
	r.view("a Up", "b Up", "c Down")
	r.view("a Up", "b Up", "c Removed downed")
	why = r.core.Why(r.now)
	if len(why) != 1 || why[0].Until != r.now.Add(5*time.Second) || !strings.Contains(why[0].On[1].Why, "was removed") {
		t.Errorf("waits for %+v", why)
	}
}

// FuzzDecode: what is read is written the same, and nothing that comes by a link
// makes the core fail.
func FuzzDecode(f *testing.F) {
	for _, m := range []Message{Hello{"x"}, Here{Term{1, a}}, Claim{Term{2, b}, true, "x"}, Granted{Term{3, c}, 4}, Close{Term{5, a}}} {
		f.Add(Append(nil, m))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		m, err := Decode(frame)
		if err != nil {
			return
		}
		again, err := Decode(Append(nil, m))
		if err != nil || again != m {
			t.Fatalf("%+v reads as %+v, %v", m, again, err)
		}
		r := newRig(&testing.T{}, Settings{}, "b Up", "a Up", "c Up")
		for _, from := range []member.ID{b, c, nobody} {
			r.hear(from, m)
			r.wait(time.Second)
		}
	})
}

func BenchmarkStepOfAnOwner(b *testing.B) {
	r := newRig(&testing.T{}, Settings{}, "a Up")
	b.ReportAllocs()
	for b.Loop() {
		r.step(Tick{})
	}
}
