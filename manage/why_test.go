package manage

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

func TestWhy(t *testing.T) {
	h, n := handled(threeNodes(), nil, Options{})
	since := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	n.waits = []member.Wait{{
		What: member.WaitConvergence, Why: "not all agree", Since: since, Until: since.Add(17 * time.Second),
		On: []member.Holdup{{Node: idB, Why: "is unreachable"}}, Act: "bring it back",
	}, {What: member.WaitPause, Why: "it was not running"}}
	const doc = `{"selfNode":"troupe://Sys@10.0.0.1:25520","status":"Up","at":"2026-11-30T12:00:10Z","waits":[` +
		`{"what":"convergence","why":"not all agree","since":"2026-11-30T12:00:00Z","until":"2026-11-30T12:00:17Z",` +
		`"on":[{"node":"troupe://Sys@10.0.0.2:25520","why":"is unreachable"}],"act":"bring it back"},` +
		`{"what":"pause","why":"it was not running","on":[]}]}` + "\n"
	const text = `10.0.0.1:25520 is Up

convergence: not all agree
  for 10s, since 12:00:00.0Z
  until 12:00:17.0Z at the latest, in 7s
  10.0.0.2:25520 is unreachable
  to do: bring it back

pause: it was not running
`
	for accept, want := range map[string]string{
		"": doc, "*/*": doc, "application/json": doc, "text/html, application/json, text/plain": doc,
		"text/plain": text, "text/plain;q=0.9, application/json": text,
	} {
		r := httptest.NewRequest("GET", "/why", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Body.String(); w.Code != 200 || got != want {
			t.Errorf("GET /why with Accept %q = %d\n got %s\nwant %s", accept, w.Code, got, want)
		}
	}
	n.waits = nil
	if got, want := do(h, "GET", "/why").Body.String(), `{"selfNode":"troupe://Sys@10.0.0.1:25520","status":"Up","at":"2026-11-30T12:00:10Z","waits":[]}`+"\n"; got != want {
		t.Errorf("GET /why of a node that waits for nothing\n got %s\nwant %s", got, want)
	}
}
