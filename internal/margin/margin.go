// Package margin remembers the members that were removed from a cluster for as long
// as they may go on, not knowing it: until then nobody may start what they hosted.
//
// A member that has ended, by its own word or because a majority has confirmed its
// crash, gets no margin. One that was downed gets one, in which it notices what its
// side has decided; one that was removed without a decision, because it fell silent as it
// left, gets twice that, for it has still to come to one. A node that has not watched for long enough does not know
// who was removed, and waits as if somebody had been.
//
// It is pure: time is an argument, and a [Watch] belongs to one goroutine.
package margin

import (
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// A Departure is a member that was removed and may still act until then.
type Departure struct {
	member.Member
	Until time.Time // when it was removed, of one that is known to have ended
}

// A Watch is what one node has seen of removals.
type Watch struct {
	of    func(members int) time.Duration
	gone  []Departure
	blind time.Time
}

// NewWatch begins with nothing. The margin depends on how many members the cluster
// had, as those know it who were removed from it.
func NewWatch(of func(members int) time.Duration) Watch { return Watch{of: of} }

// See compares two views that follow each other; before is nil at first.
func (w *Watch) See(now time.Time, before, after *member.View) {
	if before != nil {
		w.remember(now, before, after)
	}
	// Who was removed just before the first view has left no trace; but there was nobody
	// before the first member of all, which gives itself the first rank.
	switch self, ok := after.SelfMember(); {
	case ok && self.UpNumber == 1:
		w.blind = now
	case ok && w.blind.IsZero():
		w.blind = now.Add(w.of(len(after.Members)))
	}
}

func (w *Watch) remember(now time.Time, before, after *member.View) {
	// Those on the losing side still have all who were removed one after the other.
	margin := w.of(len(before.Members) + len(w.gone))
	for _, m := range before.Members {
		if _, still := after.Member(m.ID); still {
			continue
		}
		until := now.Add(margin)
		switch end, _ := after.End(m.ID); {
		case after.Ended(m.ID):
			until = now
		case end == member.Silent:
			until = until.Add(margin)
		}
		w.gone = append(w.gone, Departure{m, until})
	}
}

// Settle lets go of those whose margin has passed, and lists them in the order of
// their removal.
func (w *Watch) Settle(now time.Time) (over []Departure) {
	w.gone = slices.DeleteFunc(w.gone, func(d Departure) bool {
		if now.Before(d.Until) {
			return false
		}
		over = append(over, d)
		return true
	})
	return over
}

// Gone lists, in the order of their removal, those that have not been let go of. It
// is not to be kept.
func (w *Watch) Gone() []Departure { return w.gone }

// Until is when the margin of a removed member ends; zero for others.
func (w *Watch) Until(id member.ID) time.Time {
	for _, d := range w.gone {
		if d.ID == id {
			return d.Until
		}
	}
	return time.Time{}
}

// BlindUntil is when this node has watched for long enough to know of everybody
// who may still act; zero before it is a member.
func (w *Watch) BlindUntil() time.Time { return w.blind }
