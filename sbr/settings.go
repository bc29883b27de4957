package sbr

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Settings of a [Resolver]; zero fields have the defaults told beside them.
// All but DryRun must be the same on all nodes of a cluster.
type Settings struct {
	// Strategy decides. Default KeepMajority{}.
	Strategy Strategy
	// StableAfter is how long nothing may have changed before a decision: long
	// enough for an observation to reach everybody on a side, short enough for
	// the other side to have stopped before its work is done again here. Zero
	// follows the size of the cluster, see [StableAfter]; negative decides at
	// once.
	StableAfter time.Duration
	// DownAllWhenUnstable is how much longer than StableAfter reachability may
	// keep changing before everybody is downed: the sides of a network that
	// flaps never agree. Zero is 3/4 of StableAfter, at least 4 s; negative
	// never does it.
	DownAllWhenUnstable time.Duration
	// DryRun decides and tells all, and downs nobody: to see what a strategy
	// would do to a cluster before it is trusted with it. Members that are
	// really gone stay until they are downed by hand. Nodes may differ in it, so
	// that a roll-out can turn it off; the one that decides counts. Default off.
	DryRun bool
}

// maxWait is where a wait for stability is no wait any more: members that are
// gone block whatever needs all, such as joining.
const maxWait = time.Hour

// Validate reports all that cannot be meant, joined, each with what to do.
func (s Settings) Validate() error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if s.StableAfter > maxWait {
		problem("StableAfter is %v: use up to %v, or zero to follow the size of the cluster", s.StableAfter, maxWait)
	}
	if s.DownAllWhenUnstable > maxWait {
		problem("DownAllWhenUnstable is %v: use up to %v, or a negative value to never down all", s.DownAllWhenUnstable, maxWait)
	}
	strategy := s.withDefaults().Strategy
	switch q := strategy.(type) {
	case StaticQuorum:
		if q.Size < 1 {
			problem("StaticQuorum.Size is %d: use more than half of the nodes that the cluster has when it is whole", q.Size)
		}
	case LeaseMajority:
		if q.AcquireDelay < 0 || q.AcquireDelay > maxAcquireDelay {
			problem("LeaseMajority.AcquireDelay is %v: use 0 to %v; 2s is usual", q.AcquireDelay, maxAcquireDelay)
		}
		if s.DownAllWhenUnstable < 0 {
			problem("DownAllWhenUnstable is off and the strategy is %s: a side that never comes to rest would ask when the other has given the lease back; leave it at zero", q.Name())
		}
	}
	role := roleOf(strategy)
	if strings.TrimSpace(role) != role || strings.HasPrefix(role, "dc-") {
		problem("Role %q of %s is not a role name (spaces around it, or the reserved prefix dc-)", role, strategy.Name())
	}
	return errors.Join(problems...)
}

// AskWithin is how long a side asks for the lease before it counts as denied.
const AskWithin = 5 * time.Second

// LeaseTime is how long a side that was granted the lease keeps it: another
// side may have begun to wait later, wait until it loses patience, ask late, and
// must still be refused.
func (s Settings) LeaseTime(members int) time.Duration {
	limit, _ := s.unstableAfter(members)
	return 2*limit + s.asking()
}

// Margin is how much longer than the side that survives another one may go on,
// in a cluster of so many members: for so long what a downed member hosted must
// not start elsewhere.
func (s Settings) Margin(members int) time.Duration { return s.stableAfter(members) + s.asking() }

// asking is how long it may take to be denied the lease; 0 without one.
func (s Settings) asking() time.Duration {
	if l, ok := s.Strategy.(LeaseMajority); ok {
		return l.AcquireDelay + AskWithin
	}
	return 0
}

// StableAfter gives the time that suits a cluster of so many members: 7 s up to
// 5, 10 s up to 10, 13 s up to 20, 17 s up to 50, 20 s up to 100, and 30 s
// beyond.
func StableAfter(members int) time.Duration {
	switch {
	case members <= 5:
		return 7 * time.Second
	case members <= 10:
		return 10 * time.Second
	case members <= 20:
		return 13 * time.Second
	case members <= 50:
		return 17 * time.Second
	case members <= 100:
		return 20 * time.Second
	default:
		return 30 * time.Second
	}
}

func (s Settings) withDefaults() Settings {
	if s.Strategy == nil {
		s.Strategy = KeepMajority{}
	}
	return s
}

func (s Settings) stableAfter(members int) time.Duration {
	if s.StableAfter == 0 {
		return StableAfter(members)
	}
	return max(0, s.StableAfter)
}

// unstableAfter is how long reachability may keep changing; ok is false when
// that is for ever.
func (s Settings) unstableAfter(members int) (limit time.Duration, ok bool) {
	stable := s.stableAfter(members)
	if s.DownAllWhenUnstable == 0 {
		return stable + max(4*time.Second, stable*3/4), true
	}
	return stable + s.DownAllWhenUnstable, s.DownAllWhenUnstable > 0
}
