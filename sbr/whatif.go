package sbr

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// An Outlook tells which side would survive each split of a cluster into two
// whole sides: all splits, put together where they end alike.
type Outlook struct {
	Strategy string
	Role     string  // only members that have it count; empty: all may
	Counted  int     // members that the strategy counts
	Others   int     // members that it does not count, now or at its second look; they go with their side
	Settled  int     // members that come or go and are taken as if they had: see [WhatIf]
	Splits   []Split // by the size of the smaller side
	// Crashes is how many of the members that count may crash at the same moment,
	// whoever they are, so that the others survive.
	Crashes int
}

// A Split stands for all splits that leave so many of the members that count on
// the smaller side, and end alike. Of two equal sides the smaller one is the one
// without the member that decides.
type Split struct {
	Least, Most int    // members that count on the smaller side
	Where       string // what else tells these splits from others of the same sizes; empty: nothing
	Fate        Fate
	Of          member.ID // for SideOf
}

// A Fate is who survives a split.
type Fate uint8

// The fates.
const (
	Nobody      Fate = iota
	LargerSide       // and the smaller side downs itself
	SmallerSide      // and the larger side downs itself
	SideOf           // the side of the member Split.Of
	ByLease          // the side that gets the lease first, usually the larger one
	BothSides        // a split brain: no strategy promises it
)

// WhatIf applies a strategy to each split of a cluster of such members, which
// are those of one data center. In a cluster of more than fifty, members that are
// joining are taken for Up and members that are leaving for gone: the table would
// be longer than anybody reads. It is work for its own goroutine: a thousand members
// take it a second or two.
func WhatIf(strategy Strategy, members []member.Member) Outlook {
	members, settled := settle(members)
	w := newSplitter(strategy, members)
	o := Outlook{
		Strategy: strategy.Name(), Role: w.role, Counted: w.counted, Others: w.others, Settled: settled,
		Crashes: max(0, w.counted-1),
	}
	bySize := make([][]split, w.counted/2+1)
	for s := range w.all {
		size := w.size(s.here)
		bySize[size] = append(bySize[size], s)
		if !s.larger {
			o.Crashes = min(o.Crashes, size-1)
		}
		if !s.smaller {
			o.Crashes = min(o.Crashes, w.counted-size-1)
		}
	}
	kinds := make([]int, len(w.kinds))
	for i := range kinds {
		kinds[i] = i
	}
	for size, splits := range bySize {
		if len(splits) == 0 {
			continue
		}
		for _, row := range w.sum(Split{Least: size, Most: size}, splits, kinds) {
			o.Splits = merge(o.Splits, row)
		}
	}
	return o
}

// manyMembers is the number beyond which members that come or go are settled.
const manyMembers = 50

// settle lets members come and go if they are many.
func settle(members []member.Member) (still []member.Member, settled int) {
	if len(members) <= manyMembers {
		return members, 0
	}
	for _, m := range members {
		leaving, joining := m.Status == member.Leaving, m.Status == member.Joining || m.Status == member.WeaklyUp
		if leaving || joining {
			settled++
		}
		if joining {
			m.Status = member.Up
		}
		if !leaving {
			still = append(still, m)
		}
	}
	return still, settled
}

// merge adds a row, to one that differs in nothing but the size if there is one.
func merge(rows []Split, row Split) []Split {
	i := slices.IndexFunc(rows, func(r Split) bool {
		return r.Most == row.Least-1 && r.Where == row.Where && r.Fate == row.Fate && r.Of == row.Of
	})
	if i < 0 {
		return append(rows, row)
	}
	rows[i].Most = row.Most
	return rows
}

// splitter makes the splits of a cluster. Members that no rule can tell apart
// are of one kind, and only how many of a kind are on a side makes a split.
type splitter struct {
	strategy Strategy
	role     string
	members  []member.Member // that the strategy may count, in the order of member.ID.Compare
	kinds    []kind
	counted  int
	others   int
}

type kind struct {
	name    string
	ids     []member.ID
	counted bool // at the first look
	pivot   bool // one member, which may decide by its place
}

// split is one way to put so many of each kind on the smaller side.
type split struct {
	here            []int // of each kind
	smaller, larger bool  // survives, if only with the lease
	lease           bool
}

func newSplitter(strategy Strategy, members []member.Member) *splitter {
	w := &splitter{strategy: strategy, role: roleOf(strategy)}
	first, staying, all := electorate{role: w.role}, electorate{role: w.role, staying: true}, electorate{role: w.role, joining: true}
	for _, m := range members {
		switch {
		case all.has(m):
			w.members = append(w.members, m)
		case downable(m):
			w.others++
		}
	}
	slices.SortFunc(w.members, func(a, b member.Member) int { return a.ID.Compare(b.ID) })
	w.pivots(first, staying)
	rest := []kind{{counted: true, name: "up"}, {counted: true, name: "leaving"}, {name: "joining"}}
	for _, m := range w.members {
		if first.has(m) {
			w.counted++
		}
		if slices.ContainsFunc(w.kinds, func(k kind) bool { return k.ids[0] == m.ID }) {
			continue
		}
		i := 0
		if !first.has(m) {
			i = 2
		} else if !staying.has(m) {
			i = 1
		}
		rest[i].ids = append(rest[i].ids, m.ID)
	}
	w.kinds = append(w.kinds, slices.DeleteFunc(rest, func(k kind) bool { return len(k.ids) == 0 })...)
	return w
}

// pivots makes a kind of each member that may decide by its place: the first in
// the strategy's order, and the first of those that stay.
func (w *splitter) pivots(electorates ...electorate) {
	name, order := "lowest address", func(a, b member.Member) int { return a.ID.Compare(b.ID) }
	switch w.strategy.(type) {
	case KeepOldest:
		name, order = "oldest", member.Member.CompareAge
	case StaticQuorum, DownAll:
		return
	}
	for _, e := range electorates {
		voters := slices.DeleteFunc(slices.Clone(w.members), func(m member.Member) bool { return !e.has(m) })
		if len(voters) == 0 {
			return
		}
		p := slices.MinFunc(voters, order)
		if len(w.kinds) == 0 || w.kinds[0].ids[0] != p.ID {
			w.kinds = append(w.kinds, kind{name: name, ids: []member.ID{p.ID}, counted: true, pivot: true})
		}
		name += " of those that stay"
	}
}

// all calls yield with each split that leaves members that count on both sides.
func (w *splitter) all(yield func(split) bool) {
	if w.counted > 1 {
		w.choose(nil, yield)
	}
}

// choose goes through the numbers of the kinds behind those that are chosen.
func (w *splitter) choose(here []int, yield func(split) bool) bool {
	if len(here) == len(w.kinds) {
		size := w.size(here)
		twice := size*2 == w.counted && here[0] > 0 && w.kinds[0].pivot // the same split, seen from its other side
		if size == 0 || size*2 > w.counted || twice {
			return true
		}
		return yield(w.decide(here))
	}
	for n := range len(w.kinds[len(here)].ids) + 1 {
		if !w.choose(append(slices.Clone(here), n), yield) {
			return false
		}
	}
	return true
}

// size is how many members that count are on the smaller side.
func (w *splitter) size(here []int) int {
	n := 0
	for i, k := range w.kinds {
		if k.counted {
			n += here[i]
		}
	}
	return n
}

// decide asks both sides.
func (w *splitter) decide(here []int) split {
	var a, b []member.ID
	for i, k := range w.kinds {
		a, b = append(a, k.ids[:here[i]]...), append(b, k.ids[here[i]:]...)
	}
	ask := func(side, other []member.ID) Action {
		return w.strategy.choose(newSides(Situation{Self: side[0], Members: w.members, Unreachable: other, Wary: true})).action
	}
	mine, other := ask(a, b), ask(b, a)
	lease := mine == AcquireLeaseThenDownUnreachable && other == mine
	return split{here: here, smaller: lease || mine == DownUnreachable, larger: lease || other == DownUnreachable, lease: lease}
}

func (s split) fate() Fate {
	switch {
	case s.lease:
		return ByLease
	case s.smaller && s.larger:
		return BothSides
	case s.smaller:
		return SmallerSide
	case s.larger:
		return LargerSide
	default:
		return Nobody
	}
}

// roleOf is the role that a strategy counts.
func roleOf(s Strategy) string {
	switch s := s.(type) {
	case KeepMajority:
		return s.Role
	case StaticQuorum:
		return s.Role
	case KeepOldest:
		return s.Role
	case LeaseMajority:
		return s.Role
	default:
		return ""
	}
}
