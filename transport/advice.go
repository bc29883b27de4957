package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/troupe-go/troupe/actor"
)

// What is wrong with the security of a link, as far as this side can tell.
const (
	errTLS    = actor.Error("TLS handshake")
	errSecret = actor.Error("has not proved that it knows Config.Secret")
)

// misfit tells whether an attempt came to nothing because the two sides do not
// agree on the security of their links. That needs somebody's hand, where a node
// that is not there yet may come.
func misfit(err error) bool {
	switch refusal(err) {
	case RefusedTLS, RefusedCertificate, RefusedName, RefusedSecret:
		return true
	default:
		return errors.Is(err, errTLS) || errors.Is(err, errSecret) || alerted(err)
	}
}

// alerted tells whether the peer ended TLS after this side took the handshake for
// done, as it does with a certificate that it does not like.
func alerted(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error"
}

// advice tells people what to do about an attempt that made no link; empty when
// the error says so itself, or nobody knows.
func advice(err error) string {
	_, lookup := errors.AsType[*net.DNSError](err)
	switch {
	case refusal(err) == RefusedSecret || errors.Is(err, errSecret):
		return "give both nodes the same Config.Secret"
	case misfit(err):
		return "give both nodes Config.TLS or both Config.Secret, and certificates that are valid, name their hosts and come from one authority"
	case lookup:
		return "correct the name, or see why it cannot be looked up here"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nobody listens there: start the node, or correct the address"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "see whether that host runs, and whether a firewall stands between"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return "if it lasts, see whether Config.TLS or Config.Secret is set there and not here"
	default:
		return ""
	}
}
