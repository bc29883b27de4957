package transport

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// A Certificate is what this node shows its peers now, for people and probes.
type Certificate struct {
	File      string // it was read from
	Names     []string
	NotBefore time.Time
	NotAfter  time.Time
	State     CertificateState
	Problem   string // why the files as they are now cannot take its place; empty if they are in force
}

// A renewal keeps the credentials of a node up to date with their files. The
// goroutine that keeps it owns all but the atomics.
type renewal struct {
	files   TLS
	host    string // that this node advertises
	log     *slog.Logger
	inForce atomic.Pointer[credentials]
	problem atomic.Pointer[string] // with the files as they are, nil for none

	seen contents         // last, good or bad
	said CertificateState // in the log, of the one in force
}

// newRenewal reads the files for the first time; all must be good.
func newRenewal(files TLS, host string, log *slog.Logger) (*renewal, error) {
	seen, err := files.read()
	if err != nil {
		return nil, err
	}
	now, err := files.parse(seen, host, time.Now())
	if err != nil {
		return nil, err
	}
	r := &renewal{files: files, host: host, log: log, seen: seen, said: CertificateValid}
	r.inForce.Store(now)
	return r, nil
}

// keep looks at the files again and again until ctx ends.
func (r *renewal) keep(ctx context.Context) {
	for {
		r.warn(time.Now())
		if !pause(ctx, r.files.Every) {
			return
		}
		r.look(time.Now())
	}
}

// look takes new files into use. It compares what is in them, not their times,
// which tell nothing about a file that was written twice within a tick.
func (r *renewal) look(now time.Time) {
	seen, err := r.files.read()
	if err == nil {
		if r.problem.Load() == nil && seen.equal(r.seen) {
			return
		}
		var next *credentials
		if next, err = r.files.parse(seen, r.host, now); err == nil {
			if !seen.equal(r.seen) {
				r.log.Info("certificate read", "file", r.files.CertFile, "expires", next.own.Leaf.NotAfter)
			}
			r.inForce.Store(next)
			r.said = CertificateValid
		}
		r.seen = seen
	}
	r.report(err)
}

// report says once what is wrong with the files.
func (r *renewal) report(err error) {
	if err == nil {
		r.problem.Store(nil)
		return
	}
	text := err.Error()
	if before := r.problem.Swap(&text); before == nil || *before != text {
		r.log.Warn("new TLS files not used; the certificate in force stays", "err", err, "expires", r.inForce.Load().own.Leaf.NotAfter)
	}
}

// warn says once that the certificate in force expires, and once that it has.
func (r *renewal) warn(now time.Time) {
	leaf := r.inForce.Load().own.Leaf
	state := expiry(leaf, now)
	if state == r.said {
		return
	}
	r.said = state
	switch state {
	case CertificateExpiring:
		r.log.Warn("certificate expires soon: put a new one in its place, it is read while the node runs",
			"file", r.files.CertFile, "expires", leaf.NotAfter)
	case CertificateExpired:
		r.log.Error("certificate expired: no new link can be made until there is a new one in its place",
			"file", r.files.CertFile, "expired", leaf.NotAfter)
	case CertificateValid, CertificateEarly: // nothing to say, and refused by parse
	}
}

func (r *renewal) stats(now time.Time) *Certificate {
	leaf := r.inForce.Load().own.Leaf
	c := &Certificate{
		File: r.files.CertFile, Names: certificateNames(leaf), NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter, State: expiry(leaf, now),
	}
	if problem := r.problem.Load(); problem != nil {
		c.Problem = *problem
	}
	return c
}
