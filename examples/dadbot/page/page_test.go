package page_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/examples/dadbot/page"
)

func get(t *testing.T, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	mux := http.NewServeMux()
	page.Routes(mux)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

func TestFiles(t *testing.T) {
	for path, media := range map[string]string{
		"/": "text/html; charset=utf-8", "/page.css": "text/css; charset=utf-8", "/page.js": "text/javascript; charset=utf-8",
	} {
		w := get(t, http.MethodGet, path)
		if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != media {
			t.Errorf("GET %s = %d %s, want 200 %s", path, w.Code, got, media)
		}
		if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'self'") {
			t.Errorf("GET %s has the policy %q", path, policy)
		}
	}
	if w := get(t, http.MethodPost, "/"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST / = %d, want 405", w.Code)
	}
	if w := get(t, http.MethodGet, "/other"); w.Code != http.StatusNotFound {
		t.Errorf("GET /other = %d, want 404", w.Code)
	}
}

// The policy would stop a load from elsewhere, and the page would be broken.
func TestNothingIsLoadedFromElsewhere(t *testing.T) {
	outside := regexp.MustCompile(`(?:https?:)?//[a-z0-9]|@import`)
	for _, path := range []string{"/", "/page.css", "/page.js"} {
		for line := range strings.Lines(get(t, http.MethodGet, path).Body.String()) {
			if outside.MatchString(line) {
				t.Errorf("%s refers elsewhere: %s", path, strings.TrimSpace(line))
			}
		}
	}
}

// A field without a label, or a script without its element, is found here.
func TestThePageFitsTogether(t *testing.T) {
	html := get(t, http.MethodGet, "/").Body.String()
	script := get(t, http.MethodGet, "/page.js").Body.String()
	for _, m := range regexp.MustCompile(`\$\("([a-z]+)"\)`).FindAllStringSubmatch(script, -1) {
		if !strings.Contains(html, `id="`+m[1]+`"`) {
			t.Errorf("page.js asks for #%s, which page.html has not", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`<input id="([a-z]+)"`).FindAllStringSubmatch(html, -1) {
		if !strings.Contains(html, `<label for="`+m[1]+`"`) {
			t.Errorf("the field %s has no label", m[1])
		}
	}
}
