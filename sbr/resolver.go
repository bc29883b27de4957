package sbr

import (
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// Resolver is the split brain resolver of one node: it remembers what the node
// knows of its own data center and since when that has been stable.
//
// Only the leader of a side carries out what the side's strategy decides; the
// other nodes hear of it by gossip. The exception is reachability that never
// comes to rest: then each node downs everybody that it knows, because who is
// leader may be as unclear as the rest.
type Resolver struct {
	self       member.ID
	dataCenter string
	settings   Settings

	members      []member.Member // in the order of member.ID.Compare
	unreachable  []member.ID     // sorted
	unreached    unreached       // counts them
	observations []member.Observation
	seen         []member.ID
	leader       member.ID
	wasIn        bool // this node has seen itself in another status than Joining; one that leaves before it came up may lead, too
	down         bool // this node is on its way out and decides nothing any more

	changed  time.Time // when stability was disturbed last
	unstable time.Time // when reachability began to change; zero while it has come to rest
	settled  bool      // nothing to do for this situation: the last decision downed nobody
	again    time.Time // when to see whether a member that was silent at the time of decision has spoken
	pending  *Decision // waits for its lease
	view     *member.View

	rehearsed bool  // a dry run has decided about what has not changed since
	watch     watch // what was told
}

// NewResolver makes the resolver of a node that knows nobody yet.
func NewResolver(self member.ID, dataCenter string, s Settings) *Resolver {
	return &Resolver{self: self, dataCenter: dataCenter, settings: s.withDefaults(), view: &member.View{}}
}

// Step feeds one input and returns what must be done.
func (r *Resolver) Step(now time.Time, in Input) Output {
	var out Output
	switch in := in.(type) {
	case Tick:
		out = r.tick(now, in.Awaiting)
	case LeaseReply:
		out = r.leaseReply(now, in.Acquired)
	default:
		r.learn(now, in)
		r.settled = false
	}
	if e := r.news(now); e != nil {
		out.Events = append(out.Events, e)
	}
	out.Wake = r.wake()
	return out
}

// learn takes in a fact.
func (r *Resolver) learn(now time.Time, in Input) {
	switch in := in.(type) {
	case ViewChanged:
		r.observe(now, in.View)
	case Changed:
		for _, m := range r.local(in.Members) {
			r.memberChanged(now, m)
		}
	case Removed:
		for _, m := range r.local(in.Members) {
			r.memberRemoved(m.ID)
		}
	case Unreachable:
		for _, m := range r.local(in.Members) {
			r.reachabilityChanged(now, m, false)
		}
	case Reachable:
		for _, m := range r.local(in.Members) {
			r.reachabilityChanged(now, m, true)
		}
	case LeaderChanged:
		r.leader = in.Leader
	case Reachability:
		r.observations = in.Observations
	case Seen:
		r.seen = in.By
	case Stalled:
		r.disturbed(now)
		if !r.unstable.IsZero() {
			r.unstable = now
		}
	}
}

// local are the members of the own data center.
func (r *Resolver) local(members []member.Member) []member.Member {
	return slices.DeleteFunc(slices.Clone(members), func(m member.Member) bool { return m.DataCenter != r.dataCenter })
}

func (r *Resolver) memberChanged(now time.Time, m member.Member) {
	if m.Status == member.Down {
		r.down = r.down || m.ID == r.self
		r.reachabilityChanged(now, m, false)
		return
	}
	if m.Status == member.Up || m.Status == member.Exiting {
		r.disturbed(now)
	}
	if m.ID == r.self && m.Status != member.Joining {
		r.wasIn = true
	}
	r.put(m)
}

func (r *Resolver) memberRemoved(id member.ID) {
	r.drop(id)
	r.comeToRest()
}

// reachabilityChanged also stands for downed, which is as good as unreachable.
func (r *Resolver) reachabilityChanged(now time.Time, m member.Member, reachable bool) {
	if m.ID == r.self {
		return
	}
	r.put(m)
	r.reach(m.ID, reachable)
	r.disturbed(now)
	if r.unstable.IsZero() {
		r.unstable = now
	}
	r.comeToRest()
}

// disturbed begins the wait for stability anew.
func (r *Resolver) disturbed(now time.Time) {
	r.changed, r.rehearsed = now, false
}

// comeToRest ends a time of instability when all who are still unreachable are
// on their way out or never had a part.
func (r *Resolver) comeToRest() {
	if r.unreached.unsettled > 0 {
		return
	}
	r.unstable = time.Time{}
	if r.unreached.downable == 0 {
		r.pending = nil // it asked for a lease that nobody needs any more
	}
}

func (r *Resolver) find(id member.ID) (int, bool) {
	return slices.BinarySearchFunc(r.members, id, func(m member.Member, id member.ID) int { return m.ID.Compare(id) })
}

func (r *Resolver) tick(now time.Time, awaiting bool) Output {
	switch {
	case r.idle():
		return Output{}
	case r.orphaned():
		return r.carryOut(now, r.waited(now, r.downSelf()))
	case r.tooLongUnstable(now):
		return r.carryOut(now, r.waited(now, r.downEverybody(now)))
	case !r.responsible() || now.Before(r.stableAt()):
	case awaiting && now.Before(r.awaitsUntil()):
		r.again = earlier(now.Add(awaitedFor/6), r.awaitsUntil())
	default:
		d := r.waited(now, Decide(r.settings.Strategy, r.situation()))
		if d.NeedsLease() && len(d.Down) > 0 && !d.DryRun {
			r.pending = &d
			return Output{Events: []Event{d}, Acquire: &Acquire{At: now.Add(d.AcquireDelay)}}
		}
		return r.carryOut(now, d)
	}
	return Output{}
}

// idle tells that there is nothing to decide whatever the time.
func (r *Resolver) idle() bool { return r.down || r.settled || r.rehearsed || r.pending != nil }

// orphaned tells whether this node was just being let in by a membership of
// which all others have been downed. Whoever downed them may not have known of
// it, so that it would come up as a cluster of its own, perhaps beside another
// orphan: it goes, and starts over.
func (r *Resolver) orphaned() bool {
	downed, joining := false, false
	for _, m := range r.members {
		switch m.Status {
		case member.Joining, member.WeaklyUp:
			joining = joining || m.ID == r.self
		case member.Down:
			downed = true
		default:
			return false
		}
	}
	return downed && joining
}

func (r *Resolver) leaseReply(now time.Time, acquired bool) Output {
	if r.pending == nil {
		return Output{Release: acquired}
	}
	d := r.waited(now, *r.pending)
	r.pending = nil
	if acquired {
		return r.carryOut(now, d.granted())
	}
	return r.carryOut(now, d.Denied())
}

// waited adds what the resolver knows of a decision beyond its rule.
func (r *Resolver) waited(now time.Time, d Decision) Decision {
	if !r.watch.since.IsZero() {
		d.Waited = now.Sub(r.watch.since)
	}
	d.DryRun = r.settings.DryRun
	return d
}

// carryOut orders the downs of a final decision: this node comes last, because
// being down ends it.
func (r *Resolver) carryOut(now time.Time, d Decision) Output {
	if len(d.Down) == 0 {
		r.settled = true
		return Output{}
	}
	out := Output{Events: []Event{d}}
	r.changed, r.unstable = now, time.Time{}
	if d.DryRun {
		r.rehearsed = true
		return out
	}
	self := []member.ID{r.self}
	out.Down = append(subtract(d.Down, self), intersect(d.Down, self)...)
	return out
}

// responsible tells whether there is something to decide, by this node.
func (r *Resolver) responsible() bool {
	return r.leader == r.self && r.wasIn && len(r.unreachable) > 0
}

func (r *Resolver) stableAt() time.Time {
	return r.changed.Add(r.settings.stableAfter(len(r.members)))
}

// awaitedFor is for how long a decision waits for a member that counts as
// reachable and yet is silent: it may just have been cut off. It then knows of
// other observations than this side does, and each would decide by its own.
const awaitedFor = 3 * time.Second

// awaitsUntil is when that wait ends. It is no reason to down everybody.
func (r *Resolver) awaitsUntil() time.Time {
	until := r.stableAt().Add(awaitedFor)
	if limit := r.unstableUntil(); !limit.IsZero() {
		until = earlier(until, limit)
	}
	return until
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// unstableUntil is when patience with changing reachability ends; zero for never.
func (r *Resolver) unstableUntil() time.Time {
	limit, ok := r.settings.unstableAfter(len(r.members))
	if r.unstable.IsZero() || !ok {
		return time.Time{}
	}
	return r.unstable.Add(limit)
}

func (r *Resolver) tooLongUnstable(now time.Time) bool {
	until := r.unstableUntil()
	return !until.IsZero() && now.After(until)
}

func (r *Resolver) downEverybody(now time.Time) Decision {
	return r.decision(DownEverybody, fmt.Sprintf("reachability has kept changing for %v, so that the sides cannot agree", now.Sub(r.unstable)))
}

func (r *Resolver) downSelf() Decision {
	return r.decision(DownSelf, "all members that could have let this node come up were downed")
}

// decision is one that the strategy has no part in.
func (r *Resolver) decision(a Action, reason string) Decision {
	s := newSides(r.situation())
	d := Decision{
		Strategy:            r.settings.Strategy.Name(),
		Action:              a,
		IndirectlyConnected: s.doubtful,
		Reason:              reason,
		Situation:           s.Situation,
	}
	d.Down, _ = s.downs(nil, a)
	return d
}

func (r *Resolver) wake() time.Time {
	var wake time.Time
	if !r.down && r.wasIn && r.hasNews() {
		wake = r.watch.next
	}
	if r.idle() {
		return wake
	}
	if r.orphaned() {
		return r.changed // at once
	}
	if until := r.unstableUntil(); !until.IsZero() {
		wake = soonest(wake, until.Add(1))
	}
	if r.responsible() {
		wake = soonest(wake, later(r.stableAt(), r.again))
	}
	return wake
}

// soonest is the earlier of two times, of which the zero one is never.
func soonest(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return earlier(a, b)
}
