package store

import (
	"cmp"
	"context"
	"fmt"
	"iter"
)

// An Epoch numbers the owners of a shard: the term of the authority that named
// the owner, and a count within the term. Each owner has a higher one than all
// before it. The zero Epoch is nobody's.
type Epoch struct{ Term, N uint64 }

// Compare orders epochs by term, then by count.
func (e Epoch) Compare(o Epoch) int {
	return cmp.Or(cmp.Compare(e.Term, o.Term), cmp.Compare(e.N, o.N))
}

// String gives term.count, such as 3.17.
func (e Epoch) String() string { return fmt.Sprintf("%d.%d", e.Term, e.N) }

// A Shard is what has one owner at a time, and is fenced as a whole.
type Shard struct {
	Cluster string // the name that the nodes have in common; an id would end with its founding
	Type    string // of the entities
	ID      string
}

// String gives cluster/type/id, for people.
func (s Shard) String() string { return s.Cluster + "/" + s.Type + "/" + s.ID }

// A Tenure is one ownership of one shard, in whose name is written.
type Tenure struct {
	Shard Shard
	Epoch Epoch
}

// A Revision tells the states of one key apart: each write and each deletion
// gives the key a higher one, which it never has again. A key that is not there
// has one too, the same as all others of its shard that are not there; it is 0 as
// long as nothing was deleted.
type Revision uint64

// An Entry is what is stored under a key.
type Entry struct {
	Key      string
	Value    []byte // no other's; nil and empty are the same
	Revision Revision
	Epoch    Epoch // under which it was written
}

// Exists tells whether there is such a key.
func (e Entry) Exists() bool { return e.Epoch != Epoch{} }

// How large things may be.
const (
	MaxKey   = 2 << 10 // bytes of a key
	MaxValue = 1 << 20 // bytes of a value
	MaxPage  = 1000    // entries of a page

	// PageBytes ends a page: it has no entry more once its values have so many bytes.
	PageBytes = 1 << 20
)

// State is bytes under keys, which only the owner of their shard can change. A
// write names its tenure, and is refused by the database when a higher epoch of
// the shard was ever claimed, or written under: see [StaleEpochError]. A process
// that lost its shard while it was paused, cut off or slow can thus do no harm,
// however late it writes.
//
// Keys may have up to [MaxKey] bytes, and are ordered by them.
type State interface {
	// Claim makes the tenure's epoch the shard's: whatever is written under an
	// older one is refused from now on, also when it was sent before. An owner
	// claims before it reads, so that what it reads is final but for its own
	// writes. It is an [ErrStaleEpoch] if the shard has a higher epoch.
	Claim(ctx context.Context, t Tenure) error

	// Get reads an entry, never from a copy that may be behind. One that does not
	// exist has the key, and the revision to put it at.
	Get(ctx context.Context, s Shard, key string) (Entry, error)

	// Put writes the value, if the key is still at the revision that the writer
	// knows, and answers the next one. It is an [ErrConflict] if not, and an
	// [ErrStaleEpoch] if the shard has a higher epoch; one that was not claimed is
	// claimed by it. Two writes of one epoch that put the same value at the same
	// revision of a key are taken for one and its repetition: who writes from
	// several goroutines has to make values differ.
	Put(ctx context.Context, t Tenure, key string, at Revision, value []byte) (Revision, error)

	// Delete deletes the entry, if it is still at that revision, and answers the
	// one that the key has now; errors are as for Put. If there is no such key,
	// there is nothing to do, and that is no error.
	Delete(ctx context.Context, t Tenure, key string, at Revision) (Revision, error)

	// List reads the entries of a shard whose keys come after one, in order of
	// their bytes: at most limit, which is at most [MaxPage], and none more once
	// their values have [PageBytes]. There are no more when it is empty. Only to
	// who has claimed the shard do pages fit together.
	List(ctx context.Context, s Shard, after string, limit int) ([]Entry, error)
}

// Entries reads all entries of a shard in order of their keys, page by page. It
// ends with the first error.
func Entries(ctx context.Context, from State, s Shard) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for after := ""; ; {
			page, err := from.List(ctx, s, after, MaxPage)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if len(page) == 0 {
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			after = page[len(page)-1].Key
		}
	}
}
