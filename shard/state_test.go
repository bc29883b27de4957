package shard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/store"
	"github.com/troupe-go/troupe/wire"
)

// A tally counts what it is told to add, in the store.
type (
	tallyMsg interface{ isTallyMsg() }
	add      struct {
		N     int
		Reply actor.Reply[int] `cbor:"-"`
	}
)

func (add) isTallyMsg()                             {}
func (m add) WithReply(r actor.Reply[int]) tallyMsg { m.Reply = r; return m }

type tally struct {
	state *State
	sum   int
	at    store.Revision
}

func newTally(c *actor.Ctx[tallyMsg]) (actor.Behavior[tallyMsg], error) {
	s, err := StateOf(c)
	if err != nil {
		return nil, err
	}
	e, err := s.Get(c, "sum")
	if err != nil {
		return nil, err
	}
	t := &tally{state: s, at: e.Revision}
	if e.Exists() {
		if _, err := fmt.Sscan(string(e.Value), &t.sum); err != nil {
			return nil, err
		}
	}
	return t.add, nil
}

func (t *tally) add(c *actor.Ctx[tallyMsg], m tallyMsg) error {
	a := m.(add)
	sum := t.sum + a.N
	at, err := t.state.Put(c, "sum", t.at, fmt.Append(nil, sum))
	if err != nil {
		return a.Reply.Fail(c, err)
	}
	t.sum, t.at = sum, at
	return a.Reply.Send(c, sum)
}

func joinTallies(t *testing.T, n *fakeNode) *Entities[tallyMsg] {
	t.Helper()
	e, err := join(n, Type[tallyMsg]{
		Name: "tally", Start: newTally, Protocol: wire.MustProtocol[tallyMsg](wire.Request("add", add{})), Shards: 4, RebalanceEvery: -1, Ring: n.w.ring,
	})
	if err != nil {
		t.Fatalf("join: %v", err)
	}
	return e
}

func addTo(e *Entities[tallyMsg], id string, n int) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return actor.Ask(ctx, e.Ref(id), add{N: n})
}

func TestStateGoesOnAtTheNextHome(t *testing.T) {
	storing(t, func(t *testing.T, next func() *world) {
		w := next()
		a, b := w.start(), w.start()
		onA, onB := joinTallies(t, a), joinTallies(t, b)
		for i := range 20 {
			id := fmt.Sprintf("a/%d%%", i) // what is escaped in keys
			if _, err := addTo(onB, id, i); err != nil {
				t.Fatalf("add to %s: %v", id, err)
			}
		}
		if len(onA.Region().Hosted()) == 0 {
			t.Fatal("the node that leaves hosts nothing")
		}
		a.leave()
		for i := range 20 {
			id := fmt.Sprintf("a/%d%%", i)
			if got, err := addTo(onB, id, 1); err != nil || got != i+1 {
				t.Errorf("%s after the move: %d, %v; want %d", id, got, err, i+1)
			}
		}
	})
}

// An owner that the store has forgotten stops by itself, and the next tenure is
// above all that the store has heard of: here as if the cluster had lived before.
func TestOwnerWhomTheStoreDeniesStops(t *testing.T) {
	storing(t, func(t *testing.T, next func() *world) {
		var denied []Event
		w := next()
		n := w.start()
		typ := Type[tallyMsg]{
			Name: "tally", Start: newTally, Protocol: wire.MustProtocol[tallyMsg](wire.Request("add", add{})), Shards: 1, RebalanceEvery: -1, Ring: w.ring,
			Observe: func(e Event) {
				if e.Kind == TenureDenied || e.Kind == EntityStopped {
					denied = append(denied, e)
				}
			},
		}
		e, err := join(n, typ)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := addTo(e, "x", 1); err != nil || got != 1 {
			t.Fatalf("first add: %d, %v", got, err)
		}
		newer := store.Tenure{Shard: store.Shard{Cluster: "world", Type: "tally", ID: "0"}, Epoch: store.Epoch{Term: 77, N: 3}}
		if err := w.store.Claim(context.Background(), newer); err != nil {
			t.Fatal(err)
		}
		if got, err := addTo(e, "x", 1); !errors.Is(err, store.ErrStaleEpoch) || !strings.Contains(err.Error(), "77.3") {
			t.Errorf("add by an owner of old: %d, %v; want ErrStaleEpoch by 77.3", got, err)
		}
		if got, err := addTo(e, "x", 1); err != nil || got != 2 {
			t.Errorf("add at the next tenure: %d, %v; want 2", got, err)
		}
		if len(denied) != 2 || denied[0].Kind != TenureDenied || denied[0].Shard != "0" || denied[1].Kind != EntityStopped {
			t.Errorf("events %+v, want that the tenure of shard 0 was denied, and the entity stopped", denied)
		}
	})
}

func TestStateNeedsAStoreAndAnEntity(t *testing.T) {
	in(t, func(w *world) {
		n := w.start()
		if got, err := addTo(joinTallies(t, n), "x", 1); !errors.Is(err, ErrNoStore) {
			t.Errorf("add on a node without a store: %d, %v; want ErrNoStore", got, err)
		}
		_, err := actor.Spawn(n, "plain", newTally)
		if !errors.Is(err, ErrNotEntity) {
			t.Errorf("state of a plain actor: %v, want ErrNotEntity", err)
		}
	})
}

// What an entity deletes is gone, and what it does by an old revision is refused.
func TestStateIsDeleted(t *testing.T) {
	in(t, func(w *world) {
		w.store = store.NewMemory()
		n := w.start()
		var problem error
		e, err := join(n, Type[tallyMsg]{
			Name: "tally", Protocol: wire.MustProtocol[tallyMsg](wire.Request("add", add{})), Shards: 4, RebalanceEvery: -1,
			Start: func(c *actor.Ctx[tallyMsg]) (actor.Behavior[tallyMsg], error) {
				problem = putAndDelete(c)
				return newTally(c)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := addTo(e, "a", 1); err != nil || problem != nil {
			t.Errorf("%v, then %v", problem, err)
		}
	})
}

func putAndDelete(c *actor.Ctx[tallyMsg]) error {
	s, err := StateOf(c)
	if err != nil {
		return err
	}
	at, err := s.Put(c, "key", 0, []byte("value"))
	if err != nil {
		return err
	}
	if _, err := s.Delete(c, "key", at+1); !errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("delete at revision %d of %d: %w, want ErrConflict", at+1, at, err)
	}
	next, err := s.Delete(c, "key", at)
	if err != nil {
		return err
	}
	if e, err := s.Get(c, "key"); err != nil || e.Exists() || e.Revision != next {
		return fmt.Errorf("deleted, it is %+v, %w; want nothing at revision %d", e, err, next)
	}
	return nil
}
