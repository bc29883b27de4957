package sbr

import (
	"fmt"
	"strings"

	"github.com/troupe-go/troupe/internal/member"
)

// String tells the decision in one line: which rule decided after what wait,
// what follows and why, and who is seen how by whom.
func (d Decision) String() string {
	var b strings.Builder
	b.WriteString(d.Strategy)
	if d.Waited > 0 {
		fmt.Fprintf(&b, ", after %v", round(d.Waited))
	}
	if d.DryRun {
		b.WriteString(", dry run (nobody is downed)")
	}
	fmt.Fprintf(&b, ": %s, because %s", d.outcome(), d.Reason)
	if d.FellBack {
		b.WriteString("; no fully connected rest was found")
	}
	if len(d.Situation.Unreachable) > 0 {
		fmt.Fprintf(&b, "; unreachable: %s", accusations(d.Situation.Unreachable, d.Situation.Observations))
	}
	return b.String()
}

// outcome tells what follows.
func (d Decision) outcome() string {
	down := names(d.Down)
	switch d.Action {
	case DownUnreachable:
		return "this side survives and downs " + down
	case DownReachable:
		return "this side goes: it downs " + down
	case DownEverybody:
		return "everybody goes: " + down
	case DownIndirectlyConnected:
		return fmt.Sprintf("whom only some can reach (%s) goes; in all it downs %s", names(d.IndirectlyConnected), down)
	case ReverseDownIndirectlyConnected:
		return "this side, and whom only some can reach, go: it downs " + down
	case DownSelf:
		return "this node goes"
	case AcquireLeaseThenDownUnreachable, AcquireLeaseThenDownIndirectlyConnected:
		if d.Lease == LeaseGranted {
			return "this side survives and downs " + down
		}
		return fmt.Sprintf("this side asks for the lease after %v; with it, it downs %s, without it %s", d.AcquireDelay, down, names(d.Denied().Down))
	}
	return "nothing follows"
}

// Describe tells the decision to people, one member a line: what was seen by
// whom, which rule decided, and what follows.
func (d Decision) Describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s: %s, because %s\n", d.Strategy, d.Situation.Self, d.Action, d.Reason)
	for _, m := range d.Situation.Members {
		fmt.Fprintf(&b, "  %s\n", d.describeMember(m))
	}
	if d.FellBack {
		b.WriteString("no fully connected rest was found, so everybody goes\n")
	}
	if d.Lease == LeaseAsked {
		fmt.Fprintf(&b, "asks for the lease after %v; if it is denied, downs: %s\n", d.AcquireDelay, list(d.Denied().Down))
	}
	fmt.Fprintf(&b, "downs: %s\n", list(d.Down))
	return b.String()
}

func (d Decision) describeMember(m member.Member) string {
	var b strings.Builder
	reachable := "reachable"
	if contains(d.Situation.Unreachable, m.ID) {
		reachable = "unreachable"
	}
	fmt.Fprintf(&b, "%s: %s, %s", m.ID, m.Status, reachable)
	if observers := observersOf(m.ID, d.Situation.Observations); len(observers) > 0 {
		fmt.Fprintf(&b, ", not reached by %s", list(observers))
	}
	if contains(d.IndirectlyConnected, m.ID) {
		b.WriteString(", indirectly connected")
	}
	if !contains(sorted(d.Situation.SeenBy), m.ID) {
		b.WriteString(", has not seen this membership")
	}
	return b.String()
}

func list(ids []member.ID) string {
	if len(ids) == 0 {
		return "nobody"
	}
	texts := make([]string, 0, len(ids))
	for _, id := range ids {
		texts = append(texts, id.String())
	}
	return strings.Join(texts, ", ")
}
