package region

import (
	"reflect"
	"testing"

	"github.com/troupe-go/troupe/shard/internal/protocol"
)

func TestRegionStopsWhatTheStoreDenies(t *testing.T) {
	r := registered(t)
	r.host(at(3, 1), nobody)
	r.step(Disowned{Shard: "1", Epoch: epoch(3, 0), Highest: epoch(3, 7)}) // of another tenure
	r.does()
	r.step(Disowned{Shard: "1", Epoch: epoch(3, 1), Highest: epoch(3, 7)})
	r.does(Buffer{Shard: "1"}, Kill{Shard: "1"})
	r.says(a)
	if want := []Event{TenureDenied{Shard: "1", Epoch: epoch(3, 1), Highest: epoch(3, 7)}}; !reflect.DeepEqual(r.out.Events, want) {
		t.Errorf("tells %+v, want %+v", r.out.Events, want)
	}
	r.step(Disowned{Shard: "1", Epoch: epoch(3, 1), Highest: epoch(3, 7)}) // another entity's write
	r.does()
	r.step(Drained{Shard: "1", Epoch: epoch(3, 1)})
	r.says(a, protocol.ShardsStopped{Shards: []protocol.Tenure{at(3, 1)}})

	r.host(at(3, 2), nobody) // older than what the store knows
	r.does()
	r.says(a, protocol.ShardsStopped{Shards: []protocol.Tenure{at(3, 2)}})
	r.host(at(3, 8), nobody)
	r.does(Host{Shard: "1", Epoch: epoch(3, 8)})
}

// A coordinator of a term that the store is beyond is told until it has a higher one.
func TestRegionTellsOfTheStoresTerm(t *testing.T) {
	r := registered(t)
	r.host(at(3, 1), nobody)
	r.step(Disowned{Shard: "1", Epoch: epoch(3, 1), Highest: epoch(9, 4)})
	r.says(a, protocol.Refused{Highest: 9})
	r.step(Drained{Shard: "1", Epoch: epoch(3, 1)})
	r.host(at(3, 2), nobody) // the word was lost
	r.says(a, protocol.Refused{Highest: 9}, protocol.ShardsStopped{Shards: []protocol.Tenure{at(3, 2)}})
	r.claim(a, 8)
	r.says(a, protocol.Refused{Highest: 9})
	r.claim(a, 10)
	r.from(a, protocol.Registered{Header: r.head(10)})
	r.host(at(10, 1), nobody)
	r.does(Host{Shard: "1", Epoch: epoch(10, 1)})
}
