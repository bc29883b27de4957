package sim

import (
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/gossip"
)

// Scale is what a cluster of one size costs at rest, and how long its changes
// take until all agree on them. Times are virtual: they count rounds of the
// protocol and the way of messages, not the work of machines.
type Scale struct {
	Nodes  int     `json:"nodes"`
	Phases []Phase `json:"phases"`
}

// Phase is one change of a cluster, from its cause until every node that runs
// sees the same members, all reachable, and knows that all agree.
type Phase struct {
	Name    string        `json:"name"`
	Took    time.Duration `json:"took"`    // nanoseconds of virtual time
	Rounds  float64       `json:"rounds"`  // of gossip, of a second each
	Mean    float64       `json:"mean"`    // bytes that a node sends in a second, over all nodes
	Busiest float64       `json:"busiest"` // bytes that any one node sent in any one second
	Most    int           `json:"most"`    // messages that any one node sent in any one second
}

// MeasureScale starts so many nodes at once, has 20 more join, lets all rest,
// kills one and at last cuts two fifths off for good. It tells each phase when it
// is over. An error is a cluster that broke an invariant or did not agree within five
// minutes of each.
func MeasureScale(nodes int, seed uint64, tell func(Phase)) error {
	codec, err := CBOR()
	if err != nil {
		return err
	}
	w := newWorld(seed, codec)
	w.traffic = &traffic{}
	phase := func(name string, do func()) { tell(w.phase(name, do)) }
	report := play(w, func(w *World) {
		phase("start", func() { w.startAtOnce(nodes); w.agree() })
		phase("20 joins", func() { w.startAtOnce(20); w.agree() })
		w.Run(5 * time.Second)
		phase("rest", func() { w.Run(20 * time.Second) })
		phase("crash", func() { w.dies(w.nodes[nodes/2]); w.agree() })
		w.Run(5 * time.Second)
		phase("partition", func() { w.cutOff(2 * len(w.nodes) / 5); w.agree() })
	})
	if report != "" {
		return fmt.Errorf("%d nodes: %s", nodes, report)
	}
	return nil
}

func (w *World) agree() { w.Eventually(5*time.Minute, Converged) }

// cutOff cuts the first places off for good, and waits until they have all
// ended.
func (w *World) cutOff(count int) {
	w.Partition(time.Hour, span(0, count), span(count, len(w.nodes)))
	w.Eventually(5*time.Minute, func(w *World) error {
		for _, n := range w.nodes[:count] {
			if n.running() {
				return fmt.Errorf("%s of the smaller side still runs", n.id)
			}
		}
		return nil
	})
}

// span are the places from low to high-1.
func span(low, high int) []int {
	var places []int
	for i := low; i < high; i++ {
		places = append(places, i)
	}
	return places
}

// phase measures what a change takes.
func (w *World) phase(name string, do func()) Phase {
	*w.traffic = traffic{}
	began := w.now
	do()
	took := w.now.Sub(began)
	t := w.traffic
	return Phase{
		Name:    name,
		Took:    took,
		Rounds:  took.Seconds(),
		Mean:    float64(t.bytes) / took.Seconds() / float64(len(w.nodes)),
		Busiest: float64(t.mostBytes),
		Most:    t.mostMessages,
	}
}

// traffic counts what nodes send.
type traffic struct {
	bytes        int
	mostBytes    int // of a node in a second
	mostMessages int
}

// load is what a node has sent in the current second, and how large the state
// was that it sent last.
type load struct {
	second          time.Time
	bytes, messages int
	state           *byte // in its Seen: the same in each copy of the state, and another one in each other
	size            int
}

// count counts a message. States, which are large, are weighed once each.
func (w *World) count(n *node, m gossip.Message, data []byte) error {
	size := len(data)
	if first := firstSeen(m); data == nil && first != nil && first == n.load.state {
		size = n.load.size
	} else if data == nil {
		data, err := w.codec.Encode(m)
		if err != nil {
			return err
		}
		if size = len(data); first != nil {
			n.load.state, n.load.size = first, size
		}
	}
	if second := w.now.Truncate(time.Second); !second.Equal(n.load.second) {
		n.load.second, n.load.bytes, n.load.messages = second, 0, 0
	}
	n.load.bytes += size
	n.load.messages++
	t := w.traffic
	t.bytes += size
	t.mostBytes = max(t.mostBytes, n.load.bytes)
	t.mostMessages = max(t.mostMessages, n.load.messages)
	return nil
}

// firstSeen tells states apart, which may share all else; nil for other messages.
func firstSeen(m gossip.Message) *byte {
	var p gossip.Packed
	switch m := m.(type) {
	case gossip.GossipEnvelope:
		p = m.Gossip
	case gossip.Welcome:
		p = m.Gossip
	default: // carries no state
	}
	if len(p.Seen) == 0 {
		return nil
	}
	return &p.Seen[0]
}
