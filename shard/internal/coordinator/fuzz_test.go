package coordinator

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// FuzzStep feeds random inputs, forged ones included: the core must not panic.
func FuzzStep(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		r := newRig(t, Settings{RebalanceEvery: time.Second, Margin: seconds(1), Stored: seed%3 == 0})
		views := [][]string{
			{"a Up", "b Up", "c Up"},
			{"a Up", "b Leaving", "c Up"},
			{"a Up", "b Up", "c Down"},
			{"a Up", "b Up"},
			{"b Up", "a Up"},
			{"a Leaving", "b Up", "c Up"},
			{"a Up", "b Up unreachable", "c Up"},
		}
		for range 300 {
			r.now = r.now.Add(time.Duration(rng.Int64N(int64(time.Second))))
			if rng.IntN(20) == 0 {
				r.view(views[rng.IntN(len(views))]...)
				continue
			}
			r.step(anyInput(rng, r.core))
		}
	})
}

func anyInput(rng *rand.Rand, core *Core) Input {
	shard := string('1' + rune(rng.IntN(3)))
	e := epoch(uint64(rng.IntN(int(core.Term()+1))), uint64(rng.IntN(9)))
	tenure := protocol.Tenure{Shard: shard, Epoch: e}
	tenures := []protocol.Tenure{tenure}
	from := []member.ID{a, b, c}[rng.IntN(3)]
	report := protocol.Report{
		Term: core.Term(), Coordinator: a, Proxy: rng.IntN(9) == 0, Leaving: rng.IntN(9) == 0,
		Hosted:   []protocol.Hosted{{Tenure: tenure, Draining: rng.IntN(2) == 0}, {Tenure: at(shard, 0, 1)}},
		Released: tenures, Wishes: []protocol.Wish{{Shard: shard, To: from.Address, At: e}},
	}
	inputs := []Input{
		Tick{},
		NoPort{from},
		Received{from, report},
		Received{from, protocol.Refused{Highest: uint64(rng.IntN(9))}},
		Received{from, protocol.GetShardHomes{Shards: []string{shard}}},
		Received{from, protocol.ShardsStarted{Shards: tenures}},
		Received{from, protocol.ShardsStopped{Shards: tenures}},
		Received{from, protocol.BeginHandOffAck{Acks: []protocol.Ack{{Shard: shard, Next: e, Marked: true}}}},
		Received{from, protocol.GracefulShutdown{}},
		Received{from, protocol.Claim{}},
		Received{from, protocol.Staying{}},
		Received{from, protocol.WishesKept{Kept: tenures}},
		Received{from, protocol.Loads{Loads: []protocol.Load{{Shard: shard, Messages: rng.Uint64(), Seconds: rng.Uint64()}}}},
		Wish{Shard: shard, To: from.Address, Now: rng.IntN(2) == 0},
		Wish{Shard: shard},
		Release{Shard: shard},
		Raised{Term: uint64(rng.IntN(9))},
	}
	return inputs[rng.IntN(len(inputs))]
}
