package gossip

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// Reconcile is [State.Merge] as a member does it: what both sides know of nodes
// on their way out is brought in line before and after.
//
// A member stays as far in its life as either side has it, so Down is final.
//
// A node that the merge drops without a tombstone, because only one side knew
// it and knew it to be on its way out, gets one now: a third side may not know
// the half of it and would bring it back.
//
// Of two incarnations at one address, let in by members that did not know of
// each other, the later one is kept and the earlier one gets a tombstone. That
// may be self.
//
// If the merge has lost the count of a removed node, the result may have the
// clock of one of the two and yet more in it. Then it is made a new version by
// self, since nodes with the same clock take each other's word for having the
// same state. Otherwise a merge is no new version, or two nodes could go on
// merging for ever.
func Reconcile(local, remote *State, self member.ID, now int64) *State {
	l, r := local.forgetCounts(remote), remote.forgetCounts(local)
	merged := l.Merge(r)
	merged.notBack(local)
	merged.notBack(remote)
	for _, side := range []*State{local, remote} {
		for _, m := range side.Members {
			if !merged.Has(m.ID) && !merged.tombstoned(m.ID) {
				merged.Tombstones = bury(merged.Tombstones, m.ID, now)
			}
		}
	}
	merged = merged.withoutReplaced(now)
	merged.Version = slices.DeleteFunc(merged.Version, func(c Count) bool { return !merged.Has(c.Node) })
	for _, side := range []*State{local, remote} {
		if merged.Version.Compare(side.Version) == Same && !merged.sameContent(side) {
			return merged.changedBy(self)
		}
	}
	return merged
}

// withoutReplaced removes the members that have a later incarnation.
func (s *State) withoutReplaced(now int64) *State {
	next := s
	for i := range s.Members[min(1, len(s.Members)):] {
		switch m, o := s.Members[i].ID, s.Members[i+1].ID; {
		case o.Replaces(m):
			next = next.Remove(m, now)
		case m.Replaces(o):
			next = next.Remove(o, now)
		}
	}
	return next
}

// notBack takes over the members of a side that are further in their lives there.
// The receiver is new and not shared yet.
func (s *State) notBack(side *State) {
	for is, was := range pairs(s.Members, side.Members, nodeOfMember) {
		if is != nil && was != nil && life[was.Status] > life[is.Status] {
			*is = *was
		}
	}
}

// forgetCounts drops the counts of members that are on their way out and that
// the other side does not know: it has removed them.
func (s *State) forgetCounts(o *State) *State {
	c := s
	for _, m := range s.Members {
		if going(m.Status) && !o.Has(m.ID) {
			c = c.copy()
			c.Version = c.Version.Prune(m.ID)
		}
	}
	return c
}

// sameContent tells whether two states are the same but for who has seen them,
// and when tombstones were set.
func (s *State) sameContent(o *State) bool {
	return s.Quorum == o.Quorum && slices.EqualFunc(s.Members, o.Members, func(a, b member.Member) bool {
		return a.ID == b.ID && a.Status == b.Status && a.UpNumber == b.UpNumber
	}) && s.Table.equal(o.Table) && slices.EqualFunc(s.Tombstones, o.Tombstones, func(a, b Tombstone) bool {
		return a.Node == b.Node
	})
}

// contradicts tells whether taking over o in place of s would turn a member
// back in its life or bring a removed one back. A newer state does so only if
// its clock counts nodes that were removed.
func (s *State) contradicts(o *State) bool {
	for l, r := range pairs(s.Members, o.Members, nodeOfMember) {
		switch {
		case r == nil:
		case l == nil && s.tombstoned(r.ID), l != nil && life[r.Status] < life[l.Status]:
			return true
		}
	}
	return false
}

// Merge joins two concurrent states. It is commutative but for the removal
// times of tombstones, so nodes that merge the same two states agree without
// another word. Nobody has seen the result.
func (s *State) Merge(o *State) *State {
	merged := &State{Tombstones: mergeTombstones(s.Tombstones, o.Tombstones), ID: s.ID, Quorum: min(s.Quorum, o.Quorum)}
	merged.Version = s.Version.Merge(o.Version)
	merged.Version = slices.DeleteFunc(merged.Version, func(c Count) bool { return merged.tombstoned(c.Node) })
	merged.Members = mergeMembers(s.Members, o.Members, merged.tombstoned)
	merged.Table = s.Table.Merge(o.Table, merged.Has)
	return merged
}

func mergeTombstones(left, right []Tombstone) []Tombstone {
	var merged []Tombstone
	for l, r := range pairs(left, right, nodeOfTombstone) {
		if r == nil {
			r = l
		}
		merged = append(merged, *r)
	}
	return merged
}

// mergeMembers keeps the version of each member that is further on. One that
// only one side has is new there, unless it has a tombstone or was on its way
// out, so that the other side must have removed it already.
func mergeMembers(left, right []member.Member, tombstoned func(member.ID) bool) []member.Member {
	merged := make([]member.Member, 0, max(len(left), len(right)))
	for l, r := range pairs(left, right, nodeOfMember) {
		if l != nil && r != nil {
			merged = append(merged, furtherOn(*l, *r))
			continue
		}
		if l == nil {
			l = r
		}
		if !going(l.Status) && !tombstoned(l.ID) {
			merged = append(merged, *l)
		}
	}
	return merged
}
