package region

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A region that arrives obeys nobody before all have answered who may have counted
// on its node, and then no term that is older than what they know.
func TestArrivingRegionObeysNoTermThatIsOver(t *testing.T) {
	r := arriving(t)
	r.says(a, protocol.Arriving{})
	r.says(c, protocol.Arriving{})
	r.claim(a, 1)
	r.says(a)
	r.from(c, protocol.HighestTerm{Term: 2})
	r.says(a)
	r.from(a, protocol.HighestTerm{Term: 1})
	r.says(a, protocol.Report{Agree: "x"})

	r.claim(a, 1)
	r.says(a, protocol.Refused{Highest: 2})
	r.from(a, protocol.HostShards{Header: r.head(1), Shards: []protocol.Assignment{{Tenure: at(1, 1)}}})
	r.does()
	r.claim(c, 2)
	if r.core.Term() != 2 || r.core.Coordinator() != c {
		t.Errorf("it obeys %v in term %d, want c in term 2", r.core.Coordinator(), r.core.Term())
	}
}

func TestArrivingRegionWaitsForMembersOnly(t *testing.T) {
	for _, tt := range []struct {
		name string
		then func(*rig)
		want bool // it has arrived
	}{
		{"nobody answers", func(*rig) {}, false},
		{"one is unreachable or down, and may not know", func(r *rig) { r.view("a Up", "b Up", "c Down") }, false},
		{"one was removed", func(r *rig) { r.view("a Up", "b Up") }, true},
		{"one has not joined the type", func(r *rig) { r.step(NoPort{From: c}) }, true},
		{"one answers the question when it is repeated", func(r *rig) {
			r.wait(250 * time.Millisecond)
			r.says(c, protocol.Arriving{})
			r.says(a)
			r.from(c, protocol.HighestTerm{})
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := arriving(t)
			r.from(a, protocol.HighestTerm{})
			tt.then(r)
			r.claim(a, 1)
			if got := r.core.Term() == 1; got != tt.want {
				t.Errorf("it obeys: %v, want %v; %v", got, tt.want, r.core.link.unheard)
			}
		})
	}
}

// Who never was Up has counted on nobody.
func TestFirstRegionArrivesAtOnce(t *testing.T) {
	r := &rig{t: t, core: New(b, Settings{Agree: "x"}), now: time.Unix(0, 0), seq: map[uint64]uint64{}}
	r.view("a Joining", "b Up", "c Joining")
	r.says(b, protocol.Report{Agree: "x"})
}

func TestWhyNamesWhoseAnswerAnArrivalWaitsFor(t *testing.T) {
	r := arriving(t)
	r.from(a, protocol.HighestTerm{})
	r.step(Wanted{Shard: "1"})
	if why := r.core.Why("1"); len(why) != 1 || len(why[0].On) != 1 || why[0].On[0].Node != c {
		t.Errorf("why: %v, want c", why)
	}
}
