package sbr

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// An Event is news of a [Resolver] for people and tools: [Noticed], [CameBack]
// or [Decision]. String tells it in one line of plain words.
type Event interface {
	fmt.Stringer
	resolverEvent()
}

type (
	// Noticed tells that members cannot be reached and that there will be a
	// decision about them. It comes a second after the first of them was missed, so
	// that it can name more than one observer, and again for others that
	// follow, every ten seconds at most.
	Noticed struct {
		Unreachable  []member.ID          // all who cannot be reached now, in order
		Observations []member.Observation // who says so
		Decider      member.ID            // the leader of this side; zero when there is none
		In           time.Duration        // until the decision is due, if nothing changes
		Expected     Decision             // what it would be as things stand
	}

	// CameBack takes Noticed back: of those who were named some can be reached
	// again, and nobody else is missed.
	CameBack struct {
		Members []member.ID   // who can be reached again, in order
		After   time.Duration // since the first of them was missed
	}
)

func (Noticed) resolverEvent()  {}
func (CameBack) resolverEvent() {}
func (Decision) resolverEvent() {}

// String gives the line that is logged.
func (n Noticed) String() string {
	decider := "nobody leads here to decide"
	if !n.Decider.IsZero() {
		decider = fmt.Sprintf("%s decides in %v by %s", n.Decider.Address, round(n.In), n.Expected.Strategy)
	}
	return fmt.Sprintf("unreachable: %s; %s; as things stand, %s", accusations(n.Unreachable, n.Observations), decider, n.Expected.outcome())
}

// String gives the line that is logged.
func (c CameBack) String() string {
	return fmt.Sprintf("%s came back after %v and was not downed", names(c.Members), round(c.After))
}

// newsAfter and newsEvery keep [Noticed] from being said before there is
// something to say, and from being said all the time while a network flaps.
const (
	newsAfter = time.Second // a round of gossip
	newsEvery = 10 * time.Second
)

// watch is what a resolver has told of the members that cannot be reached.
type watch struct {
	since time.Time   // when the first of them was missed; zero when all can be reached
	said  []member.ID // who was named, in order
	next  time.Time   // nobody is named before
}

// news tells what is to be told now; nil when there is nothing.
func (r *Resolver) news(now time.Time) Event {
	if r.down || !r.wasIn {
		return nil
	}
	missed := r.missed()
	if len(missed) == 0 {
		return r.allBack(now)
	}
	if r.watch.since.IsZero() {
		r.watch.since = now
		r.watch.next = later(r.watch.next, now.Add(newsAfter))
	}
	if !r.hasNews() || now.Before(r.watch.next) {
		return nil
	}
	r.watch.said = union(r.watch.said, missed)
	r.watch.next = now.Add(newsEvery)
	in := r.situation()
	return Noticed{
		Unreachable: missed, Observations: in.Observations, Decider: r.leader,
		In: max(0, r.stableAt().Sub(now)), Expected: Decide(r.settings.Strategy, in),
	}
}

// allBack ends the watch.
func (r *Resolver) allBack(now time.Time) Event {
	w := r.watch
	r.watch = watch{next: w.next}
	back := slices.DeleteFunc(w.said, func(id member.ID) bool { return !r.mayDown(id) })
	if len(back) == 0 {
		return nil
	}
	return CameBack{Members: back, After: now.Sub(w.since)}
}

// hasNews tells whether somebody is missed that was not named.
func (r *Resolver) hasNews() bool { return !covers(r.watch.said, r.missed()) }

// mayDown tells whether id is a member that a decision may down.
func (r *Resolver) mayDown(id member.ID) bool {
	i, ok := r.find(id)
	return ok && downable(r.members[i])
}

// Waits tells what this node waits for before members that cannot be reached
// are decided about; empty when all can be reached.
func (r *Resolver) Waits() []member.Wait {
	missed := r.missed()
	if len(missed) == 0 || r.watch.since.IsZero() {
		return nil
	}
	w := member.Wait{What: member.WaitDecision, Since: r.watch.since}
	for _, id := range missed {
		w.On = append(w.On, member.Holdup{Node: id, Why: "is unreachable" + by(id, r.current())})
	}
	decider := "nobody leads"
	if !r.leader.IsZero() {
		decider = r.leader.Address.String() + " decides"
	}
	switch {
	case r.rehearsed:
		w.Why = "a dry run has decided and downs nobody"
		w.Act = "an operator must down who does not come back, or turn DryRun off"
	case r.pending != nil:
		w.Why = "this side asks for the lease"
	default:
		w.Why = fmt.Sprintf("%s by %s once nothing has changed for %v", decider, r.settings.Strategy.Name(), r.settings.stableAfter(len(r.members)))
		w.Until = r.stableAt()
	}
	return []member.Wait{w}
}

// by tells who does not reach a member.
func by(id member.ID, observations []member.Observation) string {
	observers := observersOf(id, observations)
	if len(observers) == 0 {
		return ""
	}
	return ", seen so by " + names(observers)
}

func observersOf(id member.ID, observations []member.Observation) []member.ID {
	var observers []member.ID
	for _, o := range observations {
		if o.Subject == id {
			observers = append(observers, o.Observer)
		}
	}
	return sorted(observers)
}

// accusations tells who is held for unreachable by whom; those who are so by
// the same observers are told together.
func accusations(accused []member.ID, observations []member.Observation) string {
	var b strings.Builder
	var subjects [][]member.ID
	var observers []string // of each
	for _, id := range accused {
		o := by(id, observations)
		i := len(observers) - 1
		for i >= 0 && observers[i] != o {
			i--
		}
		if i < 0 {
			subjects, observers = append(subjects, nil), append(observers, o)
			i = len(observers) - 1
		}
		subjects[i] = append(subjects[i], id)
	}
	told := 0
	for i, ids := range subjects {
		if i == named {
			fmt.Fprintf(&b, "; and %d more", len(accused)-told)
			break
		}
		told += len(ids)
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(names(ids) + observers[i])
	}
	return b.String()
}

// named is how many members a line names; the others are counted.
const named = 5

// names lists addresses, not more than a line can hold.
func names(ids []member.ID) string {
	if len(ids) == 0 {
		return "nobody"
	}
	texts := make([]string, 0, named)
	for _, id := range ids[:min(len(ids), named)] {
		texts = append(texts, id.Address.String())
	}
	if more := len(ids) - named; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(texts, ", "), more)
	}
	return strings.Join(texts, ", ")
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
