package sim

import (
	"fmt"
	"strings"

	"github.com/troupe-go/troupe/internal/member"
)

// Converged is the goal after all faults have ended: the nodes that run, and
// only they, are Up and reachable in the eyes of each of them, and they agree
// on who has seen it.
func Converged(w *World) error {
	var running []*node
	for _, n := range w.nodes {
		if n.running() {
			running = append(running, n)
		}
	}
	for _, n := range running {
		if err := n.settledWith(running); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) settledWith(running []*node) error {
	if len(n.view.Unreachable) > 0 {
		return fmt.Errorf("%s sees %v unreachable", n.id, n.view.Unreachable)
	}
	for _, other := range running {
		if m, ok := n.view.Member(other.id); !ok || m.Status != member.Up {
			return fmt.Errorf("%s sees %s as %s:\n%s", n.id, other.id, m.Status, describeView(n.view))
		}
	}
	if len(n.view.Members) != len(running) {
		return fmt.Errorf("%s sees more than the %d that run:\n%s", n.id, len(running), describeView(n.view))
	}
	if !n.view.Converged {
		return fmt.Errorf("%s has not converged, seen by %v", n.id, n.view.SeenBy)
	}
	return nil
}

func describeView(v *member.View) string {
	var b strings.Builder
	for _, m := range v.Members {
		fmt.Fprintf(&b, "  %s %s, up-number %d, reachable %v\n", m.ID, m.Status, m.UpNumber, v.Reachable(m.ID))
	}
	return b.String()
}
