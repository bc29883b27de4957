package region

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/shard/internal/protocol"
)

func (r *rig) mismatch(term uint64) {
	r.from(a, protocol.Mismatch{Header: r.head(term), Agree: "y"})
}

// A region of other settings waits for no homes, until a coordinator agrees.
func TestRegionOfOtherSettingsAsksForNothing(t *testing.T) {
	r := newRig(t)
	r.claim(a, 3)
	r.step(Wanted{Shard: "1"})
	r.mismatch(3)
	r.says(a)
	if !r.core.Disagrees() {
		t.Error("it has not noticed")
	}
	r.step(Wanted{Shard: "2"})
	r.says(a)
	r.wait(time.Minute)
	r.says(a)
	if !r.out.Wake.IsZero() {
		t.Errorf("it wants to wake at %v, for nothing", r.out.Wake)
	}

	r.claim(a, 4)
	r.from(a, protocol.Registered{Header: r.head(4)})
	if r.core.Disagrees() {
		t.Error("it has not noticed that the new coordinator agrees")
	}
	r.step(Wanted{Shard: "2"})
	r.says(a, protocol.GetShardHomes{Shards: []string{"2"}})
}

// It leaves like the last one: nobody takes anything from it.
func TestRegionOfOtherSettingsLeavesAlone(t *testing.T) {
	r := registered(t)
	r.host(at(3, 1), nobody)
	r.claim(a, 4)
	r.mismatch(4)
	r.step(Leave{})
	r.wait(time.Second)
	if r.out.Left {
		t.Error("it is clear while it hosts")
	}
	r.step(Drained{Shard: "1", Epoch: epoch(3, 1)})
	if !r.out.Left {
		t.Error("it waits for others to take what is left")
	}
}

func TestRegionRefusesAShardThatDoesNotExist(t *testing.T) {
	r := registered(t)
	r.core.set.Exists = func(shard string) bool { return shard != "1" }
	r.host(at(3, 1), nobody)
	r.does()
	r.says(a, protocol.ShardsStopped{Shards: []protocol.Tenure{at(3, 1)}})
}
