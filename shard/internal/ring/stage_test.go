package ring

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A stage has some nodes of one ring, each with a region that obeys at once, around
// a store that answers at once. Nothing on it takes time but what a test lets pass.
type stage struct {
	t      testing.TB
	now    time.Time
	actors []*actor
	store  shelf
}

// An actor is a node on the stage.
type actor struct {
	st     *stage
	id     member.ID
	core   *Core
	hosts  map[string]protocol.Epoch
	homes  map[string]protocol.Home // that the region was told of
	leaves map[string]bool          // shards that it has something left over of
	stuck  bool                     // the region does not stop what it hosts
	mute   bool                     // nobody hears what it says, nor it what others say
	away   bool                     // the store does not answer it
	deaf   int                      // how many answers of the store are lost
	events []Event
	owned  time.Time
	wish   Wish
}

// A shelf is the store of a stage.
type shelf struct {
	term, token uint64
	seats       map[string]Seat
	locks       map[string]Lock
	last        map[string]protocol.Epoch
}

func newStage(t testing.TB, nodes int, set Settings) *stage {
	t.Helper()
	st := &stage{
		t: t, now: time.Unix(1_000_000, 0),
		store: shelf{seats: map[string]Seat{}, locks: map[string]Lock{}, last: map[string]protocol.Epoch{}},
	}
	for i := range nodes {
		st.add(fmt.Sprint("n", i), set)
	}
	return st
}

func (st *stage) add(host string, set Settings) *actor {
	a := &actor{
		st: st, id: member.ID{Address: member.Address{Host: host, Port: 1}, UID: int64(len(st.actors) + 1)},
		hosts: map[string]protocol.Epoch{}, homes: map[string]protocol.Home{}, leaves: map[string]bool{},
	}
	a.core = New(a.id, set)
	st.actors = append(st.actors, a)
	return a
}

// view tells all who is there; status says what each is, Up if it is not named.
func (st *stage) view(status map[member.ID]member.Status) {
	for _, a := range st.actors {
		v := &member.View{Self: a.id}
		for i, o := range st.actors {
			m := member.Member{ID: o.id, Status: member.Up, UpNumber: i + 1}
			if s, ok := status[o.id]; ok {
				m.Status = s
			}
			if m.Status != member.Removed {
				v.Members = append(v.Members, m)
			}
		}
		slices.SortFunc(v.Members, func(a, b member.Member) int { return a.ID.Compare(b.ID) })
		a.step(ViewChanged{View: v})
		a.region(protocol.Report{})
	}
}

// pass lets time pass, a tick each 50 ms, with seats kept.
func (st *stage) pass(d time.Duration) {
	for end := st.now.Add(d); st.now.Before(end); {
		st.now = st.now.Add(50 * time.Millisecond)
		for _, a := range st.actors {
			a.keep()
			a.step(Tick{})
		}
	}
}

// keep does what the keeper of the seat would.
func (a *actor) keep() {
	runner := a.id.String()
	seat, ok := a.st.store.seats[runner]
	switch {
	case a.away:
	case a.wish.Sit && !ok:
		if len(a.st.store.seats) == 0 {
			a.st.store.term++
		}
		a.st.store.token++
		seat = Seat{Runner: runner, Token: a.st.store.token, Note: a.wish.Note}
		a.st.store.seats[runner] = seat
		a.step(Seated{Token: seat.Token, Until: a.st.now.Add(3 * time.Second)})
	case a.wish.Sit:
		seat.Note = a.wish.Note
		a.st.store.seats[runner] = seat
		a.step(Seated{Token: seat.Token, Until: a.st.now.Add(3 * time.Second)})
	case ok:
		a.st.store.rise(runner)
		a.step(SeatLost{})
	}
}

func (s *shelf) rise(runner string) {
	delete(s.seats, runner)
	for name, l := range s.locks {
		if l.Runner == runner {
			delete(s.locks, name)
		}
	}
}

func (a *actor) step(in Input) {
	out := a.core.Step(a.st.now, in)
	a.events = append(a.events, out.Events...)
	a.owned, a.wish = out.OwnedUntil, out.Seat
	for _, p := range out.Send {
		switch to := a.st.actor(p.To); {
		case to == a:
			a.obey(p.Msg)
		case to != nil && !a.mute && !to.mute:
			to.step(Received{From: a.id, Msg: p.Msg})
		}
	}
	if out.Ask != nil {
		answer := a.st.store.answer(a, out.Ask)
		if a.deaf > 0 {
			a.deaf--
			answer = Failed{Cause: "it was lost"}
		}
		a.step(answer)
	}
}

func (s *shelf) answer(a *actor, r Request) Input {
	if a.away {
		return Failed{Cause: "it is away"}
	}
	runner := a.id.String()
	switch r := r.(type) {
	case Take:
		var taken Taken
		if s.seats[runner].Token != r.Token {
			return Failed{Cause: "no such seat"}
		}
		for _, name := range r.Shards {
			if _, locked := s.locks[name]; !locked {
				s.last[name] = protocol.Epoch{Term: s.term, N: s.last[name].N + 1}
				s.locks[name] = Lock{Shard: name, Runner: runner, Token: r.Token, Epoch: s.last[name]}
			}
			if l := s.locks[name]; l.Token == r.Token {
				taken.Locks = append(taken.Locks, l)
			}
		}
		return taken
	case Give:
		for _, l := range r.Locks {
			if s.locks[l.Shard] == l {
				delete(s.locks, l.Shard)
			}
		}
		return Given{}
	case Look:
	}
	var t Table
	for _, seat := range s.seats {
		t.Seats = append(t.Seats, seat)
	}
	for _, l := range s.locks {
		t.Locks = append(t.Locks, l)
	}
	return t
}

func (st *stage) actor(id member.ID) *actor {
	i := slices.IndexFunc(st.actors, func(a *actor) bool { return a.id == id })
	if i < 0 {
		return nil
	}
	return st.actors[i]
}

// region has the region of the node say something.
func (a *actor) region(m protocol.Word) { a.step(Received{From: a.id, Msg: m}) }

// obey is what a region does, all of it at once.
func (a *actor) obey(m protocol.Message) {
	switch m := m.(type) {
	case protocol.Claim:
		a.region(protocol.Report{Term: m.Term, Coordinator: a.id})
	case protocol.HostShards:
		for _, s := range m.Shards {
			a.hosts[s.Shard] = s.Epoch
			a.homes[s.Shard] = protocol.Home{Tenure: s.Tenure, Node: a.id}
			a.region(protocol.ShardsStarted{Shards: []protocol.Tenure{s.Tenure}})
		}
	case protocol.BeginHandOff:
		for _, move := range m.Moves {
			delete(a.homes, move.Shard)
			a.region(protocol.BeginHandOffAck{Acks: []protocol.Ack{{Shard: move.Shard, Next: move.Next}}})
		}
	case protocol.HandOff:
		for _, l := range m.Moves {
			a.stop(l.Tenure)
		}
	case protocol.StopShards:
		for _, t := range m.Shards {
			a.stop(t)
		}
	case protocol.ShardHomes:
		for _, h := range m.Homes {
			a.homes[h.Shard] = h
		}
	}
}

func (a *actor) stop(t protocol.Tenure) {
	if !a.stuck {
		delete(a.hosts, t.Shard)
		a.region(protocol.ShardsStopped{Shards: []protocol.Tenure{t}})
	}
}

// owner is who hosts a shard; the test ends if two do.
func (st *stage) owner(name string) *actor {
	st.t.Helper()
	var owner *actor
	for _, a := range st.actors {
		if _, ok := a.hosts[name]; !ok || !st.now.Before(a.owned) {
			continue
		}
		if owner != nil {
			st.t.Fatalf("%s and %s both host %s", owner.id, a.id, name)
		}
		owner = a
	}
	return owner
}

// count is how many shards each node hosts.
func (st *stage) count(shards int) map[string]int {
	st.t.Helper()
	count := map[string]int{}
	for n := range shards {
		if a := st.owner(fmt.Sprint(n)); a != nil {
			count[a.id.Host]++
		}
	}
	return count
}
