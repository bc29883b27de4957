package coordinator

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// odd has c report other settings than the coordinator's.
func (r *rig) odd(hosted ...protocol.Tenure) {
	m := protocol.Report{Term: r.core.Term(), Coordinator: a, Agree: "y"}
	for _, t := range hosted {
		m.Hosted = append(m.Hosted, protocol.Hosted{Tenure: t})
	}
	r.from(c, m)
}

func below8(shard string) bool { return len(shard) == 1 && "0" <= shard && shard < "8" }

// What a region of other settings asks for is not what it would get.
func TestRegionOfOtherSettingsIsNotServed(t *testing.T) {
	r := newRig(t, Settings{})
	r.report(a)
	r.report(b)
	r.odd()
	r.from(c, protocol.GetShardHomes{Shards: []string{"1"}})
	if home := r.home("1"); home != nobody {
		t.Errorf("its question had shard 1 placed at %v", home)
	}
	r.place("1")
	r.from(c, protocol.GetShardHomes{Shards: []string{"1"}})
	r.says(c)
}

// Nothing is given out that a region could not host, whoever asks for it.
func TestUnknownShardIsNeverGivenOut(t *testing.T) {
	r := surveyed(t, Settings{Exists: below8})
	r.from(b, protocol.GetShardHomes{Shards: []string{"12", "x", ""}})
	r.from(b, protocol.ShardsStopped{Shards: []protocol.Tenure{at("12", 1, 1)}})
	r.from(b, protocol.ShardsStarted{Shards: []protocol.Tenure{at("13", 1, 1)}})
	r.from(b, protocol.BeginHandOffAck{Acks: []protocol.Ack{{Shard: "14", Next: epoch(1, 1)}}})
	r.wait(time.Minute)
	for _, shard := range []string{"12", "x", ""} {
		if home := r.home(shard); home != nobody {
			t.Errorf("shard %q was placed at %v", shard, home)
		}
	}
	if n := len(r.core.reign.shards); n != 0 {
		t.Errorf("%d shards are remembered that do not exist", n)
	}
}

// What a region of other settings hosts from before moves to those that agree, and
// what is no shard here is stopped.
func TestShardsOfOtherSettingsMove(t *testing.T) {
	r := newRig(t, Settings{Exists: below8})
	r.report(a)
	r.report(b)
	r.odd(at("1", 0, 5), at("12", 0, 6))
	move := protocol.BeginHandOff{Moves: []protocol.Move{{Tenure: at("1", 0, 5), Host: c, Next: epoch(1, 1)}}}
	r.says(b, move)
	r.says(c, move, protocol.StopShards{Shards: []protocol.Tenure{at("12", 0, 6)}}, protocol.Mismatch{Agree: "x"})
	for _, id := range []member.ID{a, b, c} {
		r.from(id, protocol.BeginHandOffAck{Acks: []protocol.Ack{{Shard: "1", Next: epoch(1, 1)}}})
	}
	r.says(c, protocol.HandOff{Moves: []protocol.Leaving{{Tenure: at("1", 0, 5), Next: epoch(1, 1)}}})
	r.from(c, protocol.ShardsStopped{Shards: []protocol.Tenure{at("1", 0, 5), at("12", 0, 6)}})
	if home := r.home("1"); home != a && home != b {
		t.Errorf("shard 1 went to %v, want one that agrees", home)
	}
	if len(r.core.reign.copies) != 0 {
		t.Errorf("still to be stopped: %v", r.core.reign.copies)
	}
}
