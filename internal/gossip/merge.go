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
// A member that only one side has stays, unless the other one has its
// tombstone. The original drops one that is Down or Exiting, for the other side
// must have removed it; but that side may as well never have heard of it, and then a
// node that is still handing over would count as gone.
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
	merged := local.merge(remote, func(member.Member) bool { return false })
	merged.notBack(local)
	merged.notBack(remote)
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
// The receiver is new and not shared yet, unless both sides have the same members.
func (s *State) notBack(side *State) {
	if shared(s.Members, side.Members) {
		return
	}
	for is, was := range pairs(s.Members, side.Members, nodeOfMember) {
		if is != nil && was != nil && life[was.Status] > life[is.Status] {
			*is = *was
		}
	}
}

// sameContent tells whether two states are the same but for who has seen them,
// and when tombstones were set.
func (s *State) sameContent(o *State) bool {
	return s.Quorum == o.Quorum && (shared(s.Members, o.Members) || slices.EqualFunc(s.Members, o.Members, func(a, b member.Member) bool {
		return a.ID == b.ID && a.Status == b.Status && a.UpNumber == b.UpNumber
	})) && s.Table.equal(o.Table) && slices.EqualFunc(s.Tombstones, o.Tombstones, func(a, b Tombstone) bool {
		return a.Node == b.Node
	})
}

// contradicts tells whether taking over o in place of s would turn a member
// back in its life, bring a removed one back or lose one that nobody has
// removed. A newer state does so only if clocks have counted nodes that were
// removed: o's does so still, or s lost the count of who let that member in.
func (s *State) contradicts(o *State) bool {
	if shared(s.Members, o.Members) {
		return false
	}
	for l, r := range pairs(s.Members, o.Members, nodeOfMember) {
		switch {
		case l == nil && s.tombstoned(r.ID), r == nil && !o.tombstoned(l.ID):
			return true
		case l != nil && r != nil && life[r.Status] < life[l.Status]:
			return true
		}
	}
	return false
}

// Merge joins two concurrent states. It is commutative but for the removal
// times of tombstones, so nodes that merge the same two states agree without
// another word. Nobody has seen the result.
func (s *State) Merge(o *State) *State {
	return s.merge(o, func(m member.Member) bool { return going(m.Status) })
}

// merge drops, of the members that only one side has, those that are gone.
func (s *State) merge(o *State, gone func(member.Member) bool) *State {
	merged := &State{Tombstones: mergeTombstones(s.Tombstones, o.Tombstones), ID: s.ID, Quorum: min(s.Quorum, o.Quorum)}
	merged.Version = s.Version.Merge(o.Version)
	merged.Version = slices.DeleteFunc(merged.Version, func(c Count) bool { return merged.tombstoned(c.Node) })
	if shared(s.Members, o.Members) { // nobody is known to one side only, so nobody goes
		merged.Members = s.Members
		merged.Table = s.Table.Merge(o.Table, nil)
		return merged
	}
	merged.Members = mergeMembers(s.Members, o.Members, func(m member.Member) bool { return gone(m) || merged.tombstoned(m.ID) })
	merged.Table = s.Table.Merge(o.Table, merged.Has)
	return merged
}

func mergeTombstones(left, right []Tombstone) []Tombstone {
	var merged []Tombstone
	for l, r := range pairs(left, right, nodeOfTombstone) {
		t := Tombstone{}
		for _, side := range [...]*Tombstone{l, r} {
			if side != nil {
				t = Tombstone{side.Node, side.Removed, max(t.End, side.End)}
			}
		}
		merged = append(merged, t)
	}
	return merged
}

// mergeMembers keeps the version of each member that is further on. One that
// only one side has is new there, unless it is gone.
func mergeMembers(left, right []member.Member, gone func(member.Member) bool) []member.Member {
	merged := make([]member.Member, 0, max(len(left), len(right)))
	for l, r := range pairs(left, right, nodeOfMember) {
		switch {
		case l != nil && r != nil:
			merged = append(merged, furtherOn(*l, *r))
		case l != nil && !gone(*l):
			merged = append(merged, *l)
		case r != nil && !gone(*r):
			merged = append(merged, *r)
		}
	}
	return merged
}
