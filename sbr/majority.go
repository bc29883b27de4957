package sbr

import (
	"fmt"

	"github.com/troupe-go/troupe/internal/member"
)

// KeepMajority keeps the side with more than half of the members; of two equal
// sides the one with the lowest address. It suits clusters whose size changes,
// and is the default. When less than a majority survives a crash, all goes.
type KeepMajority struct {
	// Role, if set, counts only the members that have it.
	Role string
}

// Name is "keep-majority".
func (KeepMajority) Name() string { return "keep-majority" }

func (k KeepMajority) choose(s *sides) verdict {
	if len(s.doubtful) > 0 {
		return indirect(DownIndirectlyConnected, s)
	}
	e := electorate{role: k.Role}
	members := s.counted(e)
	if len(members) == 0 {
		return nobodyCounts(k.Role)
	}
	here, there := s.count(e)
	v := s.majority(here, there, members[0])
	if v.action != DownUnreachable {
		return v
	}
	return k.secondLook(s, v)
}

// secondLook asks whether this side would survive too if the membership had
// changed on the other side before the partition in the worst way: all who are
// joining have come up there, and all who are leaving have left here.
func (k KeepMajority) secondLook(s *sides, v verdict) verdict {
	staying := electorate{role: k.Role, staying: true}
	members := s.counted(staying)
	if len(members) == 0 {
		return verdict{action: DownEverybody, reason: v.reason + "; but all who count are leaving"}
	}
	here, _ := s.count(staying)
	_, there := s.count(electorate{role: k.Role, joining: true})
	lowest := members[0]
	if s.Wary {
		if first := s.counted(electorate{role: k.Role, joining: true, staying: true})[0]; s.isUnreachable(first.ID) && first.ID.Compare(lowest.ID) < 0 {
			lowest = first
		}
	}
	if worst := s.majority(here, there, lowest); worst.action != DownUnreachable {
		return verdict{action: DownEverybody, reason: v.reason + "; but the other side may count differently, as members were joining or leaving: " + worst.reason}
	}
	return v
}

func (s *sides) majority(here, there int, lowest member.Member) verdict {
	numbers := fmt.Sprintf("%d of the members that count are on this side and %d on the other", here, there)
	switch {
	case here > there:
		return verdict{action: DownUnreachable, reason: numbers}
	case here < there:
		return verdict{action: DownReachable, reason: numbers}
	case s.isUnreachable(lowest.ID):
		return verdict{action: DownReachable, reason: fmt.Sprintf("%s, where the lowest address %s is", numbers, lowest.ID)}
	default:
		return verdict{action: DownUnreachable, reason: fmt.Sprintf("%s; the lowest address %s is here", numbers, lowest.ID)}
	}
}

func indirect(a Action, s *sides) verdict {
	return verdict{action: a, reason: fmt.Sprintf("some members reach %s and others do not", list(s.doubtful))}
}

func nobodyCounts(role string) verdict {
	reason := "no member counts: none is up"
	if role != "" {
		reason += fmt.Sprintf(" and has the role %q", role)
	}
	return verdict{action: DownEverybody, reason: reason}
}
