package manage

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/troupe-go/troupe"
	"github.com/troupe-go/troupe/shard"
)

// DefaultRegistrationLimit is how long an entity type without a coordinator
// keeps a node from being ready.
const DefaultRegistrationLimit = 20 * time.Second

// Options vary what [Handler] serves; the zero value is usual.
type Options struct {
	// BasePath precedes every route, such as "/ops"; empty for none. Slashes at
	// its ends do not matter.
	BasePath string
	// RegistrationLimit is how long /ready waits for each entity type's region
	// to register with a coordinator, counted from the first question after the
	// node was Up; then the node is ready and the answer names the type as
	// degraded. Zero means [DefaultRegistrationLimit], negative not to wait.
	RegistrationLimit time.Duration
}

// Handler serves n read-only. It keeps no goroutine, and may outlive n: then
// /alive and /ready answer 500.
func Handler(n *troupe.Node, o Options) http.Handler {
	return newHandler(n, func() []shard.Region { return shard.Regions(n) }, time.Now, o)
}

// node is what the handler reads of a [*troupe.Node].
type node interface {
	Namer
	View() *troupe.View
	Done() <-chan struct{}
	Paused() bool
}

type handler struct {
	base    string
	node    node
	regions func() []shard.Region
	ready   *readiness
}

func newHandler(n node, regions func() []shard.Region, now func() time.Time, o Options) *handler {
	limit := o.RegistrationLimit
	if limit == 0 {
		limit = DefaultRegistrationLimit
	}
	base := strings.Trim(o.BasePath, "/")
	if base != "" {
		base = "/" + base
	}
	return &handler{
		base: base, node: n, regions: regions,
		ready: &readiness{limit: limit, now: now, types: make(map[string]*typeState)},
	}
}

// ServeHTTP routes by hand, because [http.ServeMux] would clean the path: a
// member's address may contain "//", escaped or not.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), h.base)
	if !ok {
		http.NotFound(w, r)
		return
	}
	serve := h.route(path)
	switch {
	case serve == nil:
		http.NotFound(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "HTTP method not allowed, supported methods: GET", http.StatusMethodNotAllowed)
	default:
		serve(w)
	}
}

// route finds what a path shows; nil for nothing. The path is still escaped.
func (h *handler) route(path string) func(http.ResponseWriter) {
	switch path {
	case "/cluster/members", "/cluster/members/":
		return h.members
	case "/cluster/shards", "/cluster/shards/":
		return h.shardTypes
	case "/ready":
		return h.readyCheck
	case "/alive":
		return func(w http.ResponseWriter) { writeHealth(w, alive(h.node.Done())) }
	}
	if rest, ok := strings.CutPrefix(path, "/cluster/members/"); ok {
		return func(w http.ResponseWriter) { h.member(w, rest) }
	}
	if rest, ok := strings.CutPrefix(path, "/cluster/shards/"); ok && !strings.Contains(rest, "/") {
		return func(w http.ResponseWriter) { h.shards(w, rest) }
	}
	return nil
}

func (h *handler) members(w http.ResponseWriter) {
	writeJSON(w, http.StatusOK, MembersOf(h.node, h.node.View()))
}

func (h *handler) member(w http.ResponseWriter, sent string) {
	m, ok := find(h.node, h.node.View(), unescape(sent))
	if !ok {
		writeMessage(w, http.StatusNotFound, "Member ["+sent+"] not found")
		return
	}
	writeJSON(w, http.StatusOK, m)
}

func (h *handler) shardTypes(w http.ResponseWriter) {
	writeJSON(w, http.StatusOK, ShardTypesOf(h.regions()))
}

func (h *handler) shards(w http.ResponseWriter, sent string) {
	name := unescape(sent)
	doc, ok := ShardsOf(h.regions(), name)
	if !ok {
		writeMessage(w, http.StatusNotFound, "Shard Region "+name+" is not started")
		return
	}
	writeJSON(w, http.StatusOK, doc)
}

func (h *handler) readyCheck(w http.ResponseWriter) {
	// A node that has ended keeps its last view, which may still say Up; so does
	// one that was not running, and was perhaps removed meanwhile.
	if dead := alive(h.node.Done()); dead.failed != "" {
		writeHealth(w, dead)
		return
	}
	if h.node.Paused() {
		writeHealth(w, health{failed: checkMembership})
		return
	}
	writeHealth(w, h.ready.check(h.node.View(), h.regions()))
}

// unescape undoes percent-encoding. [url.URL.EscapedPath] never gives an
// invalid one, so what cannot be decoded was meant as it stands.
func unescape(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

func writeMessage(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, struct {
		Message string `json:"message"`
	}{text})
}

// writeJSON leaves "<", ">" and "&" as they are: the answers are not HTML, and
// tools compare texts.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // only a caller who has gone away makes it fail
}

func writeHealth(w http.ResponseWriter, h health) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if h.failed != "" {
		w.WriteHeader(http.StatusInternalServerError)
	}
	_, _ = io.WriteString(w, h.String()) // as above
}
