package sbr

import (
	"fmt"
	"time"
)

// maxAcquireDelay bounds LeaseMajority.AcquireDelay: for longer nobody wants to
// wait for an answer from either side.
const maxAcquireDelay = time.Minute

// LeaseMajority lets a lease decide, which only one side can get: it needs a
// store that both sides can reach, and is then safe whatever the sides count.
// The smaller side asks later, so that the larger one usually survives.
type LeaseMajority struct {
	// Role, if set, counts only the members that have it.
	Role string
	// AcquireDelay is how long the smaller side waits before it asks. Zero
	// gives both the same chance; 2 s is usual.
	AcquireDelay time.Duration
}

// Name is "lease-majority".
func (LeaseMajority) Name() string { return "lease-majority" }

func (l LeaseMajority) choose(s *sides) verdict {
	if len(s.doubtful) > 0 {
		return indirect(AcquireLeaseThenDownIndirectlyConnected, s)
	}
	v := verdict{action: AcquireLeaseThenDownUnreachable, reason: "the side with the lease survives"}
	e := electorate{role: l.Role}
	members := s.counted(e)
	if len(members) == 0 {
		return v
	}
	here, there := s.count(e)
	if s.majority(here, there, members[0]).action == DownReachable {
		v.delay = l.AcquireDelay
		v.reason += fmt.Sprintf("; this one, with %d against %d members that count, lets the other one go first", here, there)
	}
	return v
}
