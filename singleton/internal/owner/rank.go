package owner

import (
	"cmp"
	"hash/fnv"
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// ranked are the members that may own the singleton, the right one first: all
// that are Up in this data center and have the role. They are in the order of
// age, or with Spread in that of rendezvous hashing (Thaler and Ravishankar 1998), by
// name and address: a node that comes takes over only what is its own, one that
// goes gives away only that, and one that restarts gets it back.
func (c *Core) ranked() []member.Member {
	var able []member.Member
	for _, m := range c.view.Members {
		if m.Status == member.Up && c.mayHost(m) {
			able = append(able, m)
		}
	}
	slices.SortFunc(able, func(a, b member.Member) int {
		if !c.set.Spread {
			return a.CompareAge(b)
		}
		return cmp.Or(cmp.Compare(weight(c.set.Name, b.Address), weight(c.set.Name, a.Address)), a.Address.Compare(b.Address))
	})
	return able
}

// mayHost tells whether m could ever have an instance, whatever its status.
func (c *Core) mayHost(m member.Member) bool {
	return m.DataCenter == c.view.DataCenter && m.HasRole(c.set.Role)
}

// right is who should own the singleton, as this node sees it: the first of
// those who may that is not known to lack it.
func (c *Core) right() (member.ID, bool) {
	for _, m := range c.ranked() {
		if !c.absent[m.ID] {
			return m.ID, true
		}
	}
	return member.ID{}, false
}

// weight is FNV-1a, finished as in MurmurHash3: the former alone hardly mixes the
// last digits of an address into the high bits that decide.
func weight(name string, a member.Address) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	h.Write([]byte{0})
	h.Write([]byte(a.String()))
	x := h.Sum64()
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
