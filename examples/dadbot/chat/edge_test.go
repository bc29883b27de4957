package chat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/examples/dadbot/audit"
	"github.com/troupe-go/troupe/examples/dadbot/chat"
	"github.com/troupe-go/troupe/examples/dadbot/dad"
)

// fakeDads keeps what they are told, and answers questions with a memory.
type fakeDads struct {
	mu     sync.Mutex
	told   []string // "chat id from text via"
	at     []time.Time
	refuse error
	memory *dad.Memory // nil: never answers

	meanwhile func() // happens while something is delivered
}

func (d *fakeDads) Ref(name string) actor.Ref[dad.Msg] { return actor.NewRef[dad.Msg](d, name) }
func (d *fakeDads) ShardOf(string) string              { return "320" }
func (d *fakeDads) Describe(key string) string         { return "dad " + key }

func (d *fakeDads) Deliver(ctx context.Context, key string, m dad.Msg) error {
	if d.refuse != nil {
		return d.refuse
	}
	if d.meanwhile != nil {
		d.meanwhile()
	}
	switch m := m.(type) {
	case dad.Said:
		d.mu.Lock()
		defer d.mu.Unlock()
		d.told = append(d.told, strings.Join([]string{key, m.ID, m.From, m.Text, m.Via}, " "))
		d.at = append(d.at, m.At)
	case dad.Recall:
		if d.memory != nil {
			return m.Reply.Send(ctx, *d.memory)
		}
	default: // what only a Dad tells himself
		return actor.ErrUnhandled
	}
	return nil
}

// edge is an edge before fakes.
type edge struct {
	*chat.Edge
	dads     *fakeDads
	up       bool
	paused   bool
	accepted []string
	http.Handler
}

func newEdge() *edge {
	e := &edge{dads: new(fakeDads), up: true}
	e.Edge = &chat.Edge{
		Node: "node-1", Dads: e.dads, Up: func() bool { return e.up }, Paused: func() bool { return e.paused },
		Record: func(ev audit.Event) { e.accepted = append(e.accepted, string(ev.Event)+" "+ev.Chat+" "+ev.ID) },
	}
	e.Handler = e.Edge.Handler(http.NotFoundHandler())
	return e
}

func (e *edge) do(method, path, contentType string, body io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, body)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	return w
}

func (e *edge) post(path, body string) *httptest.ResponseRecorder {
	return e.do(http.MethodPost, path, "application/json", strings.NewReader(body))
}

func TestAMessageIsToldToTheDadOfItsChat(t *testing.T) {
	for _, path := range []string{"/chats/c1/messages", "/chats/%23c1/messages"} {
		e := newEdge()
		w := e.post(path, `{"id":"a","from":"Ann","text":"hi","mood":"good"}`)
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusAccepted || got != `{"id":"a"}` {
			t.Errorf("POST %s = %d %s, want 202 {\"id\":\"a\"}", path, w.Code, got)
		}
		if len(e.dads.told) != 1 || e.dads.told[0] != "#c1 a Ann hi node-1" {
			t.Errorf("POST %s told %q", path, e.dads.told)
		}
		if len(e.accepted) != 1 || e.accepted[0] != "accepted #c1 a" {
			t.Errorf("POST %s recorded %q", path, e.accepted)
		}
	}
}

func TestAMessageWithoutAnIdGetsOne(t *testing.T) {
	e := newEdge()
	seen := make(map[string]bool)
	for _, body := range []string{`{"from":"Ann","text":"hi"}`, `{"id":"","from":"Ann","text":"hi"}`, `{"id":null,"from":"Ann","text":"hi"}`} {
		w := e.post("/chats/c1/messages", body)
		var got struct{ ID string }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.ID) != 36 || seen[got.ID] {
			t.Errorf("POST %s = %d %s, want a fresh id (%v)", body, w.Code, w.Body, err)
		}
		seen[got.ID] = true
	}
}

func TestMessagesOfOneEdgeHaveIncreasingTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where the clock stands still
		e := newEdge()
		for range 3 {
			e.post("/chats/c1/messages", `{"from":"Ann","text":"hi"}`)
		}
		for i, at := range e.dads.at[1:] {
			if !at.After(e.dads.at[i]) {
				t.Errorf("times %v do not increase", e.dads.at)
			}
		}
	})
}

func TestBadRequests(t *testing.T) {
	const ok = `{"from":"Ann","text":"hi"}`
	long := strings.Repeat("x", chat.MaxName+1)
	for _, tt := range []struct {
		name, method, path, media, body string
		status                          int
		reason                          string
	}{
		{"no JSON", "POST", "/chats/c1/messages", "application/json", `{"from":`, 400, "the body is no message"},
		{"an array", "POST", "/chats/c1/messages", "application/json", `[]`, 400, "the body is no message"},
		{"null", "POST", "/chats/c1/messages", "application/json", `null`, 400, `\"from\" is empty`},
		{"empty body", "POST", "/chats/c1/messages", "application/json", ``, 400, "the body is no message"},
		{"two values", "POST", "/chats/c1/messages", "application/json", ok + ok, 400, "the body is no message"},
		{"text is a number", "POST", "/chats/c1/messages", "application/json", `{"from":"Ann","text":1}`, 400, "the body is no message"},
		{"no from", "POST", "/chats/c1/messages", "application/json", `{"text":"hi"}`, 400, `\"from\" is empty`},
		{"blank from", "POST", "/chats/c1/messages", "application/json", `{"from":" ","text":"hi"}`, 400, `\"from\" is empty`},
		{"no text", "POST", "/chats/c1/messages", "application/json", `{"from":"Ann"}`, 400, `\"text\" is empty`},
		{"blank text", "POST", "/chats/c1/messages", "application/json", `{"from":"Ann","text":"\n\t"}`, 400, `\"text\" is empty`},
		{"long id", "POST", "/chats/c1/messages", "application/json", `{"id":"` + long + `","from":"Ann","text":"hi"}`, 400, `\"id\" has 129 bytes`},
		{"long from", "POST", "/chats/c1/messages", "application/json", `{"from":"` + long + `","text":"hi"}`, 400, `\"from\" has 129 bytes`},
		{"no content type", "POST", "/chats/c1/messages", "", ok, 400, "send application/json"},
		{"a form", "POST", "/chats/c1/messages", "application/x-www-form-urlencoded", ok, 400, "send application/json"},
		{"a broken content type", "POST", "/chats/c1/messages", "application/json; =", ok, 400, "send application/json"},
		{"another charset", "POST", "/chats/c1/messages", "application/json; charset=latin1", ok, 400, `the charset is \"latin1\": send application/json in UTF-8`},
		{"JSON with a charset", "POST", "/chats/c1/messages", "application/json; charset=utf-8", ok, 202, `"id"`},
		{"JSON with a charset in capitals", "POST", "/chats/c1/messages", "Application/JSON; Charset=UTF-8", ok, 202, `"id"`},
		{"no UTF-8 in a text", "POST", "/chats/c1/messages", "application/json", `{"from":"Ann","text":"` + "\xff" + `"}`, 400, "the body is no UTF-8"},
		{"half a character", "POST", "/chats/c1/messages", "application/json", `{"from":"Ann","text":"\ud83d!"}`, 400, `the body has \\ud83d, which is half a character`},
		{"a whole character", "POST", "/chats/c1/messages", "application/json", `{"from":"Ann","text":"\ud83d\ude00"}`, 202, `"id"`},
		{"control characters in from", "POST", "/chats/c1/messages", "application/json", `{"from":"A\u001b[31m","text":"hi"}`, 400, `\"from\" has control characters`},
		{"control characters in id", "POST", "/chats/c1/messages", "application/json", `{"id":"a\nb","from":"Ann","text":"hi"}`, 400, `\"id\" has control characters`},
		{"lines in a text", "POST", "/chats/c1/messages", "application/json", `{"from":"Ann","text":"a\nb"}`, 202, `"id"`},
		{"from Dad", "POST", "/chats/c1/messages", "application/json", `{"from":"DadBot","text":"hi"}`, 400, `which only Dad is`},
		{"nearly from Dad", "POST", "/chats/c1/messages", "application/json", `{"from":" dadbot ","text":"hi"}`, 400, `which only Dad is`},
		{"the id of a joke", "POST", "/chats/c1/messages", "application/json", `{"id":"joke:a","from":"Ann","text":"hi"}`, 400, `\"id\" begins with \"joke:\"`},
		{"large", "POST", "/chats/c1/messages", "application/json", `{"from":"Ann","text":"` + strings.Repeat("x", chat.MaxBody) + `"}`, 413, "more than 16384 bytes"},
		{"nameless chat", "POST", "/chats/%23/messages", "application/json", ok, 400, "the chat has no name"},
		{"nameless chat, wrong method", "GET", "/chats/%23/messages", "", "", 400, "the chat has no name"},
		{"empty chat", "POST", "/chats//messages", "application/json", ok, 400, "the chat has no name"},
		{"no chat", "GET", "/chats/", "", "", 400, "the chat has no name"},
		{"long chat", "POST", "/chats/" + long + "/messages", "application/json", ok, 400, "the chat's name has 129 bytes"},
		{"control characters", "POST", "/chats/a%0Ab/messages", "application/json", ok, 400, "control characters"},
		{"no UTF-8", "GET", "/chats/%ff", "", "", 400, "no UTF-8"},
		{"read messages", "GET", "/chats/c1/messages", "", "", 405, "GET is not allowed here: use POST"},
		{"delete a chat", "DELETE", "/chats/c1", "", "", 405, "DELETE is not allowed here: use GET"},
		{"post to a chat", "POST", "/chats/c1", "application/json", ok, 405, "POST is not allowed here: use GET"},
		{"no such thing", "GET", "/chats/c1/dads", "", "", 404, "there is nothing here"},
		{"no chats", "GET", "/chats", "", "", 404, "there is nothing here"},
		{"more than a chat", "GET", "/chats/c1/", "", "", 404, "there is nothing here"},
	} {
		e := newEdge()
		w := e.do(tt.method, tt.path, tt.media, strings.NewReader(tt.body))
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.reason) {
			t.Errorf("%s: %s %s = %d %s, want %d …%s…", tt.name, tt.method, tt.path, w.Code, w.Body, tt.status, tt.reason)
		}
		if got := w.Header().Get("Content-Type"); got != "application/json" {
			t.Errorf("%s: Content-Type = %q, want application/json", tt.name, got)
		}
		if tt.status == 405 && w.Header().Get("Allow") == "" {
			t.Errorf("%s: no Allow header", tt.name)
		}
		if accepted := tt.status == 202; accepted != (len(e.dads.told) == 1) || accepted != (len(e.accepted) == 1) {
			t.Errorf("%s: told %q, recorded %q after a %d", tt.name, e.dads.told, e.accepted, w.Code)
		}
	}
}

func TestWhatPassesByItselfIsA503WithRetryAfter(t *testing.T) {
	for _, tt := range []struct {
		name   string
		set    func(*edge)
		reason string
	}{
		{"not up", func(e *edge) { e.up = false }, "this node is not up"},
		{"buffer full", func(e *edge) { e.dads.refuse = actor.ErrFull }, "mailbox full"},
		{"leaving", func(e *edge) { e.Close() }, "this node is leaving"},
	} {
		e := newEdge()
		tt.set(e)
		w := e.post("/chats/c1/messages", `{"from":"Ann","text":"hi"}`)
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), tt.reason) {
			t.Errorf("%s: %d %s, Retry-After %q; want 503 …%s… and 1", tt.name, w.Code, w.Body, w.Header().Get("Retry-After"), tt.reason)
		}
		if len(e.accepted) != 0 {
			t.Errorf("%s: recorded %q, want nothing", tt.name, e.accepted)
		}
	}
}

func TestLoneSurrogatesAreFound(t *testing.T) {
	for text, want := range map[string]int{
		`\ud800`: 400, `\udc00`: 400, `\ud800x`: 400, `\ud800\ud800`: 400, `\udc00\ud800`: 400, `\uD83D\u0041`: 400,
		`\ud83d\ude00\ud83d`: 400, `\\\ud800`: 400, `\ud800\\udc00`: 400,
		`\ud83d\ude00`: 202, `\uD83D\uDE00\ud83d\ude00`: 202, `\\ud800`: 202, `\"\\\\ud800`: 202, `\ufffd`: 202, `\u0041`: 202, "😀\ufffd": 202,
	} {
		e := newEdge()
		if w := e.post("/chats/c1/messages", `{"from":"Ann","text":"`+text+`"}`); w.Code != want {
			t.Errorf("POST of the text %s = %d %s, want %d", text, w.Code, w.Body, want)
		}
	}
}

// A mux would clean these paths and send the caller to another chat.
func TestAPathIsTakenAsItIs(t *testing.T) {
	for path, want := range map[string]string{
		"/chats/../messages": "#..", "/chats/%2e%2e/messages": "#..", "/chats/a%2Fb/messages": "#a/b", "/chats/%23%23a/messages": "##a", "/chats/messages/messages": "#messages",
	} {
		e := newEdge()
		w := e.post(path, `{"id":"a","from":"Ann","text":"hi"}`)
		if w.Code != http.StatusAccepted || len(e.dads.told) != 1 || !strings.HasPrefix(e.dads.told[0], want+" a ") {
			t.Errorf("POST %s = %d %s and told %q, want 202 and the Dad of %s", path, w.Code, w.Body, e.dads.told, want)
		}
	}
	if w := newEdge().do("GET", "/elsewhere", "", nil); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "error") {
		t.Errorf("GET /elsewhere = %d %s, want the answer of the others", w.Code, w.Body)
	}
}

// A process that was stopped before, or while, it handed something over must
// not say that it succeeded: the cluster may have removed it meanwhile.
func TestAPausedNodeDoesNotServe(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pause func(*edge)
		told  int
	}{
		{"before", func(e *edge) { e.paused = true }, 0},
		{"meanwhile", func(e *edge) { e.dads.meanwhile = func() { e.paused = true } }, 1},
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			e := newEdge()
			e.dads.memory = &dad.Memory{Node: "node-1"}
			tt.pause(e)
			path := map[string]string{http.MethodPost: "/chats/c1/messages", http.MethodGet: "/chats/c1"}[method]
			w := e.do(method, path, "application/json", strings.NewReader(`{"from":"Ann","text":"hi"}`))
			if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), "this node was not running for a while, or has lost its links to most others") {
				t.Errorf("%s paused %s = %d %s, Retry-After %q; want 503 with the reason and 1", method, tt.name, w.Code, w.Body, w.Header().Get("Retry-After"))
			}
			if len(e.accepted) != 0 {
				t.Errorf("%s paused %s: recorded %q, want nothing", method, tt.name, e.accepted)
			}
			if method == http.MethodPost && len(e.dads.told) != tt.told {
				t.Errorf("%s paused %s: told %q, want %d", method, tt.name, e.dads.told, tt.told)
			}
		}
	}
}

func TestHistoryIsWhatTheDadRemembers(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 5, time.UTC)
	e := newEdge()
	e.dads.memory = &dad.Memory{Node: "node-2", Lines: []dad.Line{
		{At: at, ID: "a", From: "Ann", Text: "hi", Via: "node-1"},
		{At: at, ID: "joke:a", From: dad.Bot, Text: "ha", Via: "node-2", Batch: []string{"a"}},
	}}
	want := `{"chat":"#c1","shard":"320","node":"node-2","messages":[` +
		`{"at":"2026-11-30T12:00:00.000000005Z","id":"a","from":"Ann","text":"hi","via":"node-1"},` +
		`{"at":"2026-11-30T12:00:00.000000005Z","id":"joke:a","from":"DadBot","text":"ha","via":"node-2","batch":["a"]}]}`
	if w := e.do("GET", "/chats/c1", "", nil); w.Code != 200 || strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("GET /chats/c1 = %d\n %s\nwant\n %s", w.Code, w.Body, want)
	}
	e.dads.memory = &dad.Memory{Node: "node-2"}
	want = `{"chat":"#c1","shard":"320","node":"node-2","messages":[]}`
	if w := e.do("GET", "/chats/%23c1", "", nil); w.Code != 200 || strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("GET of a chat where nothing was said = %d %s, want %s", w.Code, w.Body, want)
	}
}

func TestHistoryOfADadWhoDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEdge()
		begun := time.Now()
		w := e.do("GET", "/chats/c1", "", nil)
		if w.Code != http.StatusGatewayTimeout || time.Since(begun) != chat.AskWithin {
			t.Errorf("GET = %d %s after %v, want 504 after %v", w.Code, w.Body, time.Since(begun), chat.AskWithin)
		}
		e.up = false
		if w := e.do("GET", "/chats/c1", "", nil); w.Code != http.StatusServiceUnavailable {
			t.Errorf("GET on a node that is not up = %d %s, want 503", w.Code, w.Body)
		}
	})
}

func TestCloseWaitsForMessagesInHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEdge()
		slow := make(chan struct{})
		e.Up = func() bool { <-slow; return true }
		var code int
		go func() { code = e.post("/chats/c1/messages", `{"from":"Ann","text":"hi"}`).Code }()
		synctest.Wait()
		time.AfterFunc(time.Second, func() { close(slow) })
		begun := time.Now()
		e.Close()
		synctest.Wait()
		if code != http.StatusAccepted || time.Since(begun) != time.Second {
			t.Errorf("Close returned after %v with the message in hand at %d; want 1s and 202", time.Since(begun), code)
		}
	})
}

// FuzzBodies wants each body refused, or told as it was sent: U+FFFD is there
// only when it was sent.
func FuzzBodies(f *testing.F) {
	for _, text := range []string{"hi", `\ud83d\ude00`, `\ud83d`, `\\ud83d`, `\ufffd`, "\xff", "\ufffd"} {
		f.Add([]byte(`{"id":"a","from":"Ann","text":"` + text + `"}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e := newEdge()
		w := e.post("/chats/c1/messages", string(body))
		switch w.Code {
		case http.StatusAccepted:
			told := e.dads.told[0]
			sent := bytes.ContainsRune(body, utf8.RuneError) || bytes.Contains(bytes.ToLower(body), []byte(`\ufffd`))
			if !utf8.ValidString(told) || strings.ContainsRune(told, utf8.RuneError) && !sent {
				t.Errorf("POST %q told %q", body, told)
			}
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
			if len(e.dads.told) > 0 {
				t.Errorf("POST %q = %d and told %q", body, w.Code, e.dads.told)
			}
		default:
			t.Errorf("POST %q = %d %s", body, w.Code, w.Body)
		}
	})
}
