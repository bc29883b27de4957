package shard

import (
	"context"
	"errors"
	"log/slog"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard/internal/coordinator"
	"github.com/troupe-go/troupe/shard/internal/protocol"
	"github.com/troupe-go/troupe/store"
)

// notes are what the coordinators of a type have in the store, if there is one: the
// term, and the homes that somebody outside has set. Those are entries of a shard
// that no entity can be in; its fence keeps a coordinator that is over from changing
// them.
type notes struct {
	store    store.Store
	ring     store.Ring
	complain *complaints
}

func (n notes) homes() store.Shard { return n.ring.Shard("homes") }

// raise has the store give a term, and reads the homes; it gives none if it cannot
// do both. Then it is asked again.
func (n notes) raise(ctx context.Context, atLeast uint64) coordinator.Raised {
	term, err := n.store.RaiseTerm(ctx, n.ring, atLeast)
	var wishes []protocol.Wish
	if err == nil {
		wishes, err = n.wishes(ctx)
	}
	if err != nil {
		n.failed(ctx, "the store does not raise the coordinator's term; it is asked again", "term", err)
		return coordinator.Raised{}
	}
	return coordinator.Raised{Term: term, Wishes: wishes}
}

func (n notes) wishes(ctx context.Context) (wishes []protocol.Wish, err error) {
	for e, err := range store.Entries(ctx, n.store, n.homes()) {
		if err != nil {
			return nil, err
		}
		w := protocol.Wish{Shard: e.Key, At: protocol.Epoch(e.Epoch)}
		if len(e.Value) > 0 {
			if w.To, err = member.ParseAddress(string(e.Value)); err != nil { // written by a person, perhaps
				n.complain.warn("a home in the store is no address, and left out", "home", slog.String("shard", e.Key), slog.Any("error", err))
				continue
			}
		}
		wishes = append(wishes, w)
	}
	return wishes, nil
}

// save keeps a wish, unless there is a newer one.
func (n notes) save(ctx context.Context, w protocol.Wish) coordinator.Saved {
	err := n.put(ctx, w)
	kept := err == nil || errors.Is(err, store.ErrStaleEpoch)
	if !kept {
		n.failed(ctx, "the store does not keep a home that was set; it is asked again", "home not kept", err)
	}
	return coordinator.Saved{Wish: w, Kept: kept}
}

func (n notes) put(ctx context.Context, w protocol.Wish) error {
	old, err := n.store.Get(ctx, n.homes(), w.Shard)
	if err != nil {
		return err
	}
	if store.Epoch(w.At).Compare(old.Epoch) <= 0 {
		return nil
	}
	value := []byte(nil)
	if w.To.Host != "" {
		value = []byte(w.To.String())
	}
	_, err = n.store.Put(ctx, store.Tenure{Shard: n.homes(), Epoch: store.Epoch(w.At)}, w.Shard, old.Revision, value)
	return err
}

// failed logs what the store has not done, unless that is because this node ends.
func (n notes) failed(ctx context.Context, msg, cause string, err error) {
	if !errors.Is(ctx.Err(), context.Canceled) {
		n.complain.warn(msg, cause, slog.Any("error", err))
	}
}
