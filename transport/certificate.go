package transport

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// TLS makes links mutual TLS 1.3: both sides show a certificate that comes from
// one of the authorities and names the host that its node advertises.
//
// The files are read again while the node runs, so certificates are renewed in
// place; links that are up stay. Files that cannot be used leave in force what
// was read before; see [Certificate].
type TLS struct {
	CertFile string // this node's certificate in PEM, its intermediates behind it. Required
	KeyFile  string // its private key in PEM. Required
	CAFile   string // certificates in PEM of the authorities that peers' must come from. Required

	// Names, if there are any, narrow down who may be a peer where the authority
	// signs for others too: a certificate must name at least one of them as a DNS
	// name, besides its node's address. This node's own must, too.
	Names []string

	Every time.Duration // between two looks at the files; 10 s
}

const maxPEM = 1 << 20 // bytes of a file

// Settings of TLS that name a file, for errors.
const (
	certFile = "Config.TLS.CertFile"
	keyFile  = "Config.TLS.KeyFile"
	caFile   = "Config.TLS.CAFile"
)

// fileError says which setting and file an error is about.
func fileError(setting, file string, err error) error {
	return fmt.Errorf("transport: %s %s: %w", setting, file, err)
}

// contents are the files as they are.
type contents struct{ cert, key, authorities []byte }

func (c contents) equal(d contents) bool {
	return bytes.Equal(c.cert, d.cert) && bytes.Equal(c.key, d.key) && bytes.Equal(c.authorities, d.authorities)
}

// read takes in the files, and reports all that cannot be read.
func (t *TLS) read() (c contents, err error) {
	var errs []error
	for _, f := range []struct {
		setting, file string
		into          *[]byte
	}{{certFile, t.CertFile, &c.cert}, {keyFile, t.KeyFile, &c.key}, {caFile, t.CAFile, &c.authorities}} {
		if f.file == "" {
			errs = append(errs, fmt.Errorf("transport: %s is not set: TLS needs a certificate, its key and the authorities", f.setting))
			continue
		}
		if *f.into, err = readBounded(f.file, maxPEM); err != nil {
			errs = append(errs, fmt.Errorf("transport: %s: %w", f.setting, err)) // err names the file
		}
	}
	return c, errors.Join(errs...)
}

// credentials are what a node shows, and by what it judges its peers. They never
// change.
type credentials struct {
	own         tls.Certificate // with its Leaf
	authorities *x509.CertPool
}

// parse makes credentials for a node that advertises host. What peers would
// refuse is an error here, where somebody reads it.
func (t *TLS) parse(c contents, host string, now time.Time) (*credentials, error) {
	if _, err := firstCertificate(c.cert); err != nil {
		return nil, fileError(certFile, t.CertFile, err)
	}
	own, err := tls.X509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, fileError(keyFile, t.KeyFile, fmt.Errorf("with certificate %s: %w", t.CertFile, err))
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(c.authorities) {
		return nil, fileError(caFile, t.CAFile, errors.New("holds no certificate in PEM form"))
	}
	cr := &credentials{own, authorities}
	if err := cr.check(host, t.Names, now); err != nil {
		return nil, fileError(certFile, t.CertFile, err)
	}
	return cr, nil
}

func firstCertificate(data []byte) (*x509.Certificate, error) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			return x509.ParseCertificate(block.Bytes)
		}
	}
	return nil, errors.New("holds no certificate in PEM form")
}

// check looks at the own certificate as a peer will, in both directions: nodes
// dial and accept.
func (c *credentials) check(host string, names []string, now time.Time) error {
	leaf := c.own.Leaf
	switch expiry(leaf, now) {
	case CertificateExpired:
		return fmt.Errorf("expired at %v", leaf.NotAfter.Format(time.RFC3339))
	case CertificateEarly:
		return fmt.Errorf("not valid before %v; it is %v here", leaf.NotBefore.Format(time.RFC3339), now.Format(time.RFC3339))
	case CertificateValid, CertificateExpiring:
	}
	between := x509.NewCertPool()
	for _, der := range c.own.Certificate[1:] {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return fmt.Errorf("intermediate: %w", err)
		}
		between.AddCert(cert)
	}
	for _, use := range []struct {
		as string
		is x509.ExtKeyUsage
	}{{"server", x509.ExtKeyUsageServerAuth}, {"client", x509.ExtKeyUsageClientAuth}} {
		_, err := leaf.Verify(x509.VerifyOptions{
			Roots: c.authorities, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{use.is},
		})
		if err != nil {
			return fmt.Errorf("as a %s: %w", use.as, err)
		}
	}
	if err := namesHost(leaf, host); err != nil {
		return fmt.Errorf("%w; set Config.Advertise to what it names, or get one for it", err)
	}
	return namesOneOf(leaf, names)
}

// namesHost checks that a certificate is for the host of a node's address, which
// is in its one spelling (MEM-14).
func namesHost(cert *x509.Certificate, host string) error {
	if cert.VerifyHostname(withoutZone(host)) != nil {
		return fmt.Errorf("%w: it names %s, not %s", ErrName, offered(cert), host)
	}
	return nil
}

// withoutZone is a host as certificates name it.
func withoutZone(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.WithZone("").String()
	}
	return host
}

// namesOneOf checks a certificate against [TLS].Names.
func namesOneOf(cert *x509.Certificate, names []string) error {
	if len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return cert.VerifyHostname(n) == nil }) {
		return nil
	}
	return fmt.Errorf("%w: it names %s, none of Config.TLS.Names %s", ErrName, offered(cert), strings.Join(names, ", "))
}

// offered lists the names in a certificate, for people.
func offered(cert *x509.Certificate) string {
	const most = 8
	names := certificateNames(cert)
	switch {
	case len(names) == 0:
		return "nobody"
	case len(names) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	default:
		return strings.Join(names, ", ")
	}
}

func certificateNames(cert *x509.Certificate) []string {
	names := slices.Clone(cert.DNSNames)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// CertificateState is where a certificate is in its life.
type CertificateState string

// The states of a certificate.
const (
	CertificateValid    CertificateState = "valid"
	CertificateExpiring CertificateState = "expiring" // within 14 days, or the last tenth of its life if that is shorter
	CertificateExpired  CertificateState = "expired"  // peers refuse new links
	CertificateEarly    CertificateState = "early"    // not valid yet
)

// expiry tells the state of a certificate.
func expiry(cert *x509.Certificate, now time.Time) CertificateState {
	warning := min(14*24*time.Hour, cert.NotAfter.Sub(cert.NotBefore)/10)
	switch left := cert.NotAfter.Sub(now); {
	case now.Before(cert.NotBefore):
		return CertificateEarly
	case left < 0:
		return CertificateExpired
	case left < warning:
		return CertificateExpiring
	default:
		return CertificateValid
	}
}
