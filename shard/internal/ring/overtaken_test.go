package ring

import (
	"testing"
	"time"

	"github.com/troupe-go/troupe/shard/internal/protocol"
)

// A word of where a shard is that was overtaken by the begin of its hand-over sends
// nobody back there: what went would come behind the marker, or to nobody.
func TestOvertakenHousedIsDropped(t *testing.T) {
	st := newStage(t, 2, Settings{Shards: 2})
	st.view(nil)
	st.pass(3 * time.Second)
	host, other := st.owner("0"), st.actors[0]
	if host == other {
		other = st.actors[1]
	}
	before := host.core.shards["0"].housed()
	next := before.Shards[0].Next
	next.N++
	hear := func(m protocol.Peer) { other.step(Received{From: host.id, Msg: m}) }
	hear(protocol.Handing{Moves: []protocol.Leaving{{Tenure: before.Shards[0].Tenure, Next: next}}})
	if hear(before); !other.homes["0"].Node.IsZero() {
		t.Errorf("after the late word the region sends to %v", other.homes["0"])
	}
	kept := protocol.Housed{Shards: []protocol.Leaving{{Tenure: before.Shards[0].Tenure, Next: next}}}
	if hear(kept); other.homes["0"].Node != host.id {
		t.Errorf("when the shard has stayed the region sends to %v, want %v", other.homes["0"], host.id)
	}
}
