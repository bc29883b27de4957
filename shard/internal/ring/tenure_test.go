package ring

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// Who carries over is known by the number of the tenure before.
func TestCarrierIsTheTenureJustBefore(t *testing.T) {
	a := member.ID{Address: member.Address{Host: "a", Port: 1}, UID: 1}
	b := member.ID{Address: member.Address{Host: "b", Port: 1}, UID: 2}
	then := time.Unix(1, 0)
	at := func(term, n uint64) protocol.Epoch { return protocol.Epoch{Term: term, N: n} }
	for _, tt := range []struct {
		name  string
		known tenure
		taken protocol.Epoch
		node  member.ID
		ok    bool
	}{
		{"the first ever", tenure{}, at(3, 1), member.ID{}, true},
		{"nobody is known", tenure{}, at(1, 2), member.ID{}, false},
		{"given back", tenure{epoch: at(1, 4), node: a, carries: a, state: given, heard: then}, at(1, 5), a, true},
		{"given back, in the term before", tenure{epoch: at(1, 4), node: a, carries: a, state: given, heard: then}, at(2, 5), a, true},
		{"given back a moment ago", tenure{epoch: at(1, 4), node: a, carries: a, heard: then}, at(1, 5), a, true},
		{"given back before anything was hosted", tenure{epoch: at(1, 4), node: a, carries: b, state: given, heard: then}, at(1, 5), b, true},
		{"given back, as a table tells", tenure{epoch: at(1, 4), node: a, carries: a, state: given}, at(1, 5), a, false},
		{"lost", tenure{epoch: at(1, 4), node: a, state: lost}, at(1, 5), member.ID{}, true},
		{"another was in between", tenure{epoch: at(1, 4), node: a, state: given}, at(1, 6), member.ID{}, false},
	} {
		if node, ok := tt.known.carrier(tt.taken); node != tt.node || ok != tt.ok {
			t.Errorf("%s: got %v %v, want %v %v", tt.name, node, ok, tt.node, tt.ok)
		}
	}
}

// A node that takes a shard of which it does not know who had it waits for a moment
// for a word of that, and then hosts it.
func TestUnknownPredecessorMaySpeak(t *testing.T) {
	for _, speaks := range []bool{true, false} {
		st := newStage(t, 2, Settings{Shards: 2})
		st.store.last["0"], st.store.last["1"] = protocol.Epoch{Term: 1, N: 6}, protocol.Epoch{Term: 1, N: 6}
		st.actors[1].mute, st.actors[1].away = true, true
		st.view(nil)
		owner, other := st.actors[0], st.actors[1]
		st.store.seats[other.id.String()] = Seat{Runner: other.id.String(), Token: 1, Note: other.wish.Note}
		st.store.term, st.store.token = 1, 1
		owner.core.meeting.met = true
		owner.keep()
		for len(st.store.locks) == 0 && st.now.Before(time.Unix(1_000_001, 0)) {
			st.pass(50 * time.Millisecond)
		}
		var name string
		for name = range st.store.locks {
			break
		}
		if len(owner.hosts) > 0 {
			t.Fatalf("it hosts %v at once", owner.hosts)
		}
		if speaks {
			owner.step(Received{From: other.id, Msg: protocol.Released{Shards: []protocol.Assignment{{Tenure: protocol.Tenure{Shard: name, Epoch: protocol.Epoch{Term: 1, N: 6}}, Previous: other.id}}}})
			if got := owner.core.shards[name].heirOf; got != other.id || len(owner.hosts) == 0 {
				t.Errorf("after the word of %v it hosts %v as the heir of %v", other.id, owner.hosts, got)
			}
			continue
		}
		st.pass(500 * time.Millisecond)
		if got := owner.core.shards[name].heirOf; !got.IsZero() || owner.hosts[name].N != 7 {
			t.Errorf("after the moment it hosts %v as the heir of %v", owner.hosts, got)
		}
	}
}

// Whoever gives a shard to a node may have read a newer table than that one has: so
// it is not given on before it has read one that knows of its lock.
func TestOldTableGivesNothingOn(t *testing.T) {
	st := newStage(t, 2, Settings{Shards: 10})
	st.view(nil)
	st.pass(3 * time.Second)
	giver, other := st.actors[0], st.actors[1]
	var name string
	for name = range giver.hosts {
		break
	}
	other.core.desk.lookDue, other.core.desk.lookedAt = time.Time{}, st.now.Add(time.Second) // it looks later
	giver.step(Release{Shard: name, To: other.id})
	if st.owner(name) != other || happened[Moving](other) {
		t.Errorf("it is at %v, and told on: %v", st.owner(name), happened[Moving](other))
	}
}

// What hung on the seat before is stopped before anything is owned by the next.
func TestNewSeatOwnsNothingInTheSameStep(t *testing.T) {
	st := newStage(t, 1, Settings{Shards: 3})
	st.view(nil)
	st.pass(2 * time.Second)
	a := st.actors[0]
	token, _ := a.core.Seated()
	out := a.core.Step(st.now, Seated{Token: token + 1, Until: st.now.Add(3 * time.Second)})
	if !out.OwnedUntil.IsZero() || !out.Wake.Equal(st.now) {
		t.Errorf("it owns until %v and wakes at %v, want nothing, and now", out.OwnedUntil, out.Wake)
	}
	stops := 0
	for _, p := range out.Send {
		if m, ok := p.Msg.(protocol.StopShards); ok {
			stops += len(m.Shards)
		}
	}
	if out = a.core.Step(st.now, Tick{}); stops != 3 || out.OwnedUntil.IsZero() {
		t.Errorf("%d shards are stopped; then it owns until %v", stops, out.OwnedUntil)
	}
}

// A node that gives a shard back before it has hosted it has nothing to carry over:
// the next one waits for what the one before has.
func TestUnusedTenureNamesWhoCarries(t *testing.T) {
	for _, heard := range []bool{true, false} {
		st := newStage(t, 3, Settings{Shards: 3})
		st.view(nil)
		st.pass(3 * time.Second)
		host := st.owner("0")
		between := st.actors[0]
		if between == host {
			between = st.actors[1]
		}
		if heard {
			between.core.desk.out = Look{} // what it asks for waits
		} else {
			between.deaf = 1 // it gets the lock, and does not hear so
		}
		host.step(Release{Shard: "0", To: between.id})
		if heard {
			between.core.desk.out = Take{Token: between.core.seat.token, Shards: []string{"0"}}
		}
		between.step(Leave{})
		if heard {
			l := Lock{Shard: "0", Runner: between.id.String(), Token: between.core.seat.token, Epoch: protocol.Epoch{Term: 1, N: 2}}
			st.store.locks["0"], st.store.last["0"] = l, l.Epoch
			between.step(Taken{Locks: []Lock{l}})
		}
		st.pass(time.Second)
		now := st.owner("0")
		if now == nil || now == between || now.hosts["0"].N != 3 {
			t.Fatalf("it is at %v, want it on by two tenures, not at %v", now, between.id)
		}
		if got := now.core.shards["0"].heirOf; got != host.id {
			t.Errorf("%v waits for %v, want for %v, which has hosted it", now.id, got, host.id)
		}
	}
}
