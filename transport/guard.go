package transport

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"syscall"
)

// A guard makes streams fit for a cluster's frames, as the configuration says:
// as they are; TLS with certificates; TLS with a shared secret, where each
// endpoint makes its own certificate and who the peer is follows from the proof
// of the secret, which is bound to the TLS session (see [Secret]); or both.
type guard struct {
	secret  Secret
	certs   *renewal         // nil without Config.TLS
	standIn *tls.Certificate // made here: when a secret is all there is
}

// newGuard makes the guard of a node that advertises host.
func newGuard(cfg *Config, host string, log *slog.Logger) (g *guard, err error) {
	g = &guard{secret: cfg.Secret}
	switch {
	case cfg.TLS != nil:
		g.certs, err = newRenewal(*cfg.TLS, host, log)
	case cfg.Secret != "":
		g.standIn, err = newStandIn()
	}
	return g, err
}

// newStandIn makes a certificate that says nothing: it only carries TLS.
func newStandIn() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("transport: key of a link with Config.Secret: %w", err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("transport: certificate of a link with Config.Secret: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// String names what the guard does, as in [Stats].Security.
func (g *guard) String() string {
	switch {
	case g.certs != nil && g.secret != "":
		return "tls+secret"
	case g.certs != nil:
		return "tls"
	case g.secret != "":
		return "secret"
	default:
		return "plain"
	}
}

// A channel is a stream that a guard has made fit.
type channel struct {
	net.Conn                   // TLS, or the stream itself
	bare     net.Conn          // the stream
	peer     *x509.Certificate // that the peer has shown and that comes from an authority; nil without
	binding  []byte            // of this TLS session, the same at both ends; nil without TLS
}

// Close closes the stream without TLS's own farewell, which could block on a
// peer that does not read; goodbyes are said in frames.
func (c *channel) Close() error { return c.bare.Close() }

// accept makes a stream fit that a peer has dialed. It ends by the deadline of
// the stream.
func (g *guard) accept(conn net.Conn) (*channel, error) {
	if g.plain() {
		return bare(conn)
	}
	c := g.base()
	if g.certs != nil {
		c.ClientAuth = tls.RequireAndVerifyClientCert
		c.ClientCAs = g.certs.inForce.Load().authorities
	}
	return g.shake(tls.Server(conn, c), conn)
}

// dial makes a stream fit that this node has dialed, to a node that advertises
// host. It ends by the deadline of the stream.
func (g *guard) dial(conn net.Conn, host string) (*channel, error) {
	if g.plain() {
		return bare(conn)
	}
	c := g.base()
	if g.certs != nil {
		c.RootCAs = g.certs.inForce.Load().authorities
		c.ServerName = withoutZone(host)
	} else {
		c.InsecureSkipVerify = true // a certificate made on the spot proves nothing; the secret does
	}
	return g.shake(tls.Client(conn, c), conn)
}

func (g *guard) plain() bool { return g.certs == nil && g.standIn == nil }

// base is what both directions have in common.
func (g *guard) base() *tls.Config {
	c := &tls.Config{
		MinVersion:                  tls.VersionTLS13,
		SessionTicketsDisabled:      true, // links live long; each begins with a whole handshake
		DynamicRecordSizingDisabled: true, // writes are large
	}
	if g.certs == nil {
		c.Certificates = []tls.Certificate{*g.standIn}
		return c
	}
	c.Certificates = []tls.Certificate{g.certs.inForce.Load().own}
	c.VerifyConnection = func(s tls.ConnectionState) error { return namesOneOf(s.PeerCertificates[0], g.certs.files.Names) }
	return c
}

// A label for what both sides derive from their TLS session (RFC 5705).
const bindingLabel = "EXPORTER-Troupe-Link"

// shake does TLS's handshake.
func (g *guard) shake(t *tls.Conn, bare net.Conn) (*channel, error) {
	if err := t.Handshake(); err != nil {
		return nil, fmt.Errorf("%w: %w%s", errTLS, err, tlsHint(err))
	}
	s := t.ConnectionState()
	binding, err := s.ExportKeyingMaterial(bindingLabel, nil, 32)
	if err != nil {
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	ch := &channel{Conn: t, bare: bare, binding: binding}
	if g.certs != nil {
		ch.peer = s.PeerCertificates[0]
	}
	return ch, nil
}

// tlsHint names the usual cause of an error that does not tell it.
func tlsHint(err error) string {
	if _, plain := errors.AsType[tls.RecordHeaderError](err); plain || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return "; is the other side configured with TLS or Secret, too?"
	}
	return ""
}

// tlsRefusal is the reason for which TLS's handshake was not accepted.
func tlsRefusal(err error) Refusal {
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case unverified:
		return RefusedCertificate
	case errors.Is(err, ErrName):
		return RefusedName
	default:
		return RefusedTLS
	}
}

// admits checks that whoever holds the other end of a channel may be the host
// that it says it is.
func (g *guard) admits(ch *channel, host string) error {
	if g.certs == nil {
		return nil
	}
	return namesHost(ch.peer, host)
}

// convinces judges a caller's proof of the secret; the text explains a refusal.
func (g *guard) convinces(ch *channel, h *hello) (text string) {
	switch {
	case g.secret == "" && h.proof == "":
		return ""
	case g.secret == "":
		return "the caller has a shared secret, this node has none"
	case h.proof == "":
		return "this node has a shared secret, the caller has none"
	case !g.secret.proven(h.proof, roleDials, ch.binding, h.said()):
		return "the caller has another shared secret"
	default:
		return ""
	}
}
