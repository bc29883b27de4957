package shard

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/ring"
	"github.com/troupe-go/troupe/store"
)

// ringing is the authority of a type with a ring: this node's own core, and what
// connects it to the store, so that neither waits for the other.
type ringing struct {
	core  *ring.Core
	locks ringLocks
	seat  *seat
	desk  *desk
	valid *validity
	log   func(ring.Event)
}

// newRinging opens the way to the store, on which nothing goes before the first
// view. Its goroutines end with end.
func newRinging(core *ring.Core, locks ringLocks, lease time.Duration, log func(ring.Event)) (*ringing, error) {
	a := &ringing{core: core, locks: locks, desk: newDesk(lease / tries), valid: newValidity(), log: log}
	var err error
	if a.seat, err = newSeat(locks, lease, func(in ring.Input) { a.desk.tell(a.report(in)) }); err != nil {
		return nil, fmt.Errorf("seat in the ring: %w", err)
	}
	return a, nil
}

func (a *ringing) step(now time.Time, in ring.Input) said {
	out := a.core.Step(now, in)
	a.valid.extend(out.OwnedUntil)
	a.seat.wish(out.Seat)
	if out.Ask != nil {
		a.desk.do(func(ctx context.Context) report { return a.report(a.locks.ask(ctx, out.Ask)) })
	}
	for _, e := range out.Events {
		a.log(e)
	}
	return said{out.Send, out.Wake, a.core.Alone()}
}

func (a *ringing) report(in ring.Input) report {
	return func(now time.Time) said { return a.step(now, in) }
}

func (a *ringing) view(now time.Time, v *troupe.View) said {
	return a.step(now, ring.ViewChanged{View: v})
}

func (a *ringing) hear(now time.Time, from troupe.ID, m protocol.Message) said {
	return a.step(now, ring.Received{From: from, Msg: m})
}

func (a *ringing) absent(now time.Time, node troupe.ID) said {
	return a.step(now, ring.NoPort{From: node})
}

func (a *ringing) leave(now time.Time) said { return a.step(now, ring.Leave{}) }

func (a *ringing) tick(now time.Time) said { return a.step(now, ring.Tick{}) }

func (a *ringing) reports() <-chan report { return a.desk.answers }

func (a *ringing) why(shard string) []troupe.Wait { return a.core.Why(shard) }

func (a *ringing) waits() []protocol.Waiting { return a.core.Waits() }

// deciders are who has the shard's lock, and who should have it.
func (a *ringing) deciders(shard string) (ids []troupe.ID) {
	if home, ok := a.core.Home(shard); ok {
		ids = append(ids, home.Node)
	}
	if id, ok := a.core.Assigned(shard); ok && !slices.Contains(ids, id) {
		ids = append(ids, id)
	}
	return ids
}

// relocate has a shard released that is here; nobody can wish where it goes.
func (a *ringing) relocate(now time.Time, want relocation) (said, error) {
	if !want.Release {
		return a.tick(now), fmt.Errorf("%w: give nodes other weights, or release the shard", ErrComputed)
	}
	if home, ok := a.core.Home(want.Shard); !ok || home.Node.String() != a.locks.runner {
		return a.tick(now), fmt.Errorf("%w: shard %s is not here", ErrUnsettled, want.Shard)
	}
	if waits := a.core.Why(want.Shard); len(waits) > 0 {
		return a.tick(now), fmt.Errorf("%w: shard %s: %s", ErrUnsettled, want.Shard, waits[0])
	}
	return a.step(now, ring.Release{Shard: want.Shard}), nil
}

// end gives up the seat, or leaves it to run out if something may still run here
// that its locks are for.
func (a *ringing) end(busy bool) {
	a.valid.end()
	a.desk.close()
	a.seat.close(busy)
}

// ringLocks are the locks of one ring, as this node sees them.
type ringLocks struct {
	store  store.Locks
	ring   store.Ring
	runner string // this node
}

// ask carries out a request and gives the answer.
func (l ringLocks) ask(ctx context.Context, r ring.Request) ring.Input {
	in, err := l.carryOut(ctx, r)
	if err != nil {
		return ring.Failed{Cause: err.Error()}
	}
	return in
}

func (l ringLocks) carryOut(ctx context.Context, r ring.Request) (ring.Input, error) {
	switch r := r.(type) {
	case ring.Look:
		seats, locks, err := l.store.Table(ctx, l.ring)
		return ring.Table{Seats: seatsOf(seats), Locks: locksOf(locks)}, err
	case ring.Take:
		locks, err := l.store.Take(ctx, l.ring, l.runner, store.Token(r.Token), r.Shards)
		return ring.Taken{Locks: locksOf(locks)}, err
	case ring.Give:
		return ring.Given{}, l.store.Give(ctx, l.ring, l.runner, store.Token(r.Token), locksFor(r.Locks))
	default:
		return nil, fmt.Errorf("ask the store for %T: there is no such request", r)
	}
}

func seatsOf(seats []store.TakenSeat) []ring.Seat {
	out := make([]ring.Seat, len(seats))
	for i, s := range seats {
		out[i] = ring.Seat{Runner: s.Runner, Token: uint64(s.Token), Note: s.Note}
	}
	return out
}

func locksOf(locks []store.Lock) []ring.Lock {
	out := make([]ring.Lock, len(locks))
	for i, l := range locks {
		out[i] = ring.Lock{Shard: l.Shard, Runner: l.Runner, Token: uint64(l.Token), Epoch: protocol.Epoch(l.Epoch)}
	}
	return out
}

func locksFor(locks []ring.Lock) []store.Lock {
	out := make([]store.Lock, len(locks))
	for i, l := range locks {
		out[i] = store.Lock{Shard: l.Shard, Runner: l.Runner, Token: store.Token(l.Token), Epoch: store.Epoch(l.Epoch)}
	}
	return out
}

// logRing tells what the ring on this node decided. What happens to single shards
// in the usual course is for debugging: a leave moves hundreds.
func (c *control) logRing(e ring.Event) {
	switch e := e.(type) {
	case ring.Sat:
		c.log.Info("this node has a seat in the ring", slog.Uint64("token", e.Token))
	case ring.Unseated:
		if e.Shards == 0 { // at the end of a leave, for one
			c.log.Info("this node has no seat in the ring any more", slog.Uint64("token", e.Token), slog.String("cause", e.Cause))
			break
		}
		c.log.Warn("this node has lost its seat in the ring, and stops what it hosts", slog.Uint64("token", e.Token),
			slog.Int("shards", e.Shards), slog.String("cause", e.Cause))
	case ring.Away:
		c.log.Warn("the store does not answer; when this lasts this node stops what it hosts", slog.String("cause", e.Cause))
	case ring.Back:
		c.log.Info("the store answers again", slog.Duration("after", e.After))
	case ring.Disagrees:
		c.complain.warn("this node gets no shards, for it declares the type differently; start it with what the others have", "disagrees",
			slog.String("here", e.Ours), slog.String("there", e.Theirs), slog.Any("other", e.With))
	case ring.Hosting:
		c.log.Debug("shard placed", slog.String("shard", e.Home.Shard), slog.Any("epoch", e.Home.Epoch), slog.Any("previous", e.Previous))
	case ring.Moving:
		c.log.Debug("shard moves", slog.String("shard", e.Home.Shard), slog.Any("from", e.Home.Node), slog.Any("to", e.To))
	case ring.Gave:
		c.log.Debug("shard is free", slog.String("shard", e.Home.Shard), slog.Any("to", e.To))
	case ring.Kept:
		c.complain.warn("shard stays, for some nodes did not acknowledge its hand-over", "hand-over given up",
			slog.String("shard", e.Home.Shard), slog.Any("silent", e.Silent))
	case ring.GoneAhead:
		c.complain.warn("hand-over goes on without some nodes' word", "hand-over not acknowledged",
			slog.String("shard", e.Home.Shard), slog.Any("silent", e.Silent))
	case ring.Slow:
		c.complain.warn("shard has not stopped in time; it is not started elsewhere before", "slow hand-over",
			slog.String("shard", e.Home.Shard), slog.Time("since", e.Since))
	}
}
