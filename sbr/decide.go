package sbr

import (
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
	if d.NeedsLease() {
		d.Lease = LeaseAsked
	}
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
	d.Lease = LeaseDenied
	d.Reason = "another side has the lease, or this one could not make sure of it"
	d.AcquireDelay = 0
	return d
}

// granted is what a decision that needs a lease becomes with it.
func (d Decision) granted() Decision {
	d.Lease = LeaseGranted
	d.Reason = "this side has the lease"
	d.AcquireDelay = 0
	return d
}
