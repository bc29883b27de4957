package manage

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/shard"
)

// FuzzRequests sends whatever comes at the handler: it answers every request
// with a status that it means, never shows what it was sent as HTML, and changes
// nothing for who has no token.
func FuzzRequests(f *testing.F) {
	for _, seed := range [][5]string{
		{"GET", "/cluster/members/troupe%3A%2F%2FSys@10.0.0.2:25520", "", "", ""},
		{"PUT", "/cluster/members/Sys@[::1]:25520", "application/x-www-form-urlencoded", "operation=Down", "Bearer " + token},
		{"POST", "/cluster/members", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"address\"\r\n\r\nSys@h:1\r\n--x--", "Bearer " + token},
		{"PUT", "/cluster", "application/x-www-form-urlencoded", "operation=prepare-for-full-shutdown", ""},
		{"PUT", "/loglevel/slog?logger=ROOT&level=DEBUG", "", "", "bearer  " + token},
		{"HEAD", "/cluster/domain-events?type=MemberUp", "", "", ""},
		{"DELETE", "/cluster/shards/Dad", "", "", "Basic x"},
		{"GET", "/why", "", "", ""},
		{"GET", "/why?type=Dad&id=1", "", "", ""},
		{"PUT", "/cluster/shards/Dad/5", "application/x-www-form-urlencoded", "operation=Move&to=10.0.0.2:25520", "Bearer " + token},
		{"GET", "/cluster/shards/Dad/stats", "", "", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4])
	}
	f.Fuzz(func(t *testing.T, method, path, kind, body, authorization string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || !strings.HasPrefix(path, "/") || method == "" || strings.ContainsFunc(method, func(r rune) bool { return r < 'A' || r > 'Z' }) {
			return // no request
		}
		if strings.HasPrefix(u.Path, "/cluster/domain-events") && method == http.MethodGet {
			method = http.MethodHead // a stream does not end
		}
		h, n := handled(threeNodes(), []shard.Region{&fakeRegion{name: "Dad"}}, Options{Token: token, Level: levelAt("INFO")})
		r := httptest.NewRequest(http.MethodGet, "/", strings.NewReader(body))
		r.Method, r.URL = method, u
		r.Header = http.Header{"Content-Type": {kind}, "Authorization": {authorization}}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch w.Code {
		case 200, 400, 401, 404, 405, 413, 415:
		default:
			t.Errorf("%s %s = %d %s", method, path, w.Code, w.Body)
		}
		if len(n.told) > 0 && !strings.Contains(authorization, token) {
			t.Errorf("%s %s with %q told the node %q", method, path, authorization, n.told)
		}
		if kind := w.Header().Get("Content-Type"); strings.Contains(kind, "html") {
			t.Errorf("%s %s answers with %s", method, path, kind)
		}
	})
}
