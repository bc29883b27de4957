package troupe_test

import (
	"log/slog"
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

// What keeps a joiner's links from being made is what an operator needs to know.
func TestWhyALinkToASeedIsNotMade(t *testing.T) {
	const secret = "what only the nodes know"
	var authorities [2]*certtest.Authority // of each world
	certified := func(by int) func(*troupe.Config) {
		return func(c *troupe.Config) {
			host, _, _ := strings.Cut(c.Listen, ":")
			f := authorities[by].Issue(t, host)
			c.TLS, c.Insecure = &transport.TLS{CertFile: f.Cert, KeyFile: f.Key, CAFile: f.CA}, false
		}
	}
	with := func(secret transport.Secret) func(*troupe.Config) {
		return func(c *troupe.Config) { c.Secret, c.Insecure = secret, false }
	}
	plain := func(*troupe.Config) {}
	for name, tt := range map[string]struct {
		seed, joiner func(*troupe.Config) // no seed: its port is closed
		want         string
		warns        bool
	}{
		"closed port":        {nil, plain, "nobody listens there", false},
		"another secret":     {with(secret), with("what somebody else knows"), "the same Config.Secret", true},
		"no secret here":     {with(secret), plain, "Config.Secret", false},
		"no secret there":    {plain, with(secret), "Config.Secret", true},
		"another authority":  {certified(0), certified(1), "one authority", true},
		"TLS here only":      {plain, certified(0), "Config.TLS", true},
		"TLS there only":     {certified(0), plain, "Config.TLS", false},
		"secret against TLS": {certified(0), with(secret), "Config.TLS", true},
		"TLS against secret": {with(secret), certified(0), "Config.TLS", true},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			authorities = [2]*certtest.Authority{certtest.NewAuthority(t), certtest.NewAuthority(t)}
			w.seeds = w.seeds[:1]
			if w.change = tt.seed; w.change != nil {
				w.start("n1")
			}
			var log safeBuffer
			w.change = func(c *troupe.Config) {
				tt.joiner(c)
				c.Log = slog.New(slog.NewTextHandler(&log, nil))
			}
			joiner := w.start("n2")
			time.Sleep(20 * time.Second)
			said := joiner.Why().String()
			if !strings.Contains(said, "n1:2552 has not answered: ") || !strings.Contains(said, tt.want) {
				t.Errorf("%s: the joiner says\n%s\nwant the link's error and …%s…", name, said, tt.want)
			}
			if lines := strings.Count(log.String(), "level=WARN msg=\"link not made\""); (lines > 0) != tt.warns || lines > 2 {
				t.Errorf("%s: %d warnings in 20 s, want some: %v\n%s", name, lines, tt.warns, log.String())
			}
		})
	}
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
