// Package store is what a cluster coordinates through when it has a database:
// leases, the runner table, the founding of a cluster, state that only the owner
// of its shard can change, and the locks by which runners divide shards among
// themselves. It holds the interfaces that a driver fills, an in-memory driver, and
// [Lease] and [Seating], the handles that keep a lease and a runner's seat alive.
// The drivers for SQLite and PostgreSQL are modules of their own beside it;
// storetest is the suite that all of them pass.
//
// # Time
//
// Whether a lease or a row has run out is decided by one clock, the database's.
// Nothing else is ever compared with it: what a driver answers are durations
// that were left at some moment between question and answer, and [Lease] and
// [Seating] count them on their own monotonic clock from when the question was sent. The wall
// clocks of two machines never meet.
//
// # Fencing
//
// No owner can know that it still is one at the moment when its write arrives. So
// the database decides, in the transaction that writes: it keeps the highest
// [Epoch] of each shard that was claimed, and refuses what is written under an
// older one. [Fence] is that decision, and the [Revision] of each key keeps apart
// what one owner sent twice or too late.
//
// # Outcomes
//
// A driver's method ends in one of three ways. Nil: it was done. One of the
// refusals ([ErrHeld], [ErrLeaseLost], [ErrRunnerGone], [ErrOtherCluster],
// [ErrStaleEpoch], [ErrConflict], [ErrBadArgument]): it was certainly not done. Anything else is an
// [ErrUnknown]: perhaps it was done, perhaps it will be in a moment. Each method
// may be repeated with the same arguments: it is then done once, except that
// RaiseTerm gives another term each time.
//
// # Blocking and concurrency
//
// All methods may be called from any goroutine. A driver's method returns soon
// after its context has ended, done or not.
package store
