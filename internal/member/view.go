package member

import (
	"slices"
	"sort"
)

// An Observation says that Observer holds Subject for unreachable.
type Observation struct {
	Observer, Subject ID
}

// A View is the membership as one node sees it at one moment. It is immutable:
// each change makes a new one.
type View struct {
	Self         ID
	Cluster      ClusterID // which cluster of the name; zero before this node has joined
	DataCenter   string
	Members      []Member      // all of the cluster, in the order of ID.Compare
	Unreachable  []ID          // members that this node's data center treats as unreachable, in order
	Crashed      []ID          // Down members of whom a majority has confirmed that their process is gone; in order
	Departed     []Departure   // members that were removed lately, the last few hundred, in order
	Observations []Observation // negative records of the reachability table, sorted
	SeenBy       []ID          // who has seen this very version, in order
	Leader       ID            // zero when there is none
	Converged    bool          // all reachable members have seen this version
	Blocking     []ID          // who holds up convergence, by being unreachable or not having seen this version
}

// Member finds the member with exactly this identity.
func (v *View) Member(id ID) (Member, bool) {
	i, ok := sort.Find(len(v.Members), func(i int) int { return id.Compare(v.Members[i].ID) }) // copies no members, which are large
	if !ok {
		return Member{}, false
	}
	return v.Members[i], true
}

// At finds the member at an address, whatever its incarnation.
func (v *View) At(a Address) (Member, bool) {
	i := slices.IndexFunc(v.Members, func(m Member) bool { return m.Address == a })
	if i < 0 {
		return Member{}, false
	}
	return v.Members[i], true
}

// SelfMember is this node's own entry; ok is false before it has joined and
// after it was removed.
func (v *View) SelfMember() (m Member, ok bool) { return v.Member(v.Self) }

// Reachable tells whether id is a member that is not held for unreachable.
func (v *View) Reachable(id ID) bool {
	_, ok := v.Member(id)
	_, bad := slices.BinarySearchFunc(v.Unreachable, id, ID.Compare)
	return ok && !bad
}

// Oldest finds the oldest member with the role among those in one of the given
// statuses, in this node's data center.
func (v *View) Oldest(role string, in ...Status) (Member, bool) {
	var oldest Member
	found := false
	for _, m := range v.Members {
		if m.DataCenter != v.DataCenter || !m.HasRole(role) || !slices.Contains(in, m.Status) {
			continue
		}
		if !found || m.CompareAge(oldest) < 0 {
			oldest, found = m, true
		}
	}
	return oldest, found
}
