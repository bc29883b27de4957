package ring

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// FuzzStep feeds random inputs, forged ones included: the core must not panic, ask
// the store for two things at a time, own anything without a seat, or have its
// region host what it has no lock of.
func FuzzStep(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		st := newStage(t, 3, Settings{Shards: 3, Lazy: seed%2 == 0, AckTimeout: time.Second})
		st.view(nil)
		core, now := st.actors[0].core, st.now
		var asked Request
		locks := map[protocol.Tenure]bool{}
		for range 300 {
			now = now.Add(time.Duration(rng.Int64N(int64(time.Second))))
			in := anyInput(rng, st, now, asked)
			if taken, ok := in.(Taken); ok {
				for _, l := range taken.Locks {
					locks[protocol.Tenure{Shard: l.Shard, Epoch: l.Epoch}] = true
				}
			}
			if answers(in) {
				asked = nil
			}
			out := core.Step(now, in)
			if out.Ask != nil && asked != nil {
				t.Fatalf("it asks %+v before %+v was answered", out.Ask, asked)
			}
			if out.Ask != nil {
				asked = out.Ask
			}
			if _, sits := core.Seated(); !sits && !out.OwnedUntil.IsZero() || !out.OwnedUntil.IsZero() && !now.Before(out.OwnedUntil) {
				t.Fatalf("at %v it has a seat %v and owns until %v", now, sits, out.OwnedUntil)
			}
			for _, p := range out.Send {
				host, _ := p.Msg.(protocol.HostShards)
				for _, a := range host.Shards {
					if !locks[a.Tenure] {
						t.Fatalf("the region is told to host %+v, of which there is no lock", a.Tenure)
					}
				}
			}
			_ = core.Describe()
		}
	})
}

func answers(in Input) bool {
	switch in.(type) {
	case Table, Taken, Given, Failed:
		return true
	case ViewChanged, Received, NoPort, Seated, SeatLost, Release, Leave, Tick:
	}
	return false
}

func anyInput(rng *rand.Rand, st *stage, now time.Time, asked Request) Input {
	shard := fmt.Sprint(rng.IntN(4))
	e := protocol.Epoch{Term: uint64(rng.IntN(2)), N: uint64(rng.IntN(9))}
	tenures := []protocol.Tenure{{Shard: shard, Epoch: e}}
	from := st.actors[rng.IntN(3)].id
	if rng.IntN(2) == 0 {
		return anyAnswer(rng, st, asked)
	}
	acks := []protocol.Ack{{Shard: shard, Next: e, Marked: true}}
	inputs := []Input{
		Tick{},
		NoPort{from},
		SeatLost{},
		Release{Shard: shard, To: from},
		Seated{Token: uint64(rng.IntN(9)), Until: now.Add(time.Duration(rng.Int64N(int64(9 * time.Second))))},
		Received{from, protocol.Report{Term: e.N, Coordinator: from}},
		Received{from, protocol.Refused{Highest: e.N}},
		Received{from, protocol.GetShardHomes{Shards: []string{shard}}},
		Received{from, protocol.ShardsStarted{Shards: tenures}},
		Received{from, protocol.ShardsStopped{Shards: tenures}},
		Received{from, protocol.BeginHandOffAck{Acks: acks}},
		Received{from, protocol.Look{}},
		Received{from, protocol.WhereIs{Shards: []string{shard}}},
		Received{from, protocol.Housed{Shards: []protocol.Leaving{{Tenure: tenures[0], Next: e}}}},
		Received{from, protocol.Elsewhere{Shards: []string{shard}}},
		Received{from, protocol.Handing{Moves: []protocol.Leaving{{Tenure: tenures[0], Next: e}}}},
		Received{from, protocol.Handed{Acks: acks}},
		Received{from, protocol.Released{Shards: []protocol.Assignment{{Tenure: tenures[0], Previous: from}}}},
		Received{from, protocol.Claim{}},
	}
	if rng.IntN(200) == 0 {
		return Leave{}
	}
	return inputs[rng.IntN(len(inputs))]
}

// anyAnswer answers what was asked, and says of the seats and locks of others what
// it likes.
func anyAnswer(rng *rand.Rand, st *stage, asked Request) Input {
	self := st.actors[0].id.String()
	switch r := asked.(type) {
	case nil:
		return Tick{}
	case Take:
		var taken Taken
		for _, name := range r.Shards {
			if rng.IntN(2) == 0 {
				taken.Locks = append(taken.Locks, Lock{Shard: name, Runner: self, Token: r.Token, Epoch: protocol.Epoch{N: uint64(rng.IntN(9))}})
			}
		}
		return taken
	case Give:
		return Given{}
	case Look:
	}
	if rng.IntN(4) == 0 {
		return Failed{}
	}
	var t Table
	for i, a := range st.actors {
		note := Note{Node: a.id, Leaving: rng.IntN(9) == 0, Agree: []string{"", "x"}[rng.IntN(9)/8]}
		t.Seats = append(t.Seats, Seat{Runner: a.id.String(), Token: uint64(i + 1), Note: note.Append(nil)})
	}
	for n := range 3 {
		a := st.actors[rng.IntN(3)]
		t.Locks = append(t.Locks, Lock{
			Shard: fmt.Sprint(n), Runner: a.id.String(), Token: uint64(rng.IntN(4)), Epoch: protocol.Epoch{N: uint64(rng.IntN(9))},
		})
	}
	return t
}
