package membership

import (
	"slices"
	"sort"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// cutOff is when this node has to stop acting, because by then it will have been
// out of touch, for half the time of isolation, with so many that they might confirm its crash;
// zero while they could not. Those that are unreachable anyway count as such, but not on
// the word of those that this node has lost itself: a member that hears nobody, and is
// heard, holds everybody for unreachable. So do those that have fallen silent: nothing
// may come from them any more, not even the news that a link broke.
func (k *crashes) cutOff(v *member.View, silent []member.ID) time.Time {
	if c := &k.cut; c.view != v || c.changes != k.changes || !slices.Equal(c.silent, silent) {
		*c = cut{view: v, changes: k.changes, silent: silent, at: k.cutOffIn(v, silent)}
	}
	return k.cut.at
}

// cut remembers what followed from what: in a partition a node dials hundreds, and most
// that comes of it changes nothing here.
type cut struct {
	view    *member.View
	changes int
	silent  []member.ID
	at      time.Time
}

func (k *crashes) cutOffIn(v *member.View, silent []member.ID) time.Time {
	var first time.Time         // the last sign of life of those whose link is broken
	var lost, maybe []time.Time // that of each who votes, and of each who may do so in the eyes of others
	voters, missed, suspects := 0, k.missed(v), k.suspects
	for i := range v.Members { // which are in order, as are the others
		m := &v.Members[i]
		for len(suspects) > 0 && suspects[0].node.Compare(m.ID) < 0 {
			suspects = suspects[1:]
		}
		for len(missed) > 0 && missed[0].Compare(m.ID) < 0 {
			missed = missed[1:]
		}
		broken := len(suspects) > 0 && suspects[0].node == m.ID
		votes := mayVote(*m) && m.Status != member.Exiting
		var heard time.Time
		switch {
		case m.DataCenter != v.DataCenter, !votes && !broken:
			continue
		case broken:
			heard = suspects[0].heard
			first = earlier(first, heard)
		}
		if !votes { // others may not know that it goes, or know that it has come up
			maybe = append(maybe, heard)
			continue
		}
		voters++
		isMissed := len(missed) > 0 && missed[0] == m.ID
		if broken || m.ID != k.self && (isMissed || slices.Contains(silent, m.ID)) {
			lost = append(lost, heard)
		}
	}
	at, isLost := lostMost(voters, lost, maybe)
	if first.IsZero() || !isLost {
		return time.Time{}
	}
	if at.Before(first) {
		at = first
	}
	return at.Add(k.isolation / 2)
}

// lostMost tells whether a majority is lost, and when the last one of it was heard,
// with as many of those who may vote as make that the earliest.
func lostMost(voters int, lost, maybe []time.Time) (at time.Time, ok bool) {
	slices.SortFunc(lost, time.Time.Compare)
	slices.SortFunc(maybe, time.Time.Compare)
	for i := range len(maybe) + 1 {
		need := majority(voters + i)
		if need < 2 || len(lost)+i < need {
			continue
		}
		if last := ranked(lost, maybe[:i], need-1); !ok || last.Before(at) {
			at, ok = last, true
		}
	}
	return at, ok
}

// ranked is the time of a rank, from zero, among those of two sorted lists.
func ranked(a, b []time.Time, rank int) time.Time {
	least := max(0, rank+1-len(b)) // of a, among the rank+1 earliest
	fromA := least + sort.Search(min(rank+1, len(a))-least, func(i int) bool {
		i += least
		return !a[i].Before(b[rank-i])
	})
	switch fromB := rank + 1 - fromA; {
	case fromA == 0:
		return b[fromB-1]
	case fromB == 0 || a[fromA-1].After(b[fromB-1]):
		return a[fromA-1]
	default:
		return b[fromB-1]
	}
}

// missed lists, in order, the members that this node, or another one with which it is
// in touch, does not reach.
func (k *crashes) missed(v *member.View) []member.ID {
	if c := &k.missing; c.changes != k.changes || !shared(c.of, v.Observations) {
		*c = missing{of: v.Observations, changes: k.changes, members: k.missedBy(v.Observations)}
	}
	return k.missing.members
}

// missing remembers whom it was that observations told to be missed.
type missing struct {
	of      []member.Observation
	changes int
	members []member.ID
}

func (k *crashes) missedBy(observations []member.Observation) []member.ID {
	var own, all []member.ID // observations are sorted, and so are these
	for _, o := range observations {
		if o.Observer == k.self {
			own = append(own, o.Subject)
		}
	}
	var observer member.ID
	inTouch := false
	for _, o := range observations {
		if o.Observer != observer {
			observer = o.Observer
			_, missed := slices.BinarySearchFunc(own, observer, member.ID.Compare)
			inTouch = !missed && !k.isBroken(observer)
		}
		if inTouch {
			all = append(all, o.Subject)
		}
	}
	slices.SortFunc(all, member.ID.Compare)
	return slices.Compact(all)
}

// Confirmed tells whether so many have said that this node is still a member that
// nobody can have removed it: a majority of the members, this one counted, and one
// of those that came up once. Who joins meanwhile may be a member on this side
// alone. A node that is no member yet, or the only one, needs nobody.
func Confirmed(v *member.View, yes func(member.ID) bool) bool {
	self, in := v.SelfMember()
	if !in {
		return true
	}
	said, up, saidUp := 0, 0, 0
	for _, m := range v.Members {
		says, cameUp := m.ID == self.ID || yes(m.ID), m.UpNumber != member.NeverUp
		switch {
		case says && cameUp:
			said, saidUp = said+1, saidUp+1
		case says:
			said++
		}
		if cameUp {
			up++
		}
	}
	return said >= majority(len(v.Members)) && (up == 0 || saidUp >= majority(up))
}
