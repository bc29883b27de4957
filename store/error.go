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

// Refused tells whether err is a clear no: the store has certainly not done
// what was asked. Other errors of a store leave that open.
func Refused(err error) bool {
	for _, refusal := range []error{ErrHeld, ErrLeaseLost, ErrRunnerGone, ErrOtherCluster, ErrBadArgument} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}
