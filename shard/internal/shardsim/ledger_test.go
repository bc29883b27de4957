package shardsim

import (
	"maps"
	"slices"
	"time"

	"github.com/troupe-go/troupe/shard/internal/coordinator"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
	"github.com/troupe-go/troupe/shard/internal/ring"
)

// A ledger knows everything and checks each step.
type ledger struct {
	w       *world
	strict  bool // order per sender must hold
	hosts   map[string]*node
	epochs  map[string]protocol.Epoch
	open    map[message]time.Time // accepted, not handled yet
	last    map[[2]string]int     // the newest handled of a sender, per shard
	seen    map[string]int        // how often a run went where it is interesting
	leaves  []time.Duration
	longest time.Duration  // that a message waited
	perHome map[string]int // how often a shard was hosted
}

func newLedger(w *world) ledger {
	return ledger{
		w: w, hosts: map[string]*node{}, epochs: map[string]protocol.Epoch{}, open: map[message]time.Time{},
		last: map[[2]string]int{}, seen: map[string]int{}, perHome: map[string]int{},
	}
}

func (m message) key() message { m.hops = 0; return m }

func (l *ledger) sent(n *node, p protocol.Packet) {
	l.seen["packets"]++
	if m, ok := p.Msg.(protocol.HostShards); ok && l.w.given != nil {
		for _, a := range m.Shards {
			l.w.given(n, p.To, a)
		}
	}
}

func (l *ledger) accepted(m message) {
	l.seen["accepted"]++
	l.open[m.key()] = l.w.now
}

// starts: nobody begins to work on a message whose shard has a newer owner.
func (l *ledger) starts(n *node, e protocol.Epoch, m message) {
	if l.w.db != nil && e.Less(l.epochs[m.shard]) {
		l.w.fail("%s starts to handle %v by %v, after %v was given", n.name, m, e, l.epochs[m.shard])
	}
}

func (l *ledger) handled(n *node, e protocol.Epoch, m message) {
	l.w.note("%s handles %v by %v", n.name, m, e)
	l.seen["handled"]++
	if l.w.db != nil && e.Less(l.epochs[m.shard]) {
		l.w.fail("%s writes to %s by %v, after %v was given", n.name, m.shard, e, l.epochs[m.shard])
	}
	since, ok := l.open[m.key()]
	l.longest = max(l.longest, l.w.now.Sub(since))
	if !ok {
		l.w.fail("%v is handled twice, now on %s by %v", m, n.name, e)
	}
	delete(l.open, m.key())
	sender := [2]string{m.from, m.shard}
	if l.strict && m.n != l.last[sender]+1 {
		l.w.fail("%v is handled on %s after #%d of the same sender", m, n.name, l.last[sender])
	}
	l.last[sender] = max(l.last[sender], m.n)
}

// hosted: never two hosts at a time, and each by a higher epoch than all before.
func (l *ledger) hosted(n *node, a region.Host) {
	l.seen["hosted"]++
	l.perHome[a.Shard]++
	if other := l.hosts[a.Shard]; other != nil && !other.dead && other.owns() {
		l.w.fail("%s hosts %s by %v while %s still does by %v", n.name, a.Shard, a.Epoch, other.name, l.epochs[a.Shard])
	}
	if !l.epochs[a.Shard].Less(a.Epoch) {
		l.w.fail("%s hosts %s by %v, after %v", n.name, a.Shard, a.Epoch, l.epochs[a.Shard])
	}
	l.hosts[a.Shard], l.epochs[a.Shard] = n, a.Epoch
}

func (l *ledger) unhosted(n *node, shard string) {
	if l.hosts[shard] == n {
		delete(l.hosts, shard)
	}
}

// ended: a node that is gone hosts nothing. One that left in good order has
// kept nothing back, unless there was nobody to give it to.
func (l *ledger) ended(n *node) {
	for _, shard := range l.w.shards {
		l.unhosted(n, shard)
	}
}

func (l *ledger) left(n *node, took time.Duration) {
	l.leaves = append(l.leaves, took)
	if !n.left {
		l.w.note("%s goes without being clear", n.name)
		if l.strict {
			l.w.fail("%s was not clear a minute after it began to leave: %s", n.name, n.clutter())
		}
		return
	}
	for _, shard := range l.w.shards {
		if s := n.slots[shard]; s != nil && l.strict && len(s.carry)+len(s.buffer) > 0 {
			l.w.fail("%s leaves with %d messages for %s", n.name, len(s.carry)+len(s.buffer), shard)
		}
	}
}

func (l *ledger) regionEvent(e region.Event) {
	switch e.(type) {
	case region.MarkersMissing:
		l.seen["markers missing"]++
	case region.CarryMissing:
		l.seen["carry missing"]++
	case region.Disagrees, region.TenureDenied:
	}
}

func (l *ledger) coordinatorEvent(e coordinator.Event) {
	switch e.(type) {
	case coordinator.Reigning:
		l.seen["reigns"]++
	case coordinator.Superseded:
		l.seen["superseded"]++
	case coordinator.Unraised:
		l.seen["unraised"]++
	case coordinator.Slow:
		l.seen["slow"]++
	case coordinator.Kept:
		l.seen["kept"]++
	case coordinator.GoneAhead:
		l.seen["ahead"]++
	case coordinator.DoubleHosted:
		l.seen["doubled"]++
	case coordinator.Moving:
		l.seen["moves"]++
	case coordinator.Surveyed, coordinator.Resigned, coordinator.Placed, coordinator.Disagrees:
	}
}

func (l *ledger) ringEvent(n *node, e ring.Event) {
	switch e.(type) {
	case ring.Unseated:
		l.seen["unseated"]++
		n.unseated, l.strict = true, false // what is stopped at once is not waited for
	case ring.Away:
		l.seen["away"]++
	case ring.Slow:
		l.seen["slow"]++
	case ring.Kept:
		l.seen["kept"]++
	case ring.GoneAhead:
		l.seen["ahead"]++
	case ring.Moving:
		l.seen["moves"]++
	case ring.Sat, ring.Back, ring.Disagrees, ring.Hosting, ring.Gave:
	}
}

// waiting are the accepted messages that nobody has handled. Those that a node
// sent just before it left may have met a host that left meanwhile.
func (l *ledger) waiting() []message {
	outlived := map[string]bool{}
	for _, n := range l.w.nodes {
		outlived[n.name] = n.outlived
	}
	var waiting []message
	for m := range maps.Keys(l.open) {
		if !outlived[m.from] {
			waiting = append(waiting, m)
		}
	}
	slices.SortFunc(waiting, func(a, b message) int { return l.open[a].Compare(l.open[b]) })
	return waiting
}
