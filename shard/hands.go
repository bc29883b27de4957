package shard

import (
	"log/slog"
	"math"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/shard/internal/region"
)

// do carries out one action of the region's core.
func (r *shell[M]) do(now time.Time, a region.Action) {
	switch a := a.(type) {
	case region.Route:
		r.on(a.Shard, func(s *slot[M]) {
			s.setRoute(a, now)
			s.observe(a.Home)
		})
	case region.Host:
		r.on(a.Shard, func(s *slot[M]) {
			s.setHost(a, now)
			s.observe(r.self)
		})
	case region.Open:
		r.on(a.Shard, func(s *slot[M]) { s.setOpen(now) })
	case region.Buffer:
		r.on(a.Shard, func(s *slot[M]) { s.setBuffer(a) })
	case region.Drain:
		r.on(a.Shard, func(s *slot[M]) {
			if h := s.end(r.drain); h != nil {
				r.drains = append(r.drains, drain[M]{h, now.Add(slowAfter), a.Deadline})
			}
		})
	case region.Kill:
		r.on(a.Shard, func(s *slot[M]) {
			if h := s.end((*actor.Cell[M]).Stop); h != nil {
				r.drains = append(r.drains, drain[M]{h, now.Add(slowAfter), time.Time{}})
			}
		})
	}
}

// on finds the slot of a shard. One that cannot exist here was named by a node
// that divides ids differently; it has no messages, so nothing needs doing.
func (r *shell[M]) on(shard string, f func(*slot[M])) {
	if s, ok := r.slotNamed(shard); ok {
		f(s)
		return
	}
	r.counts.add(DropDisagree)
	r.complain.warn("unknown shard", string(DropDisagree), slog.String("shard", shard), slog.Any("error", ErrDisagree))
}

// observe tells the observer of a new home.
func (s *slot[M]) observe(home troupe.ID) {
	if f := s.r.typ.Observe; f != nil && s.observed != home {
		s.observed = home
		f(Event{Kind: HomeLearned, Type: s.r.typ.Name, Shard: s.shard, Node: home})
	}
}

// again goes on with what, and who, a full lane or mailbox had stopped.
func (r *shell[M]) again(now time.Time) {
	for s := range r.allSlots() {
		s.again(now)
	}
	r.stuck.call(math.MaxInt)
}

// giveUp lets go of what waits for homes: see slot.want.
func (r *shell[M]) giveUp() {
	for s := range r.allSlots() {
		s.giveUp()
	}
}

// A drain is a shard whose entities were told to end.
type drain[M any] struct {
	local    *local[M]
	slow     time.Time // when those that remain are named in a warning; zero when that was done
	deadline time.Time // when they are stopped after the message in hand; zero when that was done
}

const (
	slowAfter   = 5 * time.Second
	expireEvery = time.Second
	// confirmSoon is how long the first confirmation after a pause waits for what is
	// handled with it: what is not confirmed when a node crashes is handled again.
	confirmSoon = 200 * time.Microsecond
)

// due is when housekeeping has something to do.
func (r *shell[M]) due() time.Time {
	next := r.sweep.next
	earlier := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, d := range r.drains {
		earlier(d.slow)
		earlier(d.deadline)
	}
	if r.room.used.Load() > 0 {
		earlier(r.expireAt)
	}
	earlier(soon(&r.confirmAt, r.confirms.called.Load(), max(confirmSoon, confirmEvery-time.Since(r.confirmedAt))))
	if at := r.orderDue.at.Load(); at != 0 {
		earlier(r.began.Add(time.Duration(at)))
	}
	earlier(soon(&r.beatAt, r.beating.Load(), r.typ.Retry/beats))
	earlier(r.rests.wake())
	earlier(r.keeper.wake())
	earlier(r.recovery.wake())
	earlier(r.loads.wake())
	return next
}

// soon sets a time, if it is not set yet and there is need.
func soon(at *time.Time, need bool, within time.Duration) time.Time {
	if need && at.IsZero() {
		*at = time.Now().Add(within)
	}
	return *at
}

func (r *shell[M]) housekeep(now time.Time) {
	if due(r.confirmAt, now) {
		r.confirmAt, r.confirmedAt = time.Time{}, now
		r.settle()
	}
	if at := r.orderDue.at.Load(); at != 0 && !now.Before(r.began.Add(time.Duration(at))) {
		r.releaseInOrder(now)
	}
	if due(r.beatAt, now) {
		r.beatAt = time.Time{}
		r.beat(now)
	}
	kept := r.drains[:0]
	for _, d := range r.drains {
		if d.check(now) {
			kept = append(kept, d)
		}
	}
	clear(r.drains[len(kept):])
	r.drains = kept
	if !now.Before(r.expireAt) {
		r.expireAt = now.Add(expireEvery)
		for s := range r.allSlots() {
			s.expire(now)
		}
	}
	r.rested(now)
	r.keeper.again(now)
	r.recovered(now)
	if due(r.sweep.next, now) {
		r.passivate(now)
	}
	if due(r.loads.wake(), now) {
		r.measure(now)
	}
}

// check watches over a drain; false when it is over.
func (d *drain[M]) check(now time.Time) bool {
	left, some := d.local.remaining()
	if left == 0 {
		return false
	}
	warn := d.local.s.r.complain.warn
	attrs := []any{slog.String("shard", d.local.s.shard), slog.Int("left", left), slog.Any("entities", some), slog.Time("deadline", d.deadline)}
	if due(d.slow, now) {
		d.slow = time.Time{}
		warn("entities are slow to end; their shard does not move before", "slow end", attrs...)
	}
	if due(d.deadline, now) {
		d.deadline = time.Time{}
		warn("entities are stopped after the message in hand, for their time to end is over (Type.HandOffTimeout)", "forced end", attrs...)
		d.local.s.end((*actor.Cell[M]).Stop)
	}
	return true
}
