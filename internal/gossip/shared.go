package gossip

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// Most states differ from the one before in who has seen them only, or in a row of
// the table. In large clusters it is most of the work to find that out for each
// list anew; so what a node takes in shares the lists of what it had, where they
// are the same, and whoever compares two lists looks first whether they are one.

// shared tells whether two lists are the very same one. If not they may still
// be equal.
func shared[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// sharing is s, which nobody else has yet, with the lists of o where they are equal.
func (s *State) sharing(o *State) *State {
	if slices.EqualFunc(s.Members, o.Members, sameMember) {
		s.Members = o.Members
	}
	s.Table = s.Table.sharing(o.Table)
	if slices.Equal(s.Version, o.Version) {
		s.Version = o.Version
	}
	if slices.Equal(s.Tombstones, o.Tombstones) {
		s.Tombstones = o.Tombstones
	}
	return s
}

// sameMember compares all fields.
func sameMember(a, b member.Member) bool {
	return a.UpNumber == b.UpNumber && a.Status == b.Status && a.ID == b.ID &&
		a.DataCenter == b.DataCenter && a.AppVersion == b.AppVersion && slices.Equal(a.Roles, b.Roles)
}

// sharing is t, which nobody else has yet, with the rows of o where they are equal.
func (t Table) sharing(o Table) Table {
	if len(t.rows) == 0 {
		return t // an empty table is none
	}
	same := 0
	for l, r := range pairs(t.rows, o.rows, nodeOfRow) {
		if l != nil && r != nil && l.version == r.version && slices.Equal(l.records, r.records) {
			l.records = r.records
			same++
		}
	}
	if same == len(t.rows) && same == len(o.rows) {
		return o
	}
	return t
}

// sameRow compares all fields.
func sameRow(a, b row) bool {
	return a.version == b.version && a.observer == b.observer && (shared(a.records, b.records) || slices.Equal(a.records, b.records))
}
