package sbr

import "fmt"

// StaticQuorum keeps a side that has at least Size members. It suits clusters
// of a fixed size N, with Size = N/2 + 1: then crashes may happen one after the
// other down to Size members. With more than 2*Size-1 members two sides could
// both have a quorum, so that everything is downed; do not let it grow so far.
type StaticQuorum struct {
	// Role, if set, counts only the members that have it.
	Role string
	// Size is the number of members that a side needs.
	Size int
}

// Name is "static-quorum".
func (StaticQuorum) Name() string { return "static-quorum" }

func (q StaticQuorum) choose(s *sides) verdict {
	here, there := s.count(electorate{role: q.Role})
	switch {
	case here+there > 2*q.Size-1:
		return verdict{action: DownEverybody, reason: fmt.Sprintf("%d members count, more than the %d for which a quorum of %d is safe", here+there, 2*q.Size-1, q.Size)}
	case len(s.doubtful) > 0:
		return indirect(DownIndirectlyConnected, s)
	case here >= q.Size:
		return verdict{action: DownUnreachable, reason: fmt.Sprintf("%d members that count are on this side, a quorum of %d", here, q.Size)}
	default:
		return verdict{action: DownReachable, reason: fmt.Sprintf("%d members that count are on this side, less than the quorum of %d", here, q.Size)}
	}
}
