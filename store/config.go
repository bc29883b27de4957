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
	ttl := cmp.Or(c.TTL, 10*time.Second)
	t := lease.Config{
		TTL:    ttl,
		Renew:  cmp.Or(c.Renew, ttl/5),
		Try:    cmp.Or(c.Try, ttl/5),
		Margin: cmp.Or(c.Margin, ttl/8),
	}
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: lease %q: "+format, append([]any{ErrBadArgument, c.Name}, args...)...))
	}
	if err := CheckLease(c.Name, c.Owner, ttl); err != nil {
		errs = append(errs, err)
	}
	if t.Renew < 0 || t.Try < 0 || t.Margin < 0 {
		wrong("Renew %v, Try %v and Margin %v must not be negative", t.Renew, t.Try, t.Margin)
	}
	if t.Renew+2*t.Try+t.Margin > t.TTL {
		wrong("Renew %v + twice Try %v + Margin %v exceed TTL %v, so that one lost answer loses the lease: raise TTL or lower Try",
			t.Renew, t.Try, t.Margin, t.TTL)
	}
	return t, errors.Join(errs...)
}
