package store

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/lease"
)

// LeaseConfig describes a lease and how it is kept. The zero durations have
// defaults that follow from TTL and fit together.
type LeaseConfig struct {
	// Name is what is locked. Required; of any length, see [Key].
	Name string
	// Owner tells people who holds the lease, as a node's address and
	// incarnation do. Required. The handle appends random digits, so that two
	// handles never take each other for themselves.
	Owner string
	// TTL is how long the lease lasts without a renewal, and so how long others
	// wait after a crash of its holder; 10 s by default.
	TTL time.Duration
	// Renew is the time between two renewals; a fifth of TTL by default.
	Renew time.Duration
	// Try bounds each request to the store; a fifth of TTL by default. Renew, Try
	// and Margin must leave time for a second try within TTL.
	Try time.Duration
	// Margin is how much earlier than the store the handle lets go, for clocks
	// that run at different rates; an eighth of TTL by default, which covers
	// two that are each 5 % off.
	Margin time.Duration
	// Lost, if set, is called each time that the lease is lost although it was
	// neither released nor closed: once, on a goroutine of its own, with an
	// [ErrLeaseLost] that tells why. [Lease.Held] says no before the call.
	// [Lease.Close] waits for it, so it must not call Close.
	Lost func(error)
}

// timing gives the durations with defaults, or all that is wrong with them.
func (c LeaseConfig) timing() (lease.Config, error) {
	t, err := timing(fmt.Sprintf("lease %q", c.Name), c.TTL, c.Renew, c.Try, c.Margin)
	return t, errors.Join(CheckLease(c.Name, c.Owner, t.TTL), err)
}

// timing gives the durations with defaults, and what is wrong beside the TTL.
func timing(what string, ttl, renew, try, margin time.Duration) (lease.Config, error) {
	ttl = cmp.Or(ttl, 10*time.Second)
	t := lease.Config{
		TTL:    ttl,
		Renew:  cmp.Or(renew, ttl/5),
		Try:    cmp.Or(try, ttl/5),
		Margin: cmp.Or(margin, ttl/8),
	}
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: %s: "+format, append([]any{ErrBadArgument, what}, args...)...))
	}
	if t.Renew < 0 || t.Try < 0 || t.Margin < 0 {
		wrong("Renew %v, Try %v and Margin %v must not be negative", t.Renew, t.Try, t.Margin)
	}
	if t.Renew+2*t.Try+t.Margin > t.TTL {
		wrong("Renew %v + twice Try %v + Margin %v exceed TTL %v, so that one lost answer loses it: raise TTL or lower Try",
			t.Renew, t.Try, t.Margin, t.TTL)
	}
	return t, errors.Join(errs...)
}
