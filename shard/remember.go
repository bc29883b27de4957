package shard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	troupe "github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/internal/member"
	life "github.com/troupe-go/troupe/shard/internal/entity"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/shard/internal/region"
	"github.com/troupe-go/troupe/store"
)

// A memory is what is stored of a hosted shard: the ids of its entities that are
// to be started again wherever the shard lives. An entity is stored before it is
// started, and forgotten when it has ended of its own accord. The slot's lock guards
// it; the keeper asks the store.
type memory struct {
	book  life.Book
	read  bool      // what was stored before is known; until then nobody starts
	kept  bool      // the keeper has it
	since time.Time // of what the keeper does now
	tries int       // of that which failed
}

// remember has an entity wait until it is stored that it starts.
func (h *local[M]) remember(e *entity[M]) error {
	e.shut(true)
	if h.tenure == nil {
		h.remove(e)
		return ErrNoStore
	}
	if !h.memory.read {
		return nil
	}
	return h.enlist(e)
}

// enlist has it stored that an entity starts.
func (h *local[M]) enlist(e *entity[M]) error {
	if !h.memory.book.Start(e.id, store.MaxValue) {
		h.remove(e)
		return ErrRememberFull
	}
	e.become(life.RememberingStart)
	h.keep()
	return nil
}

// strike has it stored that an entity has ended of its own accord. What came for
// it meanwhile has it start again.
func (h *local[M]) strike(e *entity[M], q queue[M]) {
	e.become(life.Passivating)
	e.become(life.RememberingStop)
	e.late.Load().wait = q
	h.memory.book.Stop(e.id)
	h.keep()
}

// keep has the keeper look after the shard.
func (h *local[M]) keep() {
	if m := h.memory; !m.kept {
		m.kept, m.since = true, time.Now()
		h.s.r.keeper.add(h)
	}
}

// recall takes in what was stored: who is remembered starts at the pace of the
// node, who is not and has been waiting is stored now.
func (h *local[M]) recall() {
	h.memory.read = true
	r := h.s.r
	var strangers []string
	for _, id := range h.memory.book.IDs() {
		if r.typ.ShardOf(id, r.typ.Shards) != h.s.number {
			strangers = append(strangers, id)
			continue
		}
		e := h.find(id)
		if e == nil {
			e = &entity[M]{id: id, home: h}
			h.add(e)
			e.turn = r.limit.turnOf(e)
			e.shut(true)
		}
		e.become(life.RememberedNotCreated)
		r.recovery.add(e, e.late.Load().wait.len() > 0)
	}
	for i := len(h.entities) - 1; i >= 0; i-- { // some are removed: their gap is filled from the end
		if e := h.entities[i]; e.state == life.None {
			h.renew(e)
		}
	}
	if len(strangers) > 0 {
		r.complain.warn("remembered entities are not started, for ShardOf puts them into other shards now", "remembered elsewhere",
			slog.String("shard", h.s.shard), slog.Int("entities", len(strangers)), slog.String("first", strangers[0]))
	}
}

// renew starts an entity for which something waits, by way of the store.
func (h *local[M]) renew(e *entity[M]) {
	l := e.late.Load()
	if l.wait.len() == 0 {
		h.remove(e)
		return
	}
	if err := h.enlist(e); err != nil {
		q := l.wait
		l.wait = queue[M]{}
		h.s.r.dropAll(&q, DropStart, fmt.Errorf("start entity %s: %w", h.s.r.Describe(e.id), err))
	}
}

// stored goes on with the entities whose start or end is stored by now.
func (h *local[M]) stored(w life.Write) {
	for _, id := range w.Started {
		if e := h.find(id); e != nil && e.state == life.RememberingStart {
			h.start(e)
		}
	}
	for _, id := range w.Stopped {
		if e := h.find(id); e != nil && e.state == life.RememberingStop {
			e.become(life.None)
			h.renew(e)
		}
	}
}

// recovered starts the expected entities whose turn it is.
func (r *shell[M]) recovered(now time.Time) {
	for _, e := range r.recovery.step(now) {
		h := e.home
		h.s.mu.Lock()
		if h.s.here == h && !h.ending && e.expected() {
			h.start(e)
		}
		h.s.mu.Unlock()
	}
}

// called tells an entity that waits to be started that somebody waits for it.
func (h *local[M]) called(e *entity[M]) {
	r := h.s.r
	switch {
	case e.expected():
		r.recovery.first(e)
	case e.rests() && r.typ.Backoff.Wakes:
		r.rests.end(e.id)
		h.start(e)
	}
}

// waits tells what the store has not done yet for what is remembered here.
func (s *slot[M]) waits() []troupe.Wait {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.here == nil || s.here.ending || s.here.memory == nil || !s.here.memory.kept {
		return nil
	}
	w := troupe.Wait{What: member.WaitStore, Since: s.here.memory.since, Act: "see that the store answers"}
	w.Why = "that the store remembers which of its entities have started and ended"
	if !s.here.memory.read {
		w.Why = "to read from the store which of its entities are remembered"
	}
	return []troupe.Wait{w}
}

// waits tells the same of all shards.
func (r *shell[M]) waits() (all []protocol.Waiting) {
	if r.keeper == nil {
		return nil
	}
	for s := range r.allSlots() {
		for _, w := range s.waits() {
			all = append(all, protocol.Waiting{Shard: s.shard, Wait: w})
		}
	}
	return all
}

// wantAll has all shards have a home, for their entities may be remembered.
func (r *shell[M]) wantAll() {
	if !r.control.hosts.Load() {
		return
	}
	for n := range r.typ.Shards {
		s, _ := r.slotNumbered(n)
		s.mu.Lock()
		if s.target == nil && s.here == nil && !s.wanted && !r.control.disagrees.Load() {
			s.wanted = true
			r.control.post(region.Wanted{Shard: s.shard})
		}
		s.mu.Unlock()
	}
}

// needs tells what a node lacks that remembers entities.
func (t Type[M]) needs(s store.Store) error {
	if t.Remember && t.Role == "" && s == nil {
		return errors.New("entities cannot be remembered without a database that all nodes share: set troupe.Config.Store (such as sqlite.Open(ctx, sqlite.Config{Path: FILE}) or postgres.Open), or leave Remember out")
	}
	return nil
}

// declaration is where a type stores how its ids are divided into shards. It has
// no owner: whoever joins first writes it, under an epoch that is nobody's.
const declaration = "declaration"

// checkRemembered refuses a type whose remembered entities are stored by another
// division than the one it declares: each of them would be started in the old shard
// and, with its first message, in the new one.
func (r *shell[M]) checkRemembered() error {
	in := r.node.Store()
	if !r.typ.Remember || in == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeWithin)
	defer cancel()
	t := store.Tenure{Shard: r.stored(declaration), Epoch: store.Epoch{Term: 1}}
	declared := r.typ.division()
	_, err := in.Put(ctx, t, declaration, 0, []byte(declared))
	if errors.Is(err, store.ErrConflict) {
		var e store.Entry
		if e, err = in.Get(ctx, t.Shard, declaration); err == nil && string(e.Value) != declared {
			return fmt.Errorf("%w: stored with %s, declared with %s", ErrRemembered, e.Value, declared)
		}
	}
	if err != nil {
		return fmt.Errorf("compare with what is remembered in the store: %w", err)
	}
	return nil
}
