package store

import (
	"context"
	"time"
)

// A Store is one database that the nodes of a cluster share.
type Store interface {
	Leases
	Founding
	Runners
	State
	Locks
	// Close ends what the driver has open and waits for it. It releases
	// nothing: rows and leases run out on their own.
	Close() error
}

// A Token numbers the times that a lease was acquired. It grows with each new
// holder of a name, across release and expiry, and is never reset: what was
// written under a lower token came from an earlier holder.
type Token uint64

// A Holding is what the store knows about a lease.
type Holding struct {
	// Owner holds the lease; empty if nobody does.
	Owner string
	// Token is that of the holder, else that of the last one; 0 if there never was one.
	Token Token
	// Left is how long the lease lasts unless it is renewed, by the database's
	// clock at some moment after the question was sent; 0 if nobody holds it.
	Left time.Duration
}

// Leases are named locks that run out. Users hold one by a [Lease], which does
// what is easily forgotten.
//
// An owner must be unique among all processes and attempts that ever compete
// for the name, since the store takes two who call themselves the same for one.
type Leases interface {
	// Acquire gives the lease to the owner for ttl, with a higher token than
	// ever before, if it is free or has run out. If the owner holds it already,
	// that holding is answered as it is, not longer; if somebody else does, the
	// error is a *[HeldError].
	Acquire(ctx context.Context, name, owner string, ttl time.Duration) (Holding, error)

	// Renew makes the lease last for ttl from now. It is an [ErrLeaseLost]
	// unless the owner holds it with that token: a lease that has run out is
	// not revived, even if nobody took it meanwhile.
	Renew(ctx context.Context, name, owner string, token Token, ttl time.Duration) (Holding, error)

	// Release frees the lease if the owner holds it with that token. If not,
	// there is nothing to do, and that is no error.
	Release(ctx context.Context, name, owner string, token Token) error

	// Holder reads who holds the lease, never from a copy that may be behind.
	Holder(ctx context.Context, name string) (Holding, error)
}

// Founding makes nodes that start at the same time agree on one cluster.
type Founding interface {
	// Found answers the id of the cluster with this name: the proposal, if there
	// is none yet, else the one that was there first. Who gets its own proposal
	// back has founded the cluster, so proposals must be unique to a process.
	//
	// An id lasts as long as one runner of it is live (see [Runners]), and at
	// least for ttl: so long its founder has to register. After that the next
	// proposal replaces it, and the runners of the old id are refused for ever.
	Found(ctx context.Context, cluster, proposal string, ttl time.Duration) (id string, err error)
}

// A Runner is a node as the runner table names it.
type Runner struct {
	Cluster     string // the name that the nodes of a cluster have in common
	ClusterID   string // the answer of [Founding]
	Address     string // where other nodes reach it: host:port
	Incarnation int64  // tells two processes at one address apart
}

// A Generation numbers the registrations with a cluster name and grows with
// each. It tells a runner from those before and after it at its address.
type Generation uint64

// A LiveRunner is a row of the runner table that has not run out.
type LiveRunner struct {
	Runner
	Generation Generation
	// Left is how long the row lasts unless it is refreshed, by the database's
	// clock at some moment after the question was sent.
	Left time.Duration
}

// Runners is the table of the nodes that serve a cluster. A node registers when
// it has become a member, not before: whoever finds a live row finds a member,
// and a cluster all of whose members are gone can be founded anew.
type Runners interface {
	// Register enters the runner for ttl. Another incarnation at its address is
	// replaced, and the newcomer gets a higher generation; the same incarnation
	// keeps its generation. It is an [ErrOtherCluster] if the id is not that of
	// the cluster now. Rows that ran out more than ttl ago are deleted.
	Register(ctx context.Context, r Runner, ttl time.Duration) (Generation, error)

	// Refresh makes the row last for ttl from now, also one that has run out but
	// is still there: an outage of the store alone costs no node its place. It
	// is an [ErrRunnerGone] if the row was removed or belongs to another
	// generation, and an [ErrOtherCluster] if the cluster was founded anew: the
	// node must then stop what it serves.
	Refresh(ctx context.Context, r Runner, g Generation, ttl time.Duration) error

	// Remove deletes the row if it is of that generation. If not, there is
	// nothing to do, and that is no error.
	Remove(ctx context.Context, r Runner, g Generation) error

	// Live lists the runners of the cluster whose rows have not run out, by
	// address, never from a copy that may be behind.
	Live(ctx context.Context, cluster string) ([]LiveRunner, error)
}
