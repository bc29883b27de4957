package transport

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/transport/certtest"
)

const day = 24 * time.Hour

func tlsOf(f certtest.Files) *TLS { return &TLS{CertFile: f.Cert, KeyFile: f.Key, CAFile: f.CA} }

func overwrite(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// put writes one file's content into another.
func put(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, to, string(b))
}

// What peers would refuse is an error of Listen, which names the file and the
// reason and leaves the address free.
func TestREM09BrokenFilesFailTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		authority, now := certtest.NewAuthority(t), time.Now()
		foreign := certtest.NewAuthority(t).Issue(t, "10.0.0.1")
		memory := NewMemory()
		var f certtest.Files
		var files *TLS
		for _, tt := range []struct {
			name  string
			spoil func()
			want  func() []string // in the error
		}{
			{"no certificate", func() { _ = os.Remove(f.Cert) }, func() []string { return []string{f.Cert, "no such file"} }},
			{"nor a key", func() { _ = os.Remove(f.Cert); _ = os.Remove(f.Key) }, func() []string { return []string{f.Cert, f.Key} }},
			{"a folder for a key", func() { files.KeyFile = t.TempDir() }, func() []string { return []string{files.KeyFile, "directory"} }},
			{"garbage for a certificate", func() { overwrite(t, f.Cert, "garbage") }, func() []string { return []string{f.Cert, "PEM"} }},
			{"garbage for a key", func() { overwrite(t, f.Key, "garbage") }, func() []string { return []string{f.Key, "find any PEM"} }},
			{"garbage for authorities", func() { overwrite(t, f.CA, "garbage") }, func() []string { return []string{f.CA, "PEM"} }},
			{"another's key", func() { put(t, foreign.Key, f.Key) }, func() []string { return []string{f.Key, f.Cert, "does not match"} }},
			{"a huge file", func() { overwrite(t, f.Cert, strings.Repeat("x", maxPEM+1)) }, func() []string { return []string{f.Cert, "more than"} }},
			{"expired", func() { authority.Renew(t, f, now.Add(-2*day), now.Add(-day), "10.0.0.1") }, func() []string { return []string{f.Cert, "expired at 1999-12-31"} }},
			{"not valid yet", func() { authority.Renew(t, f, now.Add(day), now.Add(2*day), "10.0.0.1") }, func() []string { return []string{f.Cert, "not valid before 2000-01-02"} }},
			{"of a foreign authority", func() { put(t, foreign.Cert, f.Cert); put(t, foreign.Key, f.Key) }, func() []string { return []string{f.Cert, "unknown authority"} }},
			{"for another host", func() { authority.Renew(t, f, now, now.Add(day), "10.0.0.2", "node-2") }, func() []string { return []string{f.Cert, "node-2, 10.0.0.2", "not 10.0.0.1", "Config.Advertise"} }},
			{"for nobody", func() { authority.Renew(t, f, now, now.Add(day)) }, func() []string { return []string{f.Cert, "nobody"} }},
			{"of another group", func() { files.Names = []string{"prod.troupe"} }, func() []string { return []string{f.Cert, "Config.TLS.Names", "prod.troupe"} }},
			{"files not set", func() { files.KeyFile, files.CAFile = "", "" }, func() []string { return []string{"Config.TLS.KeyFile", "Config.TLS.CAFile"} }},
			{"a negative time", func() { files.Every = -1 }, func() []string { return []string{"Config.TLS.Every"} }},
			{"beside Insecure", func() {}, func() []string { return []string{"Config.Insecure"} }},
		} {
			f = authority.Issue(t, "10.0.0.1")
			files = tlsOf(f)
			tt.spoil()
			cfg := Config{Cluster: "x", Listen: nodeID("10.0.0.1", 2552, 0).Address, TLS: files, Insecure: tt.name == "beside Insecure"}
			e, err := memory.Listen(t.Context(), cfg, &tape{})
			if err == nil {
				t.Errorf("%s: no error", tt.name)
				kill(e)
				continue
			}
			for _, want := range tt.want() {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: error %q does not name %q", tt.name, err, want)
				}
			}
		}
		e, err := memory.Listen(t.Context(), Config{Cluster: "x", Listen: nodeID("10.0.0.1", 2552, 0).Address}, &tape{})
		if err != nil {
			t.Fatalf("the address after all the failed starts: %v", err)
		}
		kill(e)
	})
}

// Addresses come in one spelling; certificates have theirs.
func TestMEM14CertificateNamesTheAddress(t *testing.T) {
	cert, err := firstCertificate(readAll(t, certtest.NewAuthority(t).Issue(t, "Node1.Example", "node_1", "*.svc.cluster.local", "::1", "fe80::1", "127.0.0.1").Cert))
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{
		"node1.example": true, "node_1": true, "node1.svc.cluster.local": true, "::1": true, "fe80::1%eth0": true, "127.0.0.1": true,
		"node2.example": false, "svc.cluster.local": false, "a.b.svc.cluster.local": false, "::2": false, "127.0.0.2": false, "localhost": false,
	} {
		if err := namesHost(cert, host); (err == nil) != want {
			t.Errorf("host %s: %v, want it named: %v", host, err, want)
		}
	}
}

func readAll(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestExpiry(t *testing.T) {
	for _, tt := range []struct {
		life, age time.Duration
		want      CertificateState
	}{
		{365 * day, -1, CertificateEarly},
		{365 * day, 0, CertificateValid},
		{365 * day, 351 * day, CertificateValid},
		{365 * day, 351*day + 1, CertificateExpiring},
		{365 * day, 365 * day, CertificateExpiring},
		{365 * day, 365*day + time.Second, CertificateExpired},
		{10 * day, 9 * day, CertificateValid},
		{10 * day, 9*day + 1, CertificateExpiring},
	} {
		from := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		f := certtest.NewAuthority(t).Issue(t)
		certtest.NewAuthority(t).Renew(t, f, from, from.Add(tt.life), "a")
		cert, err := firstCertificate(readAll(t, f.Cert))
		if err != nil {
			t.Fatal(err)
		}
		if got := expiry(cert, from.Add(tt.age)); got != tt.want {
			t.Errorf("life %v, age %v: %v, want %v", tt.life, tt.age, got, tt.want)
		}
	}
}

// A node renews its certificate while it runs: broken files change nothing and
// are reported once, expiry is told beforehand, and links made later use what is
// new.
func TestCertificatesAreRenewedWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		authority, memory, start := certtest.NewAuthority(t), NewMemory(), time.Now()
		f := [2]certtest.Files{authority.Issue(t, "10.0.0.1"), authority.Issue(t, "10.0.0.2")}
		renew := func(from, until time.Duration) {
			for i, host := range []string{"10.0.0.1", "10.0.0.2"} {
				authority.Renew(t, f[i], start.Add(from), start.Add(until), host)
			}
		}
		renew(0, 100*day)
		var got tape
		log := new(lines)
		secure := func(i int) func(*Config) {
			return func(c *Config) {
				c.Insecure, c.TLS, c.Log = false, tlsOf(f[i]), log.logger()
				c.TLS.Every = time.Hour
			}
		}
		a, b := node(t, memory, 1, &tape{}, secure(0)), node(t, memory, 2, &got, secure(1))
		state := func(want CertificateState) {
			t.Helper()
			if c := a.Stats().Certificate; c == nil || c.State != want {
				t.Errorf("after %v: certificate %+v, want it %v", time.Since(start), c, want)
			}
		}
		sendNumber(t, a, b.Self(), 0)
		time.Sleep(30 * time.Minute) // so that files are never read in the moment in which they are written
		time.Sleep(89 * day)
		state(CertificateValid)
		time.Sleep(2 * day)
		state(CertificateExpiring)
		log.want(t, "certificate expires soon", 2)

		overwrite(t, f[0].Cert, "garbage")
		time.Sleep(2 * time.Hour)
		if c := a.Stats().Certificate; !strings.Contains(c.Problem, f[0].Cert) || c.State != CertificateExpiring {
			t.Errorf("certificate %+v, want the one in force, and the problem with %s", c, f[0].Cert)
		}
		log.want(t, "new TLS files not used", 1)

		renew(90*day, 200*day)
		time.Sleep(2 * time.Hour)
		state(CertificateValid)
		if c := a.Stats().Certificate; c.Problem != "" || !c.NotAfter.Equal(start.Add(200*day)) {
			t.Errorf("certificate %+v, want the new one and no problem", c)
		}
		time.Sleep(20 * day) // beyond the life of the first
		memory.Reset(a.Self().Address, b.Self().Address)
		synctest.Wait()
		sendNumber(t, a, b.Self(), 1)
		time.Sleep(5 * time.Second)
		wantNumbers(t, &got, 0, 2)

		time.Sleep(100 * day)
		state(CertificateExpired)
		log.want(t, "certificate expired", 2)
		log.want(t, "new TLS files not used", 1)
	})
}
