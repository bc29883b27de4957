package sbr

import (
	"fmt"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// verdict is what a strategy makes of two sides.
type verdict struct {
	action Action
	delay  time.Duration // before asking for a lease
	reason string
}

// Decide applies a strategy to what one node knows. It does not ask whether the
// node is the one to act or whether the situation is stable: that is the
// [Resolver]'s part.
func Decide(strategy Strategy, in Situation) Decision {
	s := newSides(in)
	v := strategy.choose(s)
	d := Decision{
		Strategy:            strategy.Name(),
		Action:              v.action,
		IndirectlyConnected: s.doubtful,
		Reason:              v.reason,
		AcquireDelay:        v.delay,
		Situation:           s.Situation,
	}
	d.Down, d.FellBack = s.downs(strategy, v.action)
	return d
}

// downs are the nodes that an action downs, in order. fellBack says that the
// members beside the indirectly connected ones could not be sorted into two
// sides either, so that everybody goes.
func (s *sides) downs(strategy Strategy, a Action) (ids []member.ID, fellBack bool) {
	downable := s.downable()
	switch a {
	case DownUnreachable, AcquireLeaseThenDownUnreachable:
		return intersect(downable, s.Unreachable), false
	case DownReachable:
		return subtract(downable, s.Unreachable), false
	case DownEverybody:
		return downable, false
	case DownIndirectlyConnected, AcquireLeaseThenDownIndirectlyConnected:
		rest, fellBack := s.downsBeside(strategy)
		return union(intersect(downable, s.doubtful), rest), fellBack
	case ReverseDownIndirectlyConnected:
		return union(intersect(downable, s.doubtful), subtract(downable, s.Unreachable)), false
	case DownSelf:
		return intersect(downable, []member.ID{s.Self}), false
	}
	return nil, false
}

// downsBeside decides a second time, about the members that are plainly
// unreachable while others are indirectly connected: a partition, or crashes,
// may have come together with a bad link.
func (s *sides) downsBeside(strategy Strategy) (ids []member.ID, fellBack bool) {
	if len(subtract(s.Unreachable, s.doubtful)) == 0 {
		return nil, false
	}
	rest := s.withoutDoubt()
	v := strategy.choose(rest)
	if v.action == DownIndirectlyConnected || v.action == AcquireLeaseThenDownIndirectlyConnected {
		return s.downable(), true
	}
	ids, _ = rest.downs(strategy, v.action)
	return ids, false
}

// NeedsLease tells whether the decision waits for a lease.
func (d Decision) NeedsLease() bool {
	return d.Action == AcquireLeaseThenDownUnreachable || d.Action == AcquireLeaseThenDownIndirectlyConnected
}

// Denied is what a decision that needs a lease becomes when the other side has
// it: this side goes. A decision that needs none stays as it is.
func (d Decision) Denied() Decision {
	switch d.Action {
	case AcquireLeaseThenDownUnreachable:
		d.Action = DownReachable
	case AcquireLeaseThenDownIndirectlyConnected:
		d.Action = ReverseDownIndirectlyConnected
	default:
		return d
	}
	d.Down, d.FellBack = newSides(d.Situation).downs(nil, d.Action)
	d.Reason = "the lease is held by another side"
	d.AcquireDelay = 0
	return d
}

// Describe tells the decision to people: what was seen by whom, which rule
// decided, and what follows.
func (d Decision) Describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s: %s, because %s\n", d.Strategy, d.Situation.Self, d.Action, d.Reason)
	for _, m := range d.Situation.Members {
		fmt.Fprintf(&b, "  %s\n", d.describeMember(m))
	}
	if d.FellBack {
		b.WriteString("no fully connected rest was found, so everybody goes\n")
	}
	if d.NeedsLease() {
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
	var observers []member.ID
	for _, o := range d.Situation.Observations {
		if o.Subject == m.ID {
			observers = append(observers, o.Observer)
		}
	}
	if len(observers) > 0 {
		fmt.Fprintf(&b, ", not reached by %s", list(sorted(observers)))
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
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(id.String())
	}
	return b.String()
}
