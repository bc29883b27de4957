package gossip

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// Merge joins two concurrent states. It is commutative but for the removal
// times of tombstones, so nodes that merge the same two states agree without
// another word. Nobody has seen the result.
func (s *State) Merge(o *State) *State {
	merged := &State{Tombstones: mergeTombstones(s.Tombstones, o.Tombstones)}
	merged.Version = s.Version.Merge(o.Version)
	merged.Version = slices.DeleteFunc(merged.Version, func(c Count) bool { return merged.tombstoned(c.Node) })
	merged.Members = mergeMembers(s.Members, o.Members, merged.tombstoned)
	merged.Table = s.Table.Merge(o.Table, merged.Has)
	return merged
}

func mergeTombstones(left, right []Tombstone) []Tombstone {
	if len(left) == 0 {
		return right
	}
	merged := left
	for _, t := range right {
		merged = bury(merged, t.Node, t.Removed)
	}
	return merged
}

// mergeMembers keeps the version of each member that is further on. One that
// only one side has is new there, unless it has a tombstone or was on its way
// out, so that the other side must have removed it already.
func mergeMembers(left, right []member.Member, tombstoned func(member.ID) bool) []member.Member {
	merged := make([]member.Member, 0, max(len(left), len(right)))
	alone := func(m member.Member) {
		if !going(m.Status) && !tombstoned(m.ID) {
			merged = append(merged, m)
		}
	}
	for len(left) > 0 && len(right) > 0 {
		order := left[0].ID.Compare(right[0].ID)
		switch {
		case order < 0:
			alone(left[0])
			left = left[1:]
		case order > 0:
			alone(right[0])
			right = right[1:]
		default:
			merged = append(merged, furtherOn(left[0], right[0]))
			left, right = left[1:], right[1:]
		}
	}
	for _, m := range left {
		alone(m)
	}
	for _, m := range right {
		alone(m)
	}
	return merged
}
