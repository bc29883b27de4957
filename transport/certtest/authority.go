// Package certtest makes certificates for tests, in files as operators have them.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An Authority signs certificates for tests. They are valid around the time at
// which they are made, which in testing/synctest is the bubble's.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes an authority that nobody knows yet, valid for ten years.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{key: newKey(t)}
	now := time.Now()
	a.cert = sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "test authority"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(10 * 365 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, a.key, a.key)
	return a
}

// Files are the paths of a node's certificate, its key, and the certificate of
// the authority.
type Files struct{ Cert, Key, CA string }

// Issue makes a certificate for hosts, valid for a year, in files of its own.
func (a *Authority) Issue(t testing.TB, hosts ...string) Files {
	t.Helper()
	dir := t.TempDir()
	f := Files{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "ca.pem")}
	now := time.Now()
	a.Renew(t, f, now.Add(-time.Hour), now.Add(365*24*time.Hour), hosts...)
	return f
}

// Renew writes a new certificate, its key and the authority's certificate into
// files.
func (a *Authority) Renew(t testing.TB, f Files, from, until time.Time, hosts ...string) {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		NotBefore: from, NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	cert := sign(t, template, a.cert, key, a.key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatalf("encode a key: %v", err)
	}
	writePEM(t, f.Cert, "CERTIFICATE", cert.Raw)
	writePEM(t, f.Key, "PRIVATE KEY", der)
	writePEM(t, f.CA, "CERTIFICATE", a.cert.Raw)
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("make a key: %v", err)
	}
	return key
}

// sign makes a certificate, signed by itself if it has no parent.
func sign(t testing.TB, template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	if err != nil {
		t.Fatalf("sign a certificate: %v", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatalf("read the certificate just made: %v", err)
	}
	return cert
}

func writePEM(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
