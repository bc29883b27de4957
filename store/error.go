package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/actor"
)

// What a store answers with. Errors that are returned wrap one of these.
const (
	// ErrHeld means that somebody else holds the lease; see [HeldError].
	ErrHeld = actor.Error("store: lease held by another")
	// ErrLeaseLost means that the lease is not held any more: it ran out, was
	// released, or nobody could confirm it in time.
	ErrLeaseLost = actor.Error("store: lease lost")
	// ErrRunnerGone means that the runner's row was removed, or that another
	// incarnation has registered at its address.
	ErrRunnerGone = actor.Error("store: runner not registered")
	// ErrOtherCluster means that the cluster of that name has another id.
	ErrOtherCluster = actor.Error("store: cluster has another id")
	// ErrStaleEpoch means that the shard has got a newer owner; see [StaleEpochError].
	ErrStaleEpoch = actor.Error("store: stale epoch")
	// ErrConflict means that a key is not at the revision that its writer knows;
	// see [ConflictError].
	ErrConflict = actor.Error("store: revision conflict")
	// ErrBadArgument means that a name, an owner or a duration is unusable.
	ErrBadArgument = actor.Error("store: bad argument")
	// ErrUnknown means that the store did not answer in time, or not clearly:
	// perhaps it was done, perhaps not. It may be repeated.
	ErrUnknown = actor.Error("store: outcome unknown")
)

// A HeldError tells who holds a lease that was asked for. It is an [ErrHeld].
type HeldError struct {
	Name string        // of the lease
	By   string        // who holds it
	For  time.Duration // how long at least, unless it is released
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%v: %q is held by %s for %v unless renewed or released", ErrHeld, e.Name, e.By, e.For)
}

// Unwrap gives ErrHeld.
func (e *HeldError) Unwrap() error { return ErrHeld }

// A StaleEpochError refuses an owner of a shard that has got a newer one. Who
// gets it must stop what it serves of the shard at once: whatever it knows may be
// old. It is an [ErrStaleEpoch].
type StaleEpochError struct {
	Shard   Shard
	Epoch   Epoch // of who was refused
	Highest Epoch // of the shard
}

func (e *StaleEpochError) Error() string {
	return fmt.Sprintf("%v: shard %v is owned under epoch %v now, not %v: the owner of then must stop", ErrStaleEpoch, e.Shard, e.Highest, e.Epoch)
}

// Unwrap gives ErrStaleEpoch.
func (e *StaleEpochError) Unwrap() error { return ErrStaleEpoch }

// A ConflictError tells that a key was written behind its writer's back, by
// another one of the same epoch or before it. It is an [ErrConflict].
type ConflictError struct {
	Shard  Shard
	Key    string
	At     Revision // that the writer knows
	Found  Revision // that the key has
	Exists bool     // whether there is such a key
}

func (e *ConflictError) Error() string {
	what := "is"
	if !e.Exists {
		what = "is not there,"
	}
	return fmt.Sprintf("%v: key %.40q of shard %v %s at revision %d, not %d: read it again", ErrConflict, e.Key, e.Shard, what, e.Found, e.At)
}

// Unwrap gives ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }

// NoSeat is the [ErrLeaseLost] of a runner that has no seat with that token.
func NoSeat(r Ring, runner string, token Token) error {
	return fmt.Errorf("%w: the store knows no seat of %s in %v with token %d", ErrLeaseLost, runner, r, token)
}

// Refused tells whether err is a clear no: the store has certainly not done
// what was asked. Other errors of a store leave that open.
func Refused(err error) bool {
	for _, refusal := range []error{ErrHeld, ErrLeaseLost, ErrRunnerGone, ErrOtherCluster, ErrStaleEpoch, ErrConflict, ErrBadArgument} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}
