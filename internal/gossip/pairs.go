package gossip

import (
	"iter"
	"sort"

	"github.com/troupe-go/troupe/internal/member"
)

// pairs walks two lists, each sorted by node without repeats, side by side:
// every node once, in order, with its element in each list, or nil where it
// has none.
func pairs[T any](left, right []T, node func(*T) *member.ID) iter.Seq2[*T, *T] {
	return func(yield func(l, r *T) bool) {
		for i, j := 0, 0; i < len(left) || j < len(right); {
			order := 0
			switch {
			case i == len(left):
				order = 1
			case j == len(right):
				order = -1
			default:
				order = node(&left[i]).Compare(*node(&right[j]))
			}
			var l, r *T
			if order <= 0 {
				l = &left[i]
				i++
			}
			if order >= 0 {
				r = &right[j]
				j++
			}
			if !yield(l, r) {
				return
			}
		}
	}
}

// search finds the element of a node in a list that is sorted by node, or
// where it would be. It does not copy elements, which are large.
func search[T any](list []T, id member.ID, node func(*T) *member.ID) (int, bool) {
	return sort.Find(len(list), func(i int) int { return id.Compare(*node(&list[i])) })
}

func nodeOfID(id *member.ID) *member.ID        { return id }
func nodeOfMember(m *member.Member) *member.ID { return &m.ID }
func nodeOfCount(c *Count) *member.ID          { return &c.Node }
func nodeOfRow(r *row) *member.ID              { return &r.observer }
func nodeOfRecord(r *record) *member.ID        { return &r.subject }
func nodeOfTombstone(t *Tombstone) *member.ID  { return &t.Node }
