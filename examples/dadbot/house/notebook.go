package house

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/examples/dadbot/dad"
	"github.com/troupe-go/troupe/shard"
	"github.com/troupe-go/troupe/store"
)

// notebook is a Dad's notebook in the database of the cluster, which refuses a Dad
// whose shard has a new owner.
type notebook struct {
	state *shard.State
	at    store.Revision // of what is written
	known bool           // at is; not after an error
}

// notesKey is where the notes are among what a Dad keeps.
const notesKey = "notes"

func notebookOf(c *actor.Ctx[dad.Msg]) (dad.Notebook, error) {
	state, err := shard.StateOf(c)
	if err != nil {
		return nil, err
	}
	return &notebook{state: state}, nil
}

func (b *notebook) Read(ctx context.Context) (n dad.Notes, err error) {
	e, err := b.state.Get(ctx, notesKey)
	if err != nil {
		return dad.Notes{}, err
	}
	b.at, b.known = e.Revision, true
	if !e.Exists() {
		return dad.Notes{}, nil
	}
	if err := json.Unmarshal(e.Value, &n); err != nil {
		return dad.Notes{}, fmt.Errorf("read what Dad has written: %w", err)
	}
	return n, nil
}

func (b *notebook) Write(ctx context.Context, n dad.Notes) error {
	if !b.known {
		if _, err := b.Read(ctx); err != nil {
			return err
		}
	}
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	b.at, err = b.state.Put(ctx, notesKey, b.at, text)
	b.known = err == nil
	return err
}
