package troupe

import (
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/transport"
)

func TestWhyACertificateNeedsSomebody(t *testing.T) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(1, 0, 0)
	for _, tt := range []struct {
		state   transport.CertificateState
		problem string
		why     string    // empty: nothing to tell
		until   time.Time // zero: for ever
	}{
		{transport.CertificateValid, "", "", to},
		{transport.CertificateExpiring, "", "the certificate of node.pem is expiring", to},
		{transport.CertificateExpired, "", "the certificate of node.pem is expired", time.Time{}},
		{transport.CertificateEarly, "", "the certificate of node.pem is early", from},
		{transport.CertificateValid, "no PEM in it", "the certificate of node.pem is valid, and the file as it is now cannot take its place: no PEM in it", to},
	} {
		got := certificateWaits(&transport.Certificate{File: "node.pem", NotBefore: from, NotAfter: to, State: tt.state, Problem: tt.problem})
		if tt.why == "" {
			if len(got) > 0 {
				t.Errorf("of a certificate that is %s: %+v, want nothing", tt.state, got)
			}
			continue
		}
		if len(got) != 1 || got[0].Why != tt.why || !got[0].Until.Equal(tt.until) || got[0].Act == "" {
			t.Errorf("of a certificate that is %s %s: %+v, want %q until %v and what to do", tt.state, tt.problem, got, tt.why, tt.until)
		}
	}
	if got := certificateWaits(nil); len(got) > 0 {
		t.Errorf("without a certificate: %+v, want nothing", got)
	}
}

// What is long over does not make the text unreadable.
func TestWhyInPlainWords(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 9, 0, time.UTC)
	w := Why{Self: ID{Address: Address{Host: "n1", Port: 1}}, At: at}
	if got, want := w.String(), "n1:1 is no member and waits for nothing\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	w.Waits = []Wait{{What: "join", Why: "x", Until: at.Add(-time.Minute)}}
	if got, want := w.String(), "in 0s"; !strings.Contains(got, want) {
		t.Errorf("got %q, want …%q…", got, want)
	}
	w.Waits = []Wait{{What: "certificate", Why: "x", Until: at.AddDate(0, 0, 20)}}
	if got, want := w.String(), "until 2026-01-21 00:00:09Z at the latest"; !strings.Contains(got, want) {
		t.Errorf("got %q, want …%q…", got, want)
	}
}
