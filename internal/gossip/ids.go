package gossip

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// ids is a set of nodes: sorted, without repeats, never changed in place.
type ids []member.ID

func (s ids) has(id member.ID) bool {
	_, ok := slices.BinarySearchFunc(s, id, member.ID.Compare)
	return ok
}

func (s ids) with(id member.ID) ids {
	i, ok := slices.BinarySearchFunc(s, id, member.ID.Compare)
	if ok {
		return s
	}
	out := make(ids, 0, len(s)+1)
	return append(append(append(out, s[:i]...), id), s[i:]...)
}

func (s ids) without(id member.ID) ids {
	i, ok := slices.BinarySearchFunc(s, id, member.ID.Compare)
	if !ok {
		return s
	}
	return slices.Concat(s[:i], s[i+1:])
}

// union gives one of the two when it holds the other.
func (s ids) union(o ids) ids {
	if len(s) < len(o) {
		s, o = o, s
	}
	missing := 0
	for _, id := range o {
		if !s.has(id) {
			missing++
		}
	}
	if missing == 0 {
		return s
	}
	all := slices.Concat(s, o)
	slices.SortFunc(all, member.ID.Compare)
	return slices.Compact(all)
}

// setOf sorts a list into a set; the list is the set's from then on.
func setOf(list []member.ID) ids {
	slices.SortFunc(list, member.ID.Compare)
	return slices.Compact(list)
}
