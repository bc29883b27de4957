package region

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// FuzzStep feeds random inputs, forged ones included: the core must not panic and
// must not host without an end.
func FuzzStep(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		r := newRig(t)
		hosted := map[string]bool{}
		for range 300 {
			r.now = r.now.Add(time.Duration(rng.Int64N(int64(time.Second))))
			r.step(anyInput(rng, r))
			for _, a := range r.out.Do {
				if h, ok := a.(Host); ok && hosted[h.Shard] {
					t.Fatalf("seed %d: hosts %s twice", seed, h.Shard)
				} else if ok {
					hosted[h.Shard] = true
				}
			}
			for shard := range hosted {
				if !slices.ContainsFunc(r.core.Hosted(), func(h protocol.Hosted) bool { return h.Shard == shard }) {
					delete(hosted, shard)
				}
			}
		}
	})
}

func anyInput(rng *rand.Rand, r *rig) Input {
	shard := string('1' + rune(rng.IntN(3)))
	e := epoch(uint64(rng.IntN(4)), uint64(rng.IntN(6)))
	tenure := protocol.Tenure{Shard: shard, Epoch: e}
	from := []member.ID{a, b, c}[rng.IntN(3)]
	head := r.head(uint64(rng.IntN(4)))
	next := epoch(uint64(rng.IntN(4)), uint64(rng.IntN(9)))
	inputs := []Input{
		NoPort{from},
		Wanted{shard},
		Marked{from, shard, next},
		CarryDone{from, shard, e},
		StaleRoute{from, shard, e},
		Drained{shard, e},
		Emptied{shard, e},
		Tick{},
		Spare{On: rng.IntN(2) == 0},
		Received{from, protocol.Claim{Header: head}},
		Received{from, protocol.Registered{Header: head}},
		Received{from, protocol.ShardHomes{Header: head, Homes: []protocol.Home{{Tenure: tenure, Node: from}}}},
		Received{from, protocol.HostShards{Header: head, Shards: []protocol.Assignment{{Tenure: tenure, Previous: from}}}},
		Received{from, protocol.BeginHandOff{Header: head, Moves: []protocol.Move{{Tenure: tenure, Host: from, Next: next}}}},
		Received{from, protocol.HandOff{Header: head, From: []member.ID{from}, Moves: []protocol.Leaving{{Tenure: tenure, Next: next}}}},
		Received{from, protocol.StopShards{Header: head, Shards: []protocol.Tenure{tenure}}},
		Received{from, protocol.Wishes{Header: head, Wishes: []protocol.Wish{{Shard: shard, To: from.Address, At: e}}}},
		Received{from, protocol.StaleRoute{Shard: shard, Epoch: e}},
		Received{from, protocol.Refused{Highest: 7}},
	}
	return inputs[rng.IntN(len(inputs))]
}
