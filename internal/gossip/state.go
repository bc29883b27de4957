package gossip

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// State is what the members gossip about. It is immutable: each change makes a
// new State that shares what has not changed.
type State struct {
	Members    []member.Member // in the order of member.ID.Compare; one at each address at most
	Seen       []member.ID     // who has seen exactly this version, in order
	Table      Table           // who can reach whom
	Version    Clock           // counts the changes; one entry per member at most
	Tombstones []Tombstone     // removed nodes, in order

	// ID is the cluster's, the same in all its states; zero only before this
	// node is a member.
	ID member.ClusterID
	// Quorum is how many members must be there before the first ones come up;
	// zero once they have, and where a single node may found. See [JoinContacts].
	Quorum int
}

// Tombstone keeps a removed node from coming back with somebody's old state.
type Tombstone struct {
	Node    member.ID
	Removed int64      // Unix milliseconds at the node that removed it; only as exact as their clocks agree
	End     member.End // as those who removed it knew
}

// stage tells how far the cluster has come, as far as this version tells.
func (s *State) stage() Stage {
	switch {
	case s.Quorum == 0:
		return Begun
	case len(s.Members) < s.Quorum:
		return Incomplete
	default:
		return Complete
	}
}

// Member finds a member by identity.
func (s *State) Member(id member.ID) (member.Member, bool) {
	i, ok := s.find(id)
	if !ok {
		return member.Member{}, false
	}
	return s.Members[i], true
}

func (s *State) find(id member.ID) (int, bool) {
	return search(s.Members, id, nodeOfMember)
}

// Has tells whether the node is a member.
func (s *State) Has(id member.ID) bool {
	_, ok := s.find(id)
	return ok
}

// at finds the member at an address, whatever its incarnation.
func (s *State) at(a member.Address) (member.Member, bool) {
	i, ok := slices.BinarySearchFunc(s.Members, a, func(m member.Member, a member.Address) int { return m.Address.Compare(a) })
	if !ok {
		return member.Member{}, false
	}
	return s.Members[i], true
}

// occupied tells whether there is a member at an address.
func (s *State) occupied(a member.Address) bool {
	_, ok := s.at(a)
	return ok
}

// SeenBy tells whether the node has seen this version.
func (s *State) SeenBy(id member.ID) bool { return ids(s.Seen).has(id) }

// tombstoned tells whether the node was removed.
func (s *State) tombstoned(id member.ID) bool {
	_, ok := search(s.Tombstones, id, nodeOfTombstone)
	return ok
}

// copy is shallow: the caller replaces whole fields.
func (s *State) copy() *State {
	c := *s
	return &c
}

// Update replaces the given members and adds those that are new.
func (s *State) Update(members ...member.Member) *State {
	c := s.copy()
	c.Members = slices.Clone(s.Members)
	for _, m := range members {
		if i, ok := c.find(m.ID); ok {
			c.Members[i] = m
		} else {
			c.Members = slices.Insert(c.Members, i, m)
		}
	}
	return c
}

// MarkDown makes a member Down and takes back that it has seen this version:
// it has no say any more.
func (s *State) MarkDown(id member.ID) *State {
	m, ok := s.Member(id)
	if !ok {
		return s
	}
	m.Status = member.Down
	c := s.Update(m)
	c.Seen = ids(s.Seen).without(id)
	return c
}

// Remove takes a node out of everything and leaves a tombstone: another one has
// taken its place, unless its end was known.
func (s *State) Remove(id member.ID, now int64) *State {
	return s.remove(id, now, max(s.end(id), member.Downed))
}

// end is how a member goes that has not said so itself.
func (s *State) end(id member.ID) member.End {
	switch m, _ := s.Member(id); {
	case m.Status != member.Down:
		return member.Silent
	case s.Table.Worst(id) == Terminated:
		return member.Crashed
	default:
		return member.Downed
	}
}

func (s *State) remove(id member.ID, now int64, end member.End) *State {
	c := s.copy()
	if i, ok := s.find(id); ok {
		c.Members = slices.Concat(s.Members[:i], s.Members[i+1:])
	}
	c.Seen = ids(s.Seen).without(id)
	c.Table = s.Table.Remove(id)
	c.Version = s.Version.Prune(id)
	c.Tombstones = bury(s.Tombstones, Tombstone{id, now, end})
	return c
}

// bury adds a tombstone, or renews it.
func bury(stones []Tombstone, t Tombstone) []Tombstone {
	i, ok := search(stones, t.Node, nodeOfTombstone)
	stones = slices.Clone(stones)
	if ok {
		t.End = max(t.End, stones[i].End)
		stones[i] = t
		return stones
	}
	return slices.Insert(stones, i, t)
}

// PruneTombstones forgets removals up to a time.
func (s *State) PruneTombstones(upTo int64) *State {
	old := func(t Tombstone) bool { return t.Removed <= upTo }
	if !slices.ContainsFunc(s.Tombstones, old) {
		return s
	}
	c := s.copy()
	c.Tombstones = slices.DeleteFunc(slices.Clone(s.Tombstones), old)
	return c
}

// seenAlso adds a node to those that have seen this version.
func (s *State) seenAlso(id member.ID) *State { return s.withSeen(ids(s.Seen).with(id)) }

func (s *State) withSeen(seen ids) *State {
	if len(seen) == len(s.Seen) && slices.Equal(seen, s.Seen) {
		return s
	}
	c := s.copy()
	c.Seen = seen
	return c
}

// withTable gives s itself when the table is the same.
func (s *State) withTable(t Table) *State {
	if s.Table.equal(t) {
		return s
	}
	c := s.copy()
	c.Table = t
	return c
}

// changedBy makes a new version out of changes by a member: nobody but the
// given ones has seen it.
func (s *State) changedBy(id member.ID, seen ...member.ID) *State {
	c := s.copy()
	c.Version = s.Version.Increment(id)
	c.Seen = seen
	return c
}
