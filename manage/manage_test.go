package manage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard"
)

// fakeNode is a node whose state a test sets. It notes what it is told to do.
type fakeNode struct {
	view    *member.View
	done    chan struct{}
	paused  bool
	drained bool
	waits   []member.Wait
	past    []troupe.Event
	follow  func(troupe.Event) // the one follower
	left    chan struct{}      // closed when the follower is gone; nil: nobody asks
	told    []string
	err     error // what it answers
	log     bytes.Buffer
}

func (n *fakeNode) Name() string          { return "Sys" }
func (n *fakeNode) Scheme() string        { return "troupe" }
func (n *fakeNode) View() *member.View    { return n.view }
func (n *fakeNode) Done() <-chan struct{} { return n.done }
func (n *fakeNode) Paused() bool          { return n.paused }
func (n *fakeNode) Log() *slog.Logger     { return slog.New(slog.NewTextHandler(&n.log, nil)) }

func (n *fakeNode) Why() troupe.Why {
	return troupe.Why{Self: n.view.Self, Status: member.Up, At: time.Date(2026, 11, 30, 12, 0, 10, 0, time.UTC), Waits: n.waits}
}

func (n *fakeNode) Follow(f func(troupe.Event)) ([]troupe.Event, func()) {
	n.follow = f
	return n.past, func() {
		if n.left != nil {
			close(n.left)
		}
	}
}

func (n *fakeNode) JoinThrough(_ context.Context, a member.Address) error { return n.tell("join", a) }

func (n *fakeNode) LeaveMember(_ context.Context, a member.Address) error { return n.tell("leave", a) }

func (n *fakeNode) Down(_ context.Context, a member.Address) error { return n.tell("down", a) }

func (n *fakeNode) PrepareClusterShutdown(context.Context) error {
	return n.tell("shutdown", member.Address{})
}

func (n *fakeNode) tell(what string, a member.Address) error {
	n.told = append(n.told, what+" "+a.String())
	return n.err
}

// fakeRegion is a region that hosts what a test says.
type fakeRegion struct {
	shard.Region
	name       string
	hosted     []shard.ShardStat
	registered bool
	troubles   []shard.Trouble
	stats      shard.ClusterStats
	why        shard.Why
	told       []string
	refuses    error
}

func (r *fakeRegion) Troubles() []shard.Trouble                       { return r.troubles }
func (r *fakeRegion) ClusterStats(context.Context) shard.ClusterStats { return r.stats }
func (r *fakeRegion) Why(_ context.Context, id string) shard.Why      { r.why.ID = id; return r.why }

func (r *fakeRegion) Move(_ context.Context, s string, to troupe.Address) error {
	r.told = append(r.told, "move "+s+" "+to.String())
	return r.refuses
}

func (r *fakeRegion) Release(_ context.Context, s string) error {
	r.told = append(r.told, "release "+s)
	return r.refuses
}

// types of the fake node are those regions.
func (n *fakeNode) types(regions []shard.Region) types {
	return types{
		regions: func() []shard.Region { return regions },
		drained: func() bool { return n.drained },
		drain: func(_ context.Context, at troupe.ID, on bool) error {
			return n.tell(fmt.Sprintf("drain %t", on), at.Address)
		},
	}
}

func (r *fakeRegion) TypeName() string          { return r.name }
func (r *fakeRegion) Hosted() []shard.ShardStat { return r.hosted }
func (r *fakeRegion) Registered() bool          { return r.registered }

func at(host string, port int, uid int64) member.ID {
	return member.ID{Address: member.Address{Host: host, Port: port}, UID: uid}
}

var (
	idA = at("10.0.0.1", 25520, -1234567890123)
	idB = at("10.0.0.2", 25520, 42)
	idC = at("::1", 25520, 7)
)

// threeNodes is seen from idA: A and B are up, C in another data center is up
// and unreachable. B is the oldest.
func threeNodes() *member.View {
	return &member.View{
		Self: idA, DataCenter: "default",
		Members: []member.Member{
			{ID: idA, Status: member.Up, UpNumber: 2, Roles: []string{"dad", "web"}, DataCenter: "default"},
			{ID: idB, Status: member.Up, UpNumber: 1, Roles: []string{"dad"}, DataCenter: "default"},
			{ID: idC, Status: member.Up, UpNumber: 1, Roles: []string{"zoo"}, DataCenter: "west"},
		},
		Unreachable:  []member.ID{idC},
		Observations: []member.Observation{{Observer: idB, Subject: idC}, {Observer: idA, Subject: idC}},
		Leader:       idA,
	}
}

func served(view *member.View, regions []shard.Region, o Options) *handler {
	h, _ := handled(view, regions, o)
	return h
}

// handled gives the node of the handler too.
func handled(view *member.View, regions []shard.Region, o Options) (*handler, *fakeNode) {
	n := &fakeNode{view: view, done: make(chan struct{})}
	h, err := newHandler(n, n.types(regions), time.Now, o)
	if err != nil {
		panic(err) // options of a test
	}
	return h, n
}

func do(h http.Handler, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

func TestMembersDocument(t *testing.T) {
	const want = `{
  "selfNode": "troupe://Sys@10.0.0.1:25520",
  "members": [
    {"node":"troupe://Sys@10.0.0.1:25520","nodeUid":"-1234567890123","status":"Up","roles":["dad","dc-default","web"]},
    {"node":"troupe://Sys@10.0.0.2:25520","nodeUid":"42","status":"Up","roles":["dad","dc-default"]},
    {"node":"troupe://Sys@[::1]:25520","nodeUid":"7","status":"Up","roles":["dc-west","zoo"]}
  ],
  "unreachable": [{"node":"troupe://Sys@[::1]:25520","observedBy":["troupe://Sys@10.0.0.1:25520","troupe://Sys@10.0.0.2:25520"]}],
  "leader": "troupe://Sys@10.0.0.1:25520",
  "oldest": "troupe://Sys@10.0.0.2:25520",
  "oldestPerRole": {"dad":"troupe://Sys@10.0.0.2:25520","dc-default":"troupe://Sys@10.0.0.2:25520","web":"troupe://Sys@10.0.0.1:25520"}
}`
	for _, path := range []string{"/cluster/members", "/cluster/members/"} {
		w := do(served(threeNodes(), nil, Options{}), http.MethodGet, path)
		if got := w.Body.String(); w.Code != http.StatusOK || got != compact(t, want) {
			t.Errorf("GET %s = %d\n got %s\nwant %s", path, w.Code, got, compact(t, want))
		}
		if got := w.Header().Get("Content-Type"); got != "application/json" {
			t.Errorf("GET %s Content-Type = %q, want application/json", path, got)
		}
	}
}

func TestMembersBeforeJoiningHasNoNulls(t *testing.T) {
	w := do(served(&member.View{Self: idA, DataCenter: "default"}, nil, Options{}), http.MethodGet, "/cluster/members")
	want := compact(t, `{"selfNode":"troupe://Sys@10.0.0.1:25520","members":[],"unreachable":[],"oldestPerRole":{}}`)
	if got := w.Body.String(); got != want {
		t.Errorf("GET /cluster/members before joining\n got %s\nwant %s", got, want)
	}
}

func compact(t *testing.T, doc string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(doc) {
		b.WriteString(strings.ReplaceAll(strings.TrimSpace(line), `": `, `":`))
	}
	if !json.Valid([]byte(b.String())) {
		t.Fatalf("the wanted document is no JSON: %s", b.String())
	}
	return b.String() + "\n"
}

func TestMemberIsFoundByEveryFormOfItsAddress(t *testing.T) {
	const (
		b = `{"node":"troupe://Sys@10.0.0.2:25520","nodeUid":"42","status":"Up","roles":["dad","dc-default"]}`
		c = `{"node":"troupe://Sys@[::1]:25520","nodeUid":"7","status":"Up","roles":["dc-west","zoo"]}`
	)
	notFound := func(sent string) string { return `{"message":"Member [` + sent + `] not found"}` }
	for _, tt := range []struct {
		sent, want string
		status     int
	}{
		{"troupe://Sys@10.0.0.2:25520", b, 200},
		{"Sys@10.0.0.2:25520", b, 200},
		{"Sys%4010.0.0.2%3A25520", b, 200},
		{"troupe%3A%2F%2FSys%4010.0.0.2%3A25520", b, 200},
		{"Sys@[::1]:25520", c, 200},
		{"Sys@%5B::1%5D:25520", c, 200},
		{"Sys@[0:0:0:0:0:0:0:1]:25520", c, 200},
		{"troupe://Sys@[::1]:25520", c, 200},
		{"10.0.0.2:25520", notFound("10.0.0.2:25520"), 404},
		{"Sys@10.0.0.2", notFound("Sys@10.0.0.2"), 404},
		{"Sys@10.0.0.9:25520", notFound("Sys@10.0.0.9:25520"), 404},
		{"Other@10.0.0.2:25520", notFound("Other@10.0.0.2:25520"), 404},
		{"pekko://Sys@10.0.0.2:25520", notFound("pekko://Sys@10.0.0.2:25520"), 404},
		{"pekko%3A%2F%2FSys@10.0.0.2:25520", notFound("pekko%3A%2F%2FSys@10.0.0.2:25520"), 404},
		{"Sys@10.0.0.2:25520/", notFound("Sys@10.0.0.2:25520/"), 404},
		{"a<b>&%22c", notFound("a%3Cb%3E&%22c"), 404},
	} {
		w := do(served(threeNodes(), nil, Options{}), http.MethodGet, "/cluster/members/"+tt.sent)
		if got := strings.TrimSpace(w.Body.String()); w.Code != tt.status || got != tt.want {
			t.Errorf("GET /cluster/members/%s = %d %s, want %d %s", tt.sent, w.Code, got, tt.status, tt.want)
		}
	}
}

func TestShards(t *testing.T) {
	regions := []shard.Region{
		&fakeRegion{name: "Dad", hosted: []shard.ShardStat{{Shard: "320", Entities: 2}, {Shard: "878", Entities: 0}}},
		&fakeRegion{name: "A room"},
	}
	for _, tt := range []struct {
		path, want string
		status     int
	}{
		{"/cluster/shards", `{"entityTypeKeys":["A room","Dad"]}`, 200},
		{"/cluster/shards/Dad", `{"regions":[{"shardId":"320","numEntities":2},{"shardId":"878","numEntities":0}]}`, 200},
		{"/cluster/shards/A%20room", `{"regions":[]}`, 200},
		{"/cluster/shards/Mum", `{"message":"Shard Region Mum is not started"}`, 404},
	} {
		w := do(served(threeNodes(), regions, Options{}), http.MethodGet, tt.path)
		if got := strings.TrimSpace(w.Body.String()); w.Code != tt.status || got != tt.want {
			t.Errorf("GET %s = %d %s, want %d %s", tt.path, w.Code, got, tt.status, tt.want)
		}
	}
	if got := do(served(threeNodes(), nil, Options{}), http.MethodGet, "/cluster/shards").Body.String(); got != "{\"entityTypeKeys\":[]}\n" {
		t.Errorf("GET /cluster/shards without types = %s", got)
	}
}

func TestOnlyReadingIsAllowed(t *testing.T) {
	h := served(threeNodes(), nil, Options{})
	for _, path := range []string{
		"/cluster/members", "/cluster/members/", "/cluster/members/Sys@10.0.0.2:25520",
		"/cluster/shards", "/cluster/shards/Dad", "/cluster/domain-events", "/bootstrap/seed-nodes",
		"/ready", "/alive", "/startup", "/why",
	} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
			w := do(h, method, path)
			if w.Code != http.StatusMethodNotAllowed || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
				t.Errorf("%s %s = %d %s, want 405 text/plain", method, path, w.Code, w.Header().Get("Content-Type"))
			}
		}
	}
	for _, path := range []string{"/", "/cluster", "/cluster/shards/Dad/stats", "/readyness", "/loglevel/slog", "/loglevel/logback"} {
		if w := do(h, http.MethodGet, path); w.Code != http.StatusNotFound {
			t.Errorf("GET %s = %d, want 404", path, w.Code)
		}
	}
}

func TestBasePath(t *testing.T) {
	for _, base := range []string{"ops", "/ops", "/ops/"} {
		h := served(threeNodes(), nil, Options{BasePath: base})
		if w := do(h, http.MethodGet, "/ops/alive"); w.Code != http.StatusOK {
			t.Errorf("base %q: GET /ops/alive = %d, want 200", base, w.Code)
		}
		if w := do(h, http.MethodGet, "/alive"); w.Code != http.StatusNotFound {
			t.Errorf("base %q: GET /alive = %d, want 404", base, w.Code)
		}
	}
}
