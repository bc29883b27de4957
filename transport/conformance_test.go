package transport_test

import (
	"testing"

	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/transport/certtest"
	"github.com/troupe-go/troupe/transport/transporttest"
)

// TestSuite runs the suite over each kind of stream and each way to secure it.
func TestSuite(t *testing.T) {
	f := certtest.NewAuthority(t).Issue(t, "127.0.0.1", "node-2.example")
	files := &transport.TLS{CertFile: f.Cert, KeyFile: f.Key, CAFile: f.CA}
	const secret transport.Secret = "known to the nodes of the suite"
	streams := map[string]func() transport.Transport{
		"Memory": func() transport.Transport { return transport.NewMemory() },
		"TCP":    func() transport.Transport { return transport.TCP{} },
	}
	for name, secure := range map[string]func(*transport.Config){
		"Plain":     func(*transport.Config) {},
		"TLS":       func(c *transport.Config) { c.TLS = files },
		"Secret":    func(c *transport.Config) { c.Secret = secret },
		"TLSSecret": func(c *transport.Config) { c.TLS, c.Secret = files, secret },
	} {
		for stream, open := range streams {
			t.Run(stream+name, func(t *testing.T) {
				transporttest.Run(t, func(*testing.T) transport.Transport { return transporttest.Secured{Transport: open(), Secure: secure} })
			})
		}
	}
}
