package manage

import (
	"bytes"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/internal/member"
)

const token = "0123456789abcdef"

// send makes a request with a form, if it is not empty, and a header
// Authorization, if it is not empty.
func send(h http.Handler, method, path, form, authorization string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(form))
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func message(text string) string { return `{"message":"` + text + `"}` + "\n" }

func TestChanges(t *testing.T) {
	const b, c = "troupe://Sys@10.0.0.2:25520", "troupe://Sys@[::1]:25520"
	for _, tt := range []struct {
		method, path, form string
		status             int
		answer             string
		told               string
	}{
		{"DELETE", "/cluster/members/" + b, "", 200, "Leaving " + b, "leave 10.0.0.2:25520"},
		{"DELETE", "/cluster/members/Sys@10.0.0.2:25520", "", 200, "Leaving " + b, "leave 10.0.0.2:25520"},
		{"DELETE", "/cluster/members/Sys@10.0.0.9:25520", "", 404, "Member [Sys@10.0.0.9:25520] not found", ""},
		{"PUT", "/cluster/members/" + b, "operation=Down", 200, "Downing " + b, "down 10.0.0.2:25520"},
		{"PUT", "/cluster/members/Sys@%5B::1%5D:25520", "operation=dOwN", 200, "Downing " + c, "down [::1]:25520"},
		{"PUT", "/cluster/members/" + b, "operation=leave", 200, "Leaving " + b, "leave 10.0.0.2:25520"},
		{"PUT", "/cluster/members/" + b, "operation=Drain", 200, "Draining " + b, "drain true 10.0.0.2:25520"},
		{"PUT", "/cluster/members/" + b, "operation=resume", 200, "Resuming " + b, "drain false 10.0.0.2:25520"},
		{"PUT", "/cluster/members/" + b, "operation=Join", 400, "Operation not supported", ""},
		{"PUT", "/cluster/members/" + b, "", 400, "Operation not supported", ""},
		{"PUT", "/cluster/members/Sys@10.0.0.9:25520", "operation=Down", 404, "Member [Sys@10.0.0.9:25520] not found", ""},
		{"POST", "/cluster/members", "address=troupe://Sys@10.0.0.4:25520", 200, "Joining troupe://Sys@10.0.0.4:25520", "join 10.0.0.4:25520"},
		{"POST", "/cluster/members/", "address=Sys%40host:1", 200, "Joining troupe://Sys@host:1", "join host:1"},
		{"POST", "/cluster/members", "address=host:1", 400, "address must be that of a node, such as troupe://Sys@10.0.0.1:25520", ""},
		{"PUT", "/cluster", "operation=prepare-for-full-shutdown", 200, "Preparing for full cluster shutdown", "shutdown :0"},
		{"PUT", "/cluster/", "operation=Prepare-For-Full-Shutdown", 200, "Preparing for full cluster shutdown", "shutdown :0"},
		{"PUT", "/cluster", "operation=stop", 400, "Operation not supported", ""},
	} {
		h, n := handled(threeNodes(), nil, Options{Token: token})
		w := send(h, tt.method, tt.path, tt.form, "Bearer "+token)
		if got := w.Body.String(); w.Code != tt.status || got != message(tt.answer) || strings.Join(n.told, "; ") != tt.told {
			t.Errorf("%s %s %s = %d %s and told the node %q, want %d %s and %q",
				tt.method, tt.path, tt.form, w.Code, got, n.told, tt.status, message(tt.answer), tt.told)
		}
	}
}

func TestOnlyWhoKnowsTheTokenChanges(t *testing.T) {
	for _, tt := range []struct {
		authorization, challenge string
		status                   int
	}{
		{"Bearer " + token, "", 200},
		{"bearer " + token, "", 200},
		{"", `Bearer realm="troupe"`, 401},
		{"Basic " + token, `Bearer realm="troupe"`, 401},
		{token, `Bearer realm="troupe"`, 401},
		{"Bearer", `Bearer realm="troupe", error="invalid_token"`, 401},
		{"Bearer " + token + "0", `Bearer realm="troupe", error="invalid_token"`, 401},
		{"Bearer " + token[1:], `Bearer realm="troupe", error="invalid_token"`, 401},
		{"Bearer " + strings.ToUpper(token), `Bearer realm="troupe", error="invalid_token"`, 401},
	} {
		h, n := handled(threeNodes(), nil, Options{Token: token})
		w := send(h, "DELETE", "/cluster/members/Sys@10.0.0.2:25520", "", tt.authorization)
		if got := w.Header().Get("WWW-Authenticate"); w.Code != tt.status || got != tt.challenge || len(n.told) > 0 != (tt.status == 200) {
			t.Errorf("Authorization %q = %d %q and told the node %q, want %d %q", tt.authorization, w.Code, got, n.told, tt.status, tt.challenge)
		}
		if strings.Contains(n.log.String(), token[1:]) {
			t.Errorf("Authorization %q: the log shows the token: %s", tt.authorization, &n.log)
		}
		if w := send(h, "DELETE", "/cluster/members/Sys@10.0.0.9:25520", "", "Bearer guess"); w.Code != 401 {
			t.Errorf("who does not know the token learns that there is no such member: %d", w.Code)
		}
	}
}

func TestRefusedChangesAreLoggedOnce(t *testing.T) {
	h, n := handled(threeNodes(), nil, Options{Token: token})
	for range 100 {
		send(h, "PUT", "/cluster", "operation=x", "Bearer guess")
	}
	if got := strings.Count(n.log.String(), "\n"); got != 1 {
		t.Errorf("100 refusals made %d lines, want 1:\n%s", got, &n.log)
	}
}

func TestWithoutATokenNothingChanges(t *testing.T) {
	level := levelAt("INFO")
	h, n := handled(threeNodes(), nil, Options{Level: level})
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{"POST", "/cluster/members", 405},
		{"PUT", "/cluster/members/Sys@10.0.0.2:25520", 405},
		{"DELETE", "/cluster/members/Sys@10.0.0.2:25520", 405},
		{"PUT", "/cluster", 404},
		{"GET", "/cluster", 404},
		{"PUT", "/loglevel/slog?level=DEBUG", 403},
		{"DELETE", "/loglevel/slog", 405},
	} {
		w := send(h, tt.method, tt.path, "", "Bearer "+token)
		if w.Code != tt.status {
			t.Errorf("%s %s without a token set = %d, want %d", tt.method, tt.path, w.Code, tt.status)
		}
		if allow := w.Header().Get("Allow"); w.Code == 405 && allow != "GET, HEAD" {
			t.Errorf("%s %s Allow = %q, want GET, HEAD", tt.method, tt.path, allow)
		}
	}
	if len(n.told) > 0 || level.Level() != 0 {
		t.Errorf("the node was told %q, and the level is %v", n.told, level.Level())
	}
}

func TestMethodsThatATargetHas(t *testing.T) {
	h := served(threeNodes(), nil, Options{Token: token})
	for path, want := range map[string]string{
		"/cluster/members":          "GET, HEAD, POST",
		"/cluster/members/Sys@host": "GET, HEAD, PUT, DELETE",
		"/cluster":                  "PUT",
		"/cluster/shards":           "GET, HEAD",
	} {
		w := send(h, "PATCH", path, "", "")
		if got := w.Header().Get("Allow"); w.Code != 405 || got != want {
			t.Errorf("PATCH %s = %d Allow %q, want 405 %q", path, w.Code, got, want)
		}
	}
}

func TestForms(t *testing.T) {
	var parts bytes.Buffer
	form := multipart.NewWriter(&parts)
	if err := errors.Join(form.WriteField("operation", "Down"), form.Close()); err != nil {
		t.Fatal(err)
	}
	many := "operation=Down&x=" + strings.Repeat("x", maxBody)
	manyParts := strings.Replace(parts.String(), "Down", strings.Repeat("x", maxBody), 1)
	for _, tt := range []struct {
		name, kind, body string
		status           int
	}{
		{"multipart", form.FormDataContentType(), parts.String(), 200},
		{"with a charset", "application/x-www-form-urlencoded; charset=UTF-8", "operation=Down", 200},
		{"JSON", "application/json", `{"operation":"Down"}`, 415},
		{"no type", "", "operation=Down", 400},
		{"a broken escape", "application/x-www-form-urlencoded", "operation=%zz", 400},
		{"a broken multipart", "multipart/form-data; boundary=x", "nothing", 400},
		{"too large", "application/x-www-form-urlencoded", many, 413},
		{"too large a multipart", form.FormDataContentType(), manyParts, 413},
		{"in the query", "application/x-www-form-urlencoded", "", 400},
	} {
		h, n := handled(threeNodes(), nil, Options{Token: token})
		path := "/cluster/members/Sys@10.0.0.2:25520"
		if tt.name == "in the query" {
			path += "?operation=Down"
		}
		r := httptest.NewRequest("PUT", path, strings.NewReader(tt.body))
		r.Header.Set("Content-Type", tt.kind)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tt.status || len(n.told) > 0 != (tt.status == 200) {
			t.Errorf("a form that is %s = %d %s and told the node %q, want %d", tt.name, w.Code, w.Body, n.told, tt.status)
		}
	}
}

func TestANodeThatTakesNoNoteSaysSo(t *testing.T) {
	h, n := handled(threeNodes(), nil, Options{Token: token})
	n.err = errors.New("busy")
	if w := send(h, "DELETE", "/cluster/members/Sys@10.0.0.2:25520", "", "Bearer "+token); w.Code != 503 || !strings.Contains(w.Body.String(), "busy") {
		t.Errorf("DELETE at a busy node = %d %s, want 503 busy", w.Code, w.Body)
	}
	n.err = nil
	close(n.done)
	if w := send(h, "DELETE", "/cluster/members/Sys@10.0.0.2:25520", "", "Bearer "+token); w.Code != 503 {
		t.Errorf("DELETE at a node that has ended = %d %s, want 503", w.Code, w.Body)
	}
}

func TestOptionsThatCannotWorkAreRefusedTogether(t *testing.T) {
	check := Check{Name: "node"}
	_, err := newHandler(&fakeNode{view: threeNodes()}, types{}, nil, Options{
		Token: "short", Streams: -1, CheckLimit: -1, Ready: []Check{check}, Alive: []Check{check}, Startup: []Check{check},
	})
	for _, want := range []string{"Token", "Streams", "CheckLimit", "Ready", "Alive", "Startup"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
	for _, bad := range []string{"short", "with a space in it", "umlaut-äöüäöüäöü", "="} {
		if err := CheckToken(bad); err == nil || strings.Contains(err.Error(), bad+" ") {
			t.Errorf("CheckToken(%q) = %v, want an error that does not show it", bad, err)
		}
	}
}

func TestSeedNodes(t *testing.T) {
	const want = `{"selfNode":"troupe://Sys@10.0.0.1:25520","seedNodes":[` +
		`{"node":"troupe://Sys@10.0.0.1:25520","nodeUid":-1234567890123,"status":"Up","roles":["dad","dc-default","web"]},` +
		`{"node":"troupe://Sys@10.0.0.2:25520","nodeUid":42,"status":"Up","roles":["dad","dc-default"]}]}` + "\n"
	if got := do(served(threeNodes(), nil, Options{}), "GET", "/bootstrap/seed-nodes").Body.String(); got != want {
		t.Errorf("seed-nodes\n got %s\nwant %s", got, want)
	}
	empty := do(served(&member.View{Self: idA}, nil, Options{}), "GET", "/bootstrap/seed-nodes").Body.String()
	if want := `{"selfNode":"troupe://Sys@10.0.0.1:25520","seedNodes":[]}` + "\n"; empty != want {
		t.Errorf("seed-nodes before joining = %s, want %s", empty, want)
	}
	v := &member.View{Self: idA}
	for i, s := range slices.Repeat([]member.Status{member.Up, member.Leaving, member.Down, member.Joining, member.Exiting}, 5) {
		v.Members = append(v.Members, member.Member{ID: at(fmt.Sprintf("10.0.1.%d", i), 1, 1), Status: s})
	}
	if doc := SeedNodesOf(&fakeNode{}, v); len(doc.SeedNodes) != 5 || slices.ContainsFunc(doc.SeedNodes, func(s SeedNode) bool { return s.Status != "Up" && s.Status != "Joining" }) {
		t.Errorf("seed-nodes of many = %+v, want 5 that are Up or Joining", doc.SeedNodes)
	}
}
