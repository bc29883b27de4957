package troupe_test

import (
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/transport"
	"github.com/troupe-go/troupe/transport/certtest"
)

// Whole nodes over secured links: they form a cluster, one crashes and is
// removed, and strangers stay outside.
func TestClusterOverSecuredLinks(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		authority := certtest.NewAuthority(t)
		w.change = func(c *troupe.Config) {
			host, _, _ := strings.Cut(c.Listen, ":")
			f := authority.Issue(t, host)
			c.TLS, c.Insecure = &transport.TLS{CertFile: f.Cert, KeyFile: f.Key, CAFile: f.CA, Every: time.Minute}, false
		}
		secured(t, w, func(c *troupe.Config) {
			f := certtest.NewAuthority(t).Issue(t, "n9")
			c.TLS, c.Insecure = &transport.TLS{CertFile: f.Cert, KeyFile: f.Key, CAFile: f.CA}, false
		})
	})
	inWorld(t, func(t *testing.T, w *world) {
		w.change = func(c *troupe.Config) { c.Secret, c.Insecure = "what only the nodes know", false }
		secured(t, w, func(c *troupe.Config) { c.Secret, c.Insecure = "what somebody else knows", false })
	})
}

func secured(t *testing.T, w *world, stranger func(*troupe.Config)) {
	nodes := w.startAll(4)
	w.change = stranger
	outside := w.start("n9")
	time.Sleep(time.Minute)
	w.sees(time.Second, nodes, nodes)
	if seen := outside.View().Members; len(seen) > 0 {
		t.Errorf("the stranger sees %+v, want it outside", seen)
	}
	nodes[3].Kill()
	w.sees(time.Minute, nodes[:3], nodes[:3])
}

func TestStartRefusesBrokenLinkSettings(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg  troupe.Config
		want string
	}{
		"short secret":    {troupe.Config{Secret: "password"}, "Config.Secret has 8 bytes"},
		"files not there": {troupe.Config{TLS: &transport.TLS{CertFile: "nowhere/cert.pem", KeyFile: "k", CAFile: "c"}}, "nowhere/cert.pem"},
		"both":            {troupe.Config{Secret: "what only the nodes know", Insecure: true}, "Config.Insecure"},
		"neither":         {troupe.Config{Listen: "0.0.0.0:0", Advertise: "node:1"}, "Config.TLS or Config.Secret"},
	} {
		n, err := troupe.Start(t.Context(), tt.cfg)
		if err == nil {
			n.Kill()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, tt.want)
		}
	}
}
