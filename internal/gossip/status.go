package gossip

import (
	"slices"

	"github.com/troupe-go/troupe/internal/member"
)

// next lists the statuses that may follow each one.
var next = [...][]member.Status{
	member.Joining:              {member.WeaklyUp, member.Up, member.Leaving, member.Down, member.Removed},
	member.WeaklyUp:             {member.Up, member.Leaving, member.Down, member.Removed},
	member.Up:                   {member.Leaving, member.PreparingForShutdown, member.Down, member.Removed},
	member.Leaving:              {member.Exiting, member.Down, member.Removed},
	member.Exiting:              {member.Down, member.Removed},
	member.Down:                 {member.Removed},
	member.Removed:              {},
	member.PreparingForShutdown: {member.ReadyForShutdown, member.Leaving, member.Down, member.Removed},
	member.ReadyForShutdown:     {member.Leaving, member.Down, member.Removed},
}

// Allowed tells whether a member may go from one status to another; staying is
// always allowed.
func Allowed(from, to member.Status) bool {
	return from == to || valid(from) && slices.Contains(next[from], to)
}

func valid(s member.Status) bool { return s >= member.Joining && int(s) < len(next) }

// progress ranks the statuses for a merge: of two versions of a member the one
// that is further on is kept.
var progress = [...]uint8{
	member.Joining: 1, member.WeaklyUp: 2, member.Up: 3, member.PreparingForShutdown: 4, member.Leaving: 5,
	member.Exiting: 6, member.Down: 7, member.ReadyForShutdown: 8, member.Removed: 9,
}

// life ranks the statuses so that every legal transition goes up. It differs
// from progress, which is the original's, in a whole-cluster shutdown only:
// there, ReadyForShutdown wins a merge with Down. See [Reconcile].
var life = [...]uint8{
	member.Joining: 1, member.WeaklyUp: 2, member.Up: 3, member.PreparingForShutdown: 4, member.ReadyForShutdown: 5,
	member.Leaving: 6, member.Exiting: 7, member.Down: 8, member.Removed: 9,
}

// furtherOn picks the version of one member that a merge keeps: by progress,
// then the older, then the right one.
func furtherOn(left, right member.Member) member.Member {
	switch l, r := progress[left.Status], progress[right.Status]; {
	case l > r, l == r && left.UpNumber < right.UpNumber:
		return left
	default:
		return right
	}
}

// settled are the members that take part in agreement and may lead.
func settled(s member.Status) bool {
	switch s {
	case member.Up, member.Leaving, member.PreparingForShutdown, member.ReadyForShutdown:
		return true
	default:
		return false
	}
}

// going are the members that hold nobody up any more.
func going(s member.Status) bool { return s == member.Down || s == member.Exiting }

// leaderRank orders members for the choice of a leader; lower leads first, and
// Down never leads.
func leaderRank(s member.Status) int {
	switch {
	case settled(s):
		return 0
	case s == member.WeaklyUp:
		return 1
	case s == member.Joining:
		return 2
	case s == member.Exiting:
		return 3
	default:
		return 4
	}
}
