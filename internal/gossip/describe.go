package gossip

import (
	"fmt"
	"strings"
)

// Describe tells people where the membership stands and what it waits for.
func (m *Machine) Describe() string {
	var b strings.Builder
	switch m.phase {
	case idle:
		fmt.Fprintf(&b, "%v was not told to join\n", m.cfg.Self)
	case asking:
		fmt.Fprintf(&b, "%v asks the seeds %v for cluster %q\n", m.cfg.Self, m.otherSeeds(), m.cfg.Cluster)
	case waiting:
		fmt.Fprintf(&b, "%v waits for a welcome to cluster %q by %v\n", m.cfg.Self, m.cfg.Cluster, m.join.target)
	case joined, stopped:
		fmt.Fprintf(&b, "%v is %v in cluster %q\n", m.cfg.Self, m.self().Status, m.cfg.Cluster)
	}
	b.WriteString(m.summary().Describe())
	return b.String()
}

// Describe lists the members, what is said against them and who holds up
// convergence.
func (s Summary) Describe() string {
	var b strings.Builder
	for _, m := range s.Members {
		fmt.Fprintf(&b, "  %v %v", m.ID, m.Status)
		if m.ID == s.leader {
			b.WriteString(", leader")
		}
		if !s.SeenBy(m.ID) {
			b.WriteString(", has not seen this version")
		}
		for _, r := range s.Table.rows {
			if j, ok := r.find(m.ID); ok && r.records[j].status != Reachable {
				fmt.Fprintf(&b, ", %v says %v", r.observer, r.records[j].status)
			}
		}
		if ids(s.blocking).has(m.ID) {
			b.WriteString(": blocks convergence")
		}
		b.WriteByte('\n')
	}
	return b.String()
}
