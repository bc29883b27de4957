package sim

import (
	"slices"

	"github.com/troupe-go/troupe/internal/gossip"
	"github.com/troupe-go/troupe/internal/member"
)

// version is what a vector clock stood for when it was seen first.
type version struct {
	hash    hash // of entries
	entries []versionEntry
}

type versionEntry struct {
	id       member.ID
	status   member.Status
	upNumber int
}

// checkVersion: the same vector clock stands for the same members everywhere.
// Members on their way out are exempt: a merge drops one that only one side
// knows, as the other side may have removed it, and its count with it.
func (w *World) checkVersion(n *node, m gossip.Message) {
	var p gossip.Packed
	if envelope, ok := m.(gossip.GossipEnvelope); ok {
		p = envelope.Gossip
	} else if welcome, ok := m.(gossip.Welcome); ok {
		p = welcome.Gossip
	} else {
		return
	}
	var clock, members hash
	for _, c := range p.Version {
		clock = clock.add(uint64(p.Nodes[c.Node].UID)).add(c.N)
	}
	for _, m := range p.Members {
		members = members.add(uint64(p.Nodes[m.Node].UID)).add(uint64(m.Status)).add(uint64(m.UpNumber))
	}
	known, ok := w.versions[clock]
	if ok && known.hash == members {
		return
	}
	now := version{hash: members}
	for _, m := range p.Members {
		id := p.Nodes[m.Node]
		now.entries = append(now.entries, versionEntry{id, m.Status, m.UpNumber})
		if m.Status == member.Down || m.Status == member.Exiting {
			w.going[id] = true
		}
	}
	if ok && !slices.Equal(w.staying(known), w.staying(now)) {
		w.failf("%s sends members %v, while others had %v under the same vector clock", n.id, now.entries, known.entries)
	}
	w.versions[clock] = now
}

// staying are the entries of members that nobody ever saw on their way out.
func (w *World) staying(v version) []versionEntry {
	return slices.DeleteFunc(slices.Clone(v.entries), func(e versionEntry) bool { return w.going[e.id] })
}

// hash is FNV-1a over words.
type hash uint64

func (h hash) add(v uint64) hash {
	h = (h ^ hash(v&0xffffffff)) * 1099511628211
	return (h ^ hash(v>>32)) * 1099511628211
}
