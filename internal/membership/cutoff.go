package membership

import (
	"slices"
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
	var first time.Time         // the last sign of life of those whose link is broken
	var lost, maybe []time.Time // that of each who votes, and of each who may do so in the eyes of others
	voters, missed := 0, k.missed(v)
	for _, m := range v.Members {
		i, broken := k.find(m.ID)
		votes := mayVote(m) && m.Status != member.Exiting
		var heard time.Time
		switch {
		case m.DataCenter != v.DataCenter, !votes && !broken:
			continue
		case broken:
			heard = k.suspects[i].heard
			first = earlier(first, heard)
		}
		if !votes { // others may not know that it goes, or know that it has come up
			maybe = append(maybe, heard)
			continue
		}
		voters++
		_, isMissed := slices.BinarySearchFunc(missed, m.ID, member.ID.Compare)
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
	slices.SortFunc(maybe, time.Time.Compare)
	for i := range len(maybe) + 1 {
		need := majority(voters + i)
		if need < 2 || len(lost)+i < need {
			continue
		}
		all := slices.Concat(lost, maybe[:i])
		slices.SortFunc(all, time.Time.Compare)
		if last := all[need-1]; !ok || last.Before(at) {
			at, ok = last, true
		}
	}
	return at, ok
}

// missed lists, in order, the members that this node, or another one with which it is
// in touch, does not reach.
func (k *crashes) missed(v *member.View) []member.ID {
	var own, all []member.ID // observations are sorted, and so are these
	for _, o := range v.Observations {
		if o.Observer == k.self {
			own = append(own, o.Subject)
		}
	}
	var observer member.ID
	inTouch := false
	for _, o := range v.Observations {
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
