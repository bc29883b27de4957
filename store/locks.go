package store

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// A Ring names what runners divide among themselves: the shards of one entity
// type of a cluster. Its shards are those of [State] with the same names.
type Ring struct {
	Cluster string // the name that the nodes have in common
	Type    string // of the entities
}

// String gives cluster/type, for people.
func (r Ring) String() string { return r.Cluster + "/" + r.Type }

// Shard names one shard of the ring.
func (r Ring) Shard(id string) Shard { return Shard{Cluster: r.Cluster, Type: r.Type, ID: id} }

// A Seat is a runner's place in a ring.
type Seat struct {
	Runner string // unique to a process, as host:port and incarnation are
	// Note is what the others must know of the runner, such as its weight, and
	// nothing to the store. At most [MaxNote] bytes.
	Note []byte
}

// A TakenSeat is a seat that has not run out.
type TakenSeat struct {
	Seat
	Token Token
	// Left is how long the seat lasts unless it is kept, by the database's clock
	// at some moment after the question was sent.
	Left time.Duration
}

// A Lock is the right of one runner to serve one shard, as long as its seat lasts.
type Lock struct {
	Shard  string
	Runner string
	Token  Token // of the runner's seat
	Epoch  Epoch // of the runner's tenure of the shard
}

// How much one call may be about.
const (
	MaxNote  = 4 << 10 // bytes of a note
	MaxLocks = 10_000  // shards of one call
)

// Locks are exclusive rights to shards that hang on one lease for each runner, its
// seat: to keep any number of them takes one renewal, and when a seat ends all of
// its locks are void at the same moment. Users keep a seat by a [Seating].
//
// Each lock has an epoch that is higher than all that the shard had before, across
// release, expiry and the end of the whole ring, and above what was claimed of the
// shard by then; see [State]. A lock is not a claim: its holder claims the shard by
// that epoch before it reads.
//
// Calls of one ring are carried out one after the other.
type Locks interface {
	// Sit gives the runner a seat for ttl, with a higher token than any in the ring
	// before. A runner whose seat lasts keeps its token and its locks; the seat
	// lasts for ttl from now, with the new note. One whose seat has run out has
	// lost its locks and gets a new token. Who sits down where nobody sits raises
	// the ring's term.
	Sit(ctx context.Context, r Ring, s Seat, ttl time.Duration) (Token, error)

	// Keep makes the seat last for ttl from now, with the note. It is an
	// [ErrLeaseLost] unless the runner has the seat with that token: a seat that
	// has run out is not revived, even if nothing was taken meanwhile.
	Keep(ctx context.Context, r Ring, s Seat, token Token, ttl time.Duration) error

	// Rise gives up the seat, if the runner has it with that token, with all its
	// locks. If not, there is nothing to do, and that is no error.
	Rise(ctx context.Context, r Ring, runner string, token Token) error

	// Take locks those of the shards that are free: that were never locked, or
	// were given back, or whose holder's seat has ended. It answers those that the
	// runner has then, by shard: also the ones that it had before, with the epochs
	// of then, except that a lock is taken anew if a higher epoch of its shard was
	// claimed meanwhile. The others are held by other runners. It is an
	// [ErrLeaseLost] unless the runner has the seat with that token.
	Take(ctx context.Context, r Ring, runner string, token Token, shards []string) ([]Lock, error)

	// Give gives those of the locks back that the runner still has by the same
	// epoch: they are free at once. For the others there is nothing to do, and
	// that is no error. A runner that gets no clear answer gives them again before
	// it takes one of these shards: it would be answered the same lock, which the
	// first Give may yet free under it. An answered Give ends the epoch.
	Give(ctx context.Context, r Ring, runner string, token Token, locks []Lock) error

	// Table reads all seats that have not run out, by runner, and their locks, by
	// shard, as they were at one moment, and never from a copy that may be behind.
	Table(ctx context.Context, r Ring) ([]TakenSeat, []Lock, error)

	// RaiseTerm gives a term above all that the ring had and that were claimed of
	// its shards, and at least that high. Each answer is another one's: a
	// repetition raises the term again.
	RaiseTerm(ctx context.Context, r Ring, atLeast uint64) (uint64, error)
}

// A Latch is what a database keeps of the lock of a shard. It says by which rules
// a shard is locked; drivers that decide in SQL are held to it by the suite.
type Latch struct {
	Seat  Token // that has it, or had it; 0 for none
	Epoch Epoch // of the last lock
}

// Take gives the latch as the seat leaves it when it asks for the shard, and
// whether it is locked anew: if the seat that has it does not last any more, or if
// it is the asking one's own and not above what the shard's [Fence] knows.
func (l Latch) Take(seat Token, lasts bool, term uint64, claimed Epoch) (Latch, bool) {
	outdone := l.Seat == seat && claimed.Compare(l.Epoch) > 0
	if lasts && !outdone {
		return l, false
	}
	return Latch{Seat: seat, Epoch: Epoch{
		Term: max(term, l.Epoch.Term, claimed.Term),
		N:    max(l.Epoch.N, claimed.N) + 1,
	}}, true
}

// Seated is the answer of [Locks.Table] from all rows that there are: seats of
// which some may have run out, and locks of which only the runner is not known yet.
func Seated(seats []TakenSeat, locks []Lock) ([]TakenSeat, []Lock) {
	seats = slices.DeleteFunc(seats, func(s TakenSeat) bool { return s.Left <= 0 })
	slices.SortFunc(seats, func(a, b TakenSeat) int { return strings.Compare(a.Runner, b.Runner) })
	runners := make(map[Token]string, len(seats))
	for _, s := range seats {
		runners[s.Token] = s.Runner
	}
	locks = slices.DeleteFunc(locks, func(l Lock) bool { return runners[l.Token] == "" })
	for i := range locks {
		locks[i].Runner = runners[locks[i].Token]
	}
	slices.SortFunc(locks, func(a, b Lock) int { return cmp.Compare(a.Shard, b.Shard) })
	return seats, locks
}
