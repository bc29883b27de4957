package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/internal/lease"
)

const (
	errClosed   = actor.Error("the handle is closed")
	errReplaced = actor.Error("another call took its place")
	errSilence  = actor.Error("the store did not answer")
)

// run is the one goroutine that steps the machine.
func (l *Lease) run(m *lease.Machine) {
	defer close(l.ended)
	var waiting command
	answers := make(chan lease.Input, 1) // as many as requests at a time
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		var in lease.Input
		select {
		case <-l.ctx.Done():
			l.holding.Store(nil)
			waiting.reply(outcome{err: unknown(errClosed, nil)})
			return
		case c := <-l.command:
			if c.ends != nil && c.ends != waiting.answer {
				continue // answered already
			}
			waiting.reply(outcome{err: unknown(errReplaced, m.Cause())})
			waiting, in = c, c.in
		case <-l.touch:
			in = lease.Touch{}
		case in = <-answers:
		case <-timer.C:
			in = lease.Tick{}
		}
		out := m.Step(time.Now(), in)
		l.publish(m)
		if out.Do != nil {
			l.work.Go(func() { answers <- l.ask(*out.Do) })
		}
		for _, e := range out.Events {
			waiting = l.tellOf(e, waiting)
		}
		if _, dropped := waiting.in.(lease.Drop); dropped && m.Settled() {
			waiting = waiting.reply(outcome{})
		}
		if !out.Wake.IsZero() {
			timer.Reset(time.Until(out.Wake))
		}
	}
}

// reply answers the command if it still waits, and leaves none.
func (c command) reply(o outcome) command {
	if c.answer != nil {
		c.answer <- o
	}
	return command{}
}

// publish makes what the machine holds visible. It comes before anything is
// done about it, so that a lease is not released while it is still shown.
func (l *Lease) publish(m *lease.Machine) {
	token, until, held := m.Holding()
	if !held {
		l.holding.Store(nil)
		return
	}
	l.holding.Store(&holding{token: Token(token), until: until})
}

// tellOf hands an event to whom it is for.
func (l *Lease) tellOf(e lease.Event, waiting command) command {
	_, wanted := waiting.in.(lease.Want)
	switch e := e.(type) {
	case lease.Held:
		if wanted {
			return waiting.reply(outcome{token: Token(e.Token)})
		}
	case lease.Denied:
		if wanted {
			return waiting.reply(outcome{err: e.Cause})
		}
	case lease.Lost:
		if l.lost != nil {
			err := lostError(l.what, e)
			l.work.Go(func() { l.lost(err) })
		}
	}
	return waiting
}

func lostError(what string, e lease.Lost) error {
	cause := e.Cause
	if cause == nil {
		cause = errSilence
	}
	return fmt.Errorf("%w: %s, held with token %d: %w", ErrLeaseLost, what, e.Token, cause)
}

// ask makes one request to the store.
func (l *Lease) ask(r lease.Request) lease.Answer {
	ctx, cancel := context.WithDeadline(l.ctx, r.Deadline)
	defer cancel()
	var h Holding
	var err error
	switch r.Op {
	case lease.Acquire:
		h, err = l.leases.Acquire(ctx, l.name, l.owner, l.ttl)
	case lease.Renew:
		h, err = l.leases.Renew(ctx, l.name, l.owner, Token(r.Token), l.ttl)
	case lease.Release:
		err = l.leases.Release(ctx, l.name, l.owner, Token(r.Token))
	case lease.Read:
		h, err = l.leases.Holder(ctx, l.name)
		if err == nil && h.Owner != l.owner {
			err = ErrLeaseLost
		}
	}
	switch {
	case err == nil:
		return lease.Answer{Outcome: lease.Granted, Token: uint64(h.Token), Left: h.Left}
	case Refused(err):
		return lease.Answer{Outcome: lease.Refused, Cause: err}
	default:
		return lease.Answer{Outcome: lease.Unknown, Cause: err}
	}
}

// unknown is an [ErrUnknown] that says why nobody waited longer, and what was
// the matter with the store, if anything was.
func unknown(why, cause error) error {
	switch {
	case cause == nil:
		return fmt.Errorf("%w: %w", ErrUnknown, why)
	case errors.Is(cause, ErrUnknown):
		return fmt.Errorf("%w: %w", why, cause)
	default:
		return fmt.Errorf("%w: %w: %w", ErrUnknown, why, cause)
	}
}
