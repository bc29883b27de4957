// Package member names the parties of a cluster: addresses, node identities,
// members with their status, and the immutable view of a membership that one
// node holds at one moment.
//
// Everything here is plain data with total orders; it reads no clock and does
// no I/O. Values are safe to share because nobody changes them after they were
// published.
package member

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Status is where a member stands in its life. A member goes from Joining
// (perhaps by WeaklyUp) to Up, Leaving, Exiting and Removed; Down can follow
// any of them but Removed. Unreachable is no status but an observation.
type Status uint8

// The statuses, in the order of a usual life. The numbers travel on the wire.
const (
	Joining Status = iota + 1
	WeaklyUp
	Up
	Leaving
	Exiting
	Down
	Removed
	PreparingForShutdown
	ReadyForShutdown
)

var statusNames = [...]string{
	Joining: "Joining", WeaklyUp: "WeaklyUp", Up: "Up", Leaving: "Leaving", Exiting: "Exiting", Down: "Down",
	Removed: "Removed", PreparingForShutdown: "PreparingForShutdown", ReadyForShutdown: "ReadyForShutdown",
}

// String gives the name that tools know, such as "WeaklyUp".
func (s Status) String() string {
	if int(s) < len(statusNames) && statusNames[s] != "" {
		return statusNames[s]
	}
	return "Unknown"
}

// ParseStatus is the inverse of [Status.String].
func ParseStatus(name string) (Status, bool) {
	i := slices.Index(statusNames[:], name)
	return Status(max(i, 0)), i > 0
}

// NeverUp is the up-number of a member that was never moved to Up: it is
// younger than all others.
const NeverUp = 1<<31 - 1

// A Member is one node's entry in the membership.
type Member struct {
	ID
	Status     Status
	UpNumber   int      // rank of age: smaller is older; NeverUp before Up
	Roles      []string // sorted; never changed in place
	DataCenter string
	AppVersion string
}

// HasRole tells whether m has the role; every member has the empty role.
func (m Member) HasRole(role string) bool {
	return role == "" || slices.Contains(m.Roles, role)
}

// CompareAge orders members of one data center from the oldest to the
// youngest: by up-number, ties by address.
func (m Member) CompareAge(o Member) int {
	return cmp.Or(cmp.Compare(m.UpNumber, o.UpNumber), m.Address.Compare(o.Address))
}

// ErrDifferentDataCenters says that members of different data centers have no
// common order of age.
var ErrDifferentDataCenters = errors.New("member: ages are only comparable inside one data center")

// OldestFirst gives the members of one data center in the order of
// [Member.CompareAge].
func OldestFirst(members []Member) ([]Member, error) {
	for _, m := range members {
		if m.DataCenter != members[0].DataCenter {
			return nil, fmt.Errorf("%w: %v is in %q, %v in %q", ErrDifferentDataCenters,
				members[0].ID, members[0].DataCenter, m.ID, m.DataCenter)
		}
	}
	sorted := slices.Clone(members)
	slices.SortFunc(sorted, Member.CompareAge)
	return sorted, nil
}
