package ring

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

func (st *stage) mustCount(shards int, want map[string]int) {
	st.t.Helper()
	if got := st.count(shards); !maps.Equal(got, want) {
		st.t.Errorf("shards are at %v, want %v", got, want)
	}
}

func TestNodesDivideTheShards(t *testing.T) {
	st := newStage(t, 3, Settings{Shards: 300})
	st.view(nil)
	st.pass(3 * time.Second)
	st.mustCount(300, map[string]int{"n0": 100, "n1": 100, "n2": 100})
	for _, a := range st.actors {
		if a.owned.IsZero() {
			t.Errorf("%s owns nothing", a.id)
		}
	}
}

func TestWeightAndLeavingCount(t *testing.T) {
	st := newStage(t, 1, Settings{Shards: 90})
	heavy := st.add("heavy", Settings{Shards: 90, Weight: 2})
	st.view(nil)
	st.pass(3 * time.Second)
	st.mustCount(90, map[string]int{"n0": 30, "heavy": 60})

	heavy.step(Leave{})
	st.pass(2 * time.Second)
	st.mustCount(90, map[string]int{"n0": 90})
	if heavy.wish.Sit {
		t.Error("who has left still wants to have a seat")
	}
}

func TestLazyTakesWhatIsAskedFor(t *testing.T) {
	st := newStage(t, 2, Settings{Shards: 10, Lazy: true})
	st.view(nil)
	st.pass(2 * time.Second)
	st.mustCount(10, map[string]int{})
	for _, a := range st.actors {
		a.region(protocol.GetShardHomes{Shards: []string{"3"}})
	}
	st.pass(time.Second)
	owner := st.owner("3")
	if owner == nil {
		t.Fatal("nobody hosts what was asked for")
	}
	for _, a := range st.actors {
		if got := a.homes["3"].Node; got != owner.id {
			t.Errorf("%s thinks that it is at %s, want %s", a.id, got, owner.id)
		}
	}
}

func TestLazyTakesWhatNeedNotBeAskedFor(t *testing.T) {
	st := newStage(t, 2, Settings{Shards: 10, Lazy: true, Always: []string{"3", "7"}})
	st.view(nil)
	st.pass(2 * time.Second)
	for n := range 10 {
		name := nameOf(n)
		if owner, want := st.owner(name) != nil, n == 3 || n == 7; owner != want {
			t.Errorf("shard %s has an owner: %t, want %t", name, owner, want)
		}
	}
}

// A node without the role takes no seat, reads the table only when somebody waits,
// and finds its way.
func TestClientsOnlyRoute(t *testing.T) {
	st := newStage(t, 1, Settings{Shards: 4})
	client := st.add("client", Settings{Shards: 4, Role: "host"}) // which it has not
	st.view(nil)
	st.pass(2 * time.Second)
	if client.wish.Sit {
		t.Error("a client wants to have a seat")
	}
	client.region(protocol.GetShardHomes{Shards: []string{"2"}})
	if got, want := client.homes["2"].Node, st.actors[0].id; got != want {
		t.Errorf("it thinks that the shard is at %v, want %v", got, want)
	}
}

// A negative number is a shard of its own, which lives where its absolute value does.
func TestNegativeShards(t *testing.T) {
	st := newStage(t, 3, Settings{Shards: 30, Exists: func(name string) bool { return name == "-7" }})
	st.view(nil)
	st.pass(3 * time.Second)
	st.actors[0].region(protocol.GetShardHomes{Shards: []string{"-7"}})
	st.pass(time.Second)
	if got, want := st.owner("-7"), st.owner("7"); got == nil || got != want {
		t.Errorf("-7 is at %v, and 7 at %v", got, want)
	}
	if st.store.locks["-7"] == st.store.locks["7"] {
		t.Error("they share a lock")
	}
}

// A seat that could not be kept in time ends everything here, whether or not the
// store or the clock of another node says so.
func TestUnconfirmedSeatEndsAll(t *testing.T) {
	st := newStage(t, 1, Settings{Shards: 8})
	a := st.actors[0]
	st.view(nil)
	st.pass(2 * time.Second)
	st.mustCount(8, map[string]int{"n0": 8})

	a.away = true
	st.pass(2900 * time.Millisecond)
	st.mustCount(8, map[string]int{"n0": 8})
	st.pass(200 * time.Millisecond)
	if len(a.hosts) > 0 || !a.owned.IsZero() {
		t.Errorf("after its time it hosts %v and owns until %v", a.hosts, a.owned)
	}
	var waits []member.Wait
	a.region(protocol.GetShardHomes{Shards: []string{"1"}})
	if waits = a.core.Why("1"); len(waits) < 2 || waits[len(waits)-1].What != member.WaitStore {
		t.Errorf("why says %v, want it to name the store", waits)
	}

	a.away = false
	st.store.rise(a.id.String())
	st.pass(2 * time.Second)
	st.mustCount(8, map[string]int{"n0": 8})
	if got := a.hosts["1"]; got.N != 2 {
		t.Errorf("it is hosted by %v, want a second tenure", got)
	}
}

// The token of a seat that is over is never taken up again.
func TestOldSeatIsNotTakenUp(t *testing.T) {
	st := newStage(t, 1, Settings{Shards: 1})
	a := st.actors[0]
	st.view(nil)
	st.pass(time.Second)
	token, _ := a.core.Seated()
	a.step(SeatLost{})
	a.step(Seated{Token: token, Until: st.now.Add(time.Minute)})
	if got, ok := a.core.Seated(); ok {
		t.Errorf("it sits by token %d again", got)
	}
}

// What a request did whose answer was lost is found out by asking again.
func TestLostAnswersAreAskedForAgain(t *testing.T) {
	st := newStage(t, 2, Settings{Shards: 2})
	for _, a := range st.actors {
		a.deaf = 2 // to the first table and the first locks
	}
	st.view(nil)
	st.pass(3 * time.Second)
	st.mustCount(2, map[string]int{"n0": 1, "n1": 1})
	for _, a := range st.actors {
		if !happened[Away](a) || !happened[Back](a) {
			t.Errorf("%s tells %+v", a.id, a.events)
		}
	}
	giver := st.owner("0")
	giver.deaf = 1
	giver.step(Release{Shard: "0"}) // and the first lock that is given back
	st.pass(time.Second)
	if got := st.owner("0"); got == nil || got.hosts["0"].N != 2 {
		t.Errorf("it is at %v, want it to have got a second owner", got)
	}
}

// A stray lock is given back, and hosted only by another.
func TestStrayLockIsGivenBack(t *testing.T) {
	st := newStage(t, 2, Settings{Shards: 2})
	st.view(nil)
	st.pass(3 * time.Second)
	for name, l := range st.store.locks { // it was taken anew, and nobody has heard
		l.Epoch.N += 5
		st.store.locks[name], st.store.last[name] = l, l.Epoch
	}
	st.pass(3 * time.Second)
	st.mustCount(2, map[string]int{"n0": 1, "n1": 1})
	for name, l := range st.store.locks {
		if got := st.owner(name).hosts[name]; got != l.Epoch || got.N < 7 {
			t.Errorf("%s is hosted by %v, the lock is %v", name, got, l.Epoch)
		}
	}
}

// DWN-04, of the ring: the lock is free as soon as the shard has stopped, however
// long the seat still lasts, and the next owner does not wait for anything.
func TestDWN04LockIsFreeWhenTheShardHasStopped(t *testing.T) {
	st := newStage(t, 2, Settings{Shards: 2})
	st.view(nil)
	st.pass(3 * time.Second)
	giver := st.owner("0")
	giver.stuck = true
	giver.step(Leave{})
	st.pass(time.Second)
	if got := st.store.locks["0"].Runner; got != giver.id.String() {
		t.Errorf("before its end the lock is %s's, want %s's", got, giver.id)
	}
	giver.stuck = false
	giver.region(protocol.ShardsStopped{Shards: []protocol.Tenure{{Shard: "0", Epoch: giver.hosts["0"]}}})
	delete(giver.hosts, "0")
	if got := st.owner("0"); got == nil || got == giver { // no time has passed
		t.Errorf("when it has stopped it is at %v, want it at the other", got)
	}
}

// A late word of a lock that was given back long ago moves nothing.
func TestStaleReleasedIsNotBelieved(t *testing.T) {
	st := newStage(t, 2, Settings{Shards: 2})
	st.view(nil)
	st.pass(3 * time.Second)
	owner := st.owner("0")
	other := st.actors[0]
	if other == owner {
		other = st.actors[1]
	}
	before := maps.Clone(st.store.locks)
	old := protocol.Tenure{Shard: "0", Epoch: protocol.Epoch{Term: 0, N: 1}}
	for _, a := range st.actors {
		for _, from := range st.actors {
			a.step(Received{From: from.id, Msg: protocol.Released{Shards: []protocol.Assignment{{Tenure: old, Previous: from.id}}}})
		}
	}
	st.pass(time.Second)
	if got := st.owner("0"); got != owner || !reflect.DeepEqual(st.store.locks, before) {
		t.Errorf("it is at %v by %v, want %v by %v", got, st.store.locks, owner.id, before)
	}
	if _, ok := other.hosts["0"]; ok {
		t.Error("the other hosts it too")
	}
}

// One that declares the type differently keeps itself out, and nobody else.
func TestDisagreeingNodeKeepsOut(t *testing.T) {
	st := newStage(t, 2, Settings{Shards: 10, Agree: "ours"})
	st.view(nil)
	st.pass(3 * time.Second)
	wrong := st.add("wrong", Settings{Shards: 20, Agree: "theirs"})
	st.view(nil)
	st.pass(3 * time.Second)
	st.mustCount(10, map[string]int{"n0": 5, "n1": 5})
	want := Disagrees{Theirs: "ours", Ours: "theirs"}
	var got Disagrees
	for _, e := range wrong.events {
		if d, ok := e.(Disagrees); ok {
			got = d
		}
	}
	if want.With = got.With; got != want {
		t.Errorf("it says %+v, want %+v", got, want)
	}
	if wait := wrong.core.Why("1"); len(wait) > 0 {
		t.Errorf("nothing waits there, but why says %v", wait)
	}
	wrong.region(protocol.GetShardHomes{Shards: []string{"1"}})
	if wait := wrong.core.Why("1"); len(wait) != 1 || !strings.Contains(wait[0].Why, "differently") {
		t.Errorf("why says %v", wait)
	}
}

// A hand-over that not all acknowledge is given up, and everybody hears that the
// shard stays; that of a node that leaves goes ahead.
func TestSilentNodesHoldUpNothing(t *testing.T) {
	st := newStage(t, 3, Settings{Shards: 30, AckTimeout: time.Second})
	st.view(nil)
	st.pass(3 * time.Second)
	st.actors[2].mute = true
	giver := st.actors[0]
	giver.step(Release{Shard: "0"})
	for name := range giver.hosts {
		giver.step(Release{Shard: name, To: st.actors[1].id})
		break
	}
	st.pass(2 * time.Second)
	if !happened[Kept](giver) || len(giver.hosts) != 10 {
		t.Errorf("it has %d shards and says %+v, want all kept", len(giver.hosts), giver.events)
	}
	st.view(map[member.ID]member.Status{giver.id: member.Leaving})
	st.pass(3 * time.Second)
	if !happened[GoneAhead](giver) || len(giver.hosts) != 0 {
		t.Errorf("it leaves with %d shards and says %+v", len(giver.hosts), giver.events)
	}
}

func happened[E Event](a *actor) bool {
	for _, e := range a.events {
		if _, ok := e.(E); ok {
			return true
		}
	}
	return false
}

// An operator can have a shard given to another node, or stopped and started.
func TestReleaseGivesAShardAway(t *testing.T) {
	st := newStage(t, 3, Settings{Shards: 3})
	st.view(nil)
	st.pass(3 * time.Second)
	from := st.owner("1")
	before := from.hosts["1"]
	from.step(Release{Shard: "1"})
	st.pass(2 * time.Second)
	if got := st.owner("1"); got == nil || !before.Less(got.hosts["1"]) {
		t.Errorf("it is at %v, want a tenure after %v", got, before)
	}
	st.mustCount(3, map[string]int{"n0": 1, "n1": 1, "n2": 1})
}

func TestMovesAreBounded(t *testing.T) {
	st := newStage(t, 1, Settings{Shards: 100, Moves: 7})
	st.view(nil)
	st.pass(2 * time.Second)
	giver := st.actors[0]
	giver.stuck = true
	st.add("n1", Settings{Shards: 100})
	st.view(nil)
	st.pass(3 * time.Second)
	if giver.core.moving != 7 {
		t.Errorf("it gives %d shards away at a time, want 7", giver.core.moving)
	}
	giver.stuck = false
	st.pass(20 * time.Second)
	st.mustCount(100, map[string]int{"n0": 50, "n1": 50})
}

func TestWhyNamesWhoMustAct(t *testing.T) {
	st := newStage(t, 2, Settings{Shards: 10, HandOffTimeout: 4 * time.Second})
	st.view(nil)
	st.pass(3 * time.Second)
	giver, other := st.actors[0], st.actors[1]
	var name string
	for name = range giver.hosts {
		break
	}
	other.mute = true
	giver.step(Release{Shard: name, To: other.id})
	if w := giver.core.Why(name); len(w) != 1 || len(w[0].On) != 1 || w[0].On[0].Node != other.id {
		t.Errorf("while it is announced: %v", w)
	}
	other.mute, giver.stuck = false, true
	giver.step(Received{From: other.id, Msg: protocol.Handed{Acks: []protocol.Ack{{Shard: name, Next: giver.core.shards[name].move.next}}}})
	if w := giver.core.Why(name); len(w) != 1 || !strings.Contains(w[0].Why, "ended here") {
		t.Errorf("while it stops: %v", w)
	}
	st.pass(5 * time.Second)
	if !happened[Slow](giver) {
		t.Errorf("it is not reported as slow: %+v", giver.events)
	}
	if d := giver.core.Describe(); !strings.Contains(d, "shard "+name+": hand-over") {
		t.Errorf("described as\n%s", d)
	}
}

// BenchmarkRead is what each node does each second: take in the table of a
// thousand shards on ten nodes, in which nothing has changed.
func BenchmarkRead(b *testing.B) {
	st := newStage(b, 10, Settings{Shards: 1000})
	st.view(nil)
	st.pass(3 * time.Second)
	a := st.actors[0]
	table := st.store.answer(a, Look{})
	b.ReportAllocs()
	for b.Loop() {
		st.now = st.now.Add(time.Millisecond)
		a.core.desk.out = Look{}
		a.core.Step(st.now, table)
	}
}

// BenchmarkWhereIs is an answer to a node that asks for a shard.
func BenchmarkWhereIs(b *testing.B) {
	st := newStage(b, 2, Settings{Shards: 1000})
	st.view(nil)
	st.pass(3 * time.Second)
	a := st.actors[0]
	in := Received{From: st.actors[1].id, Msg: protocol.WhereIs{Shards: []string{"7"}}}
	b.ReportAllocs()
	for b.Loop() {
		a.core.Step(st.now, in)
	}
}
