package sbr

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// A partition of a large cluster changes hundreds of members at once, one after the
// other. So what a resolver asks of the unreachable after each is counted along.

// unreached counts members that cannot be reached.
type unreached struct {
	unsettled int // that had a part and are not on their way out
	downable  int // that a decision would be about

	list  []member.ID // the downable ones, in order, once asked for; nobody changes it
	known bool        // the list is of now
}

// amend changes what is known of one member, and counts anew what it counts for.
func (r *Resolver) amend(id member.ID, change func()) {
	r.count(id, -1)
	change()
	r.count(id, +1)
}

func (r *Resolver) count(id member.ID, by int) {
	i, ok := r.find(id)
	if !ok || !contains(r.unreachable, id) {
		return
	}
	r.unreached.known = false
	if downable(r.members[i]) {
		r.unreached.downable += by
	}
	switch r.members[i].Status {
	case member.Down, member.Exiting, member.Joining, member.WeaklyUp:
	default:
		r.unreached.unsettled += by
	}
}

func (r *Resolver) put(m member.Member) {
	r.amend(m.ID, func() {
		i, ok := r.find(m.ID)
		if ok {
			r.members[i] = m
		} else {
			r.members = slices.Insert(r.members, i, m)
		}
	})
}

func (r *Resolver) drop(id member.ID) {
	r.amend(id, func() {
		if i, ok := r.find(id); ok {
			r.members = slices.Delete(r.members, i, i+1)
		}
		r.unreachable = without(r.unreachable, id)
	})
}

func (r *Resolver) reach(id member.ID, reachable bool) {
	r.amend(id, func() {
		if reachable {
			r.unreachable = without(r.unreachable, id)
		} else {
			r.unreachable = with(r.unreachable, id)
		}
	})
}

// missed are the unreachable members that a decision would be about.
func (r *Resolver) missed() []member.ID {
	u := &r.unreached
	switch {
	case u.downable == 0:
		return nil
	case !u.known:
		u.known = true
		u.list = slices.DeleteFunc(slices.Clone(r.unreachable), func(id member.ID) bool { return !r.mayDown(id) })
	}
	return u.list
}

// with adds to a set that nobody else has.
func with(set []member.ID, id member.ID) []member.ID {
	i, there := slices.BinarySearchFunc(set, id, member.ID.Compare)
	if there {
		return set
	}
	return slices.Insert(set, i, id)
}

// without takes away from a set that nobody else has.
func without(set []member.ID, id member.ID) []member.ID {
	i, there := slices.BinarySearchFunc(set, id, member.ID.Compare)
	if !there {
		return set
	}
	return slices.Delete(set, i, i+1)
}

// covers tells whether a set has all of another one.
func covers(set, of []member.ID) bool {
	for _, id := range of {
		for len(set) > 0 && set[0].Compare(id) < 0 {
			set = set[1:]
		}
		if len(set) == 0 || set[0] != id {
			return false
		}
	}
	return true
}
