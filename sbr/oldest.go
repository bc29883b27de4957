package sbr

import (
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// KeepOldest keeps the side of the oldest member, where singletons run: they
// need not move. A crash of just the oldest would take all others with it
// unless DownIfAlone is set.
type KeepOldest struct {
	// Role, if set, counts only the members that have it.
	Role string
	// DownIfAlone gives the oldest up when it is alone and the other side has
	// at least two members.
	DownIfAlone bool
}

// Name is "keep-oldest".
func (KeepOldest) Name() string { return "keep-oldest" }

func (k KeepOldest) choose(s *sides) verdict {
	if len(s.doubtful) > 0 {
		return indirect(DownIndirectlyConnected, s)
	}
	all := electorate{role: k.Role}
	v, ok := k.ask(s, all, all)
	if !ok {
		return nobodyCounts(k.Role)
	}
	if v.action != DownUnreachable {
		return v
	}
	// The other side may have seen another oldest go, or more members come.
	worst, ok := k.ask(s, electorate{role: k.Role, staying: true}, electorate{role: k.Role, staying: true, joining: k.DownIfAlone})
	if !ok {
		return verdict{action: DownEverybody, reason: v.reason + "; but all who count are leaving"}
	}
	if worst.action != DownUnreachable {
		return verdict{action: DownEverybody, reason: v.reason + "; but the other side may count differently, as members were joining or leaving: " + worst.reason}
	}
	return v
}

// ask applies the rule with the oldest of one electorate and the numbers of
// another; it is false when there is no oldest.
func (k KeepOldest) ask(s *sides, elders, voters electorate) (v verdict, ok bool) {
	members := s.counted(elders)
	if len(members) == 0 {
		return verdict{}, false
	}
	oldest := slices.MinFunc(members, member.Member.CompareAge)
	here, there := s.count(voters)
	if s.isUnreachable(oldest.ID) {
		if k.DownIfAlone && there == 1 && here > 1 {
			return verdict{action: DownUnreachable, reason: fmt.Sprintf("the oldest %s is on the other side, but alone", oldest.ID)}, true
		}
		return verdict{action: DownReachable, reason: fmt.Sprintf("the oldest %s is on the other side", oldest.ID)}, true
	}
	if k.DownIfAlone && here == 1 && there > 1 {
		return verdict{action: DownReachable, reason: fmt.Sprintf("the oldest %s is on this side, but alone", oldest.ID)}, true
	}
	return verdict{action: DownUnreachable, reason: fmt.Sprintf("the oldest %s is on this side", oldest.ID)}, true
}
