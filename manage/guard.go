package manage

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/seldom"
)

const minToken = 16

// tokenPattern is b64token of RFC 6750, section 2.1.
var tokenPattern = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// CheckToken tells whether a text can be the token of [Options]; the error does
// not show it.
func CheckToken(token string) error {
	switch {
	case len(token) < minToken:
		return fmt.Errorf("it has %d characters: use at least %d, such as the output of openssl rand -hex 32", len(token), minToken)
	case !tokenPattern.MatchString(token):
		return errors.New("use letters, digits and -._~+/ only, as RFC 6750 asks")
	}
	return nil
}

// A guard lets those change the cluster who know the token. It keeps the hash
// only, and compares hashes in constant time: neither the token's text nor its
// length shows in how long an answer takes.
type guard struct {
	set bool
	sum [sha256.Size]byte
	log *slog.Logger
	now func() time.Time

	refusals *seldom.Filter[struct{}] // in the log
}

// refusalEvery is how often refused changes are logged.
const refusalEvery = 10 * time.Second

func newGuard(token string, log *slog.Logger, now func() time.Time) guard {
	return guard{set: token != "", sum: sha256.Sum256([]byte(token)), log: log, now: now, refusals: seldom.New[struct{}](refusalEvery)}
}

// open tells whether changes are possible at all.
func (g guard) open() bool { return g.set }

// admits lets a change pass, or answers 401 as RFC 6750, section 3 asks: without
// an error code to who has shown no token, and with invalid_token to who has
// shown a wrong one.
func (g guard) admits(w http.ResponseWriter, r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimLeft(token, " ")))
	bearer := strings.EqualFold(scheme, "Bearer")
	if same := subtle.ConstantTimeCompare(sum[:], g.sum[:]) == 1; g.set && bearer && same {
		g.log.Info("management request", slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.String("from", r.RemoteAddr))
		return true
	}
	challenge, text := `Bearer realm="troupe"`, "changes need the header Authorization: Bearer TOKEN"
	if bearer {
		challenge, text = challenge+`, error="invalid_token"`, "the token is not that of this node"
	}
	g.complain(r, text)
	w.Header().Set("WWW-Authenticate", challenge)
	writeText(w, http.StatusUnauthorized, text+"\n")
	return false
}

// complain logs the first refusal at once and then one line in each interval,
// so that somebody who guesses fills no disk.
func (g guard) complain(r *http.Request, why string) {
	if more, due := g.refusals.Due(g.now(), struct{}{}); due {
		g.log.Warn("management request refused", slog.String("method", r.Method), slog.String("path", r.URL.Path),
			slog.String("from", r.RemoteAddr), slog.String("reason", why), slog.Int("more", more))
	}
}
