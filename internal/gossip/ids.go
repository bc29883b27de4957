package gossip

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// ids is a set of nodes: sorted, without repeats, never changed in place.
type ids []member.ID

func (s ids) has(id member.ID) bool {
	_, ok := search(s, id, nodeOfID)
	return ok
}

func (s ids) with(id member.ID) ids {
	i, ok := search(s, id, nodeOfID)
	if ok {
		return s
	}
	out := make(ids, 0, len(s)+1)
	return append(append(append(out, s[:i]...), id), s[i:]...)
}

func (s ids) without(id member.ID) ids {
	i, ok := search(s, id, nodeOfID)
	if !ok {
		return s
	}
	return slices.Concat(s[:i], s[i+1:])
}

// union gives one of the two when it holds the other.
func (s ids) union(o ids) ids {
	onlyS, onlyO := 0, 0
	for l, r := range pairs(s, o, nodeOfID) {
		if l == nil {
			onlyO++
		} else if r == nil {
			onlyS++
		}
	}
	switch {
	case onlyO == 0:
		return s
	case onlyS == 0:
		return o
	}
	all := make(ids, 0, len(s)+onlyO)
	for l, r := range pairs(s, o, nodeOfID) {
		if l == nil {
			l = r
		}
		all = append(all, *l)
	}
	return all
}

// setOf sorts a list into a set; the list is the set's from then on.
func setOf(list []member.ID) ids {
	slices.SortFunc(list, member.ID.Compare)
	return slices.Compact(list)
}
