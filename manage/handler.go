package manage

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/troupe-go/troupe"
)

// Handler serves n. It keeps no goroutine beyond its requests, and may outlive
// n: then /alive, /ready and /startup answer 500. It is an error when the
// options cannot work.
func Handler(n *troupe.Node, o Options) (http.Handler, error) {
	return newHandler(n, typesOf(n), time.Now, o)
}

// node is what the handler reads of a [*troupe.Node], and does with it.
type node interface {
	Namer
	View() *troupe.View
	Done() <-chan struct{}
	Paused() bool
	Why() troupe.Why
	Follow(f func(troupe.Event)) (past []troupe.Event, unsubscribe func())
	Log() *slog.Logger

	JoinThrough(ctx context.Context, a troupe.Address) error
	LeaveMember(ctx context.Context, a troupe.Address) error
	Down(ctx context.Context, a troupe.Address) error
	PrepareClusterShutdown(ctx context.Context) error
}

type handler struct {
	base    string
	node    node
	types   types
	guard   guard
	health  *healthChecks
	level   *slog.LevelVar
	streams chan struct{} // one place for each stream of events that may be open
}

func newHandler(n node, ts types, now func() time.Time, o Options) (*handler, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("serve management: %w", err)
	}
	o = o.withDefaults()
	return &handler{
		base: o.BasePath, node: n, types: ts, level: o.Level,
		guard:   newGuard(o.Token, n.Log(), now),
		health:  newHealthChecks(n, ts, now, o),
		streams: make(chan struct{}, o.Streams),
	}, nil
}

// ServeHTTP routes by hand, because [http.ServeMux] would clean the path: a
// member's address may contain "//", escaped or not.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), h.base)
	if !ok {
		http.NotFound(w, r)
		return
	}
	t := h.route(path)
	write := t.writes[r.Method]
	switch {
	case t.read == nil && t.writes == nil, t.read == nil && !h.guard.open():
		http.NotFound(w, r)
	case t.read != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		t.read(w, r)
	case write == nil || !h.guard.open():
		h.refuse(w, t, write != nil)
	case h.guard.admits(w, r):
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		write(w, r)
	}
}

// A target is what a path stands for: how it is read, and how it is changed, by
// method.
type target struct {
	read   func(http.ResponseWriter, *http.Request)
	writes map[string]func(http.ResponseWriter, *http.Request)
	// forbidden says that a change is answered with 403 in read-only mode, not
	// with 405.
	forbidden bool
}

// route finds the target of a path; the zero one for nothing. The path is still
// escaped.
func (h *handler) route(path string) target {
	type writes = map[string]func(http.ResponseWriter, *http.Request)
	switch path {
	case "/cluster", "/cluster/":
		return target{writes: writes{http.MethodPut: h.prepareShutdown}}
	case "/cluster/members", "/cluster/members/":
		return target{read: h.members, writes: writes{http.MethodPost: h.joinMember}}
	case "/cluster/shards", "/cluster/shards/":
		return target{read: h.shardTypes}
	case "/cluster/domain-events":
		return target{read: h.domainEvents}
	case "/bootstrap/seed-nodes":
		return target{read: h.seedNodes}
	case "/why":
		return target{read: h.why}
	case "/ready", "/alive", "/startup":
		return target{read: func(w http.ResponseWriter, r *http.Request) { writeHealth(w, h.health.ask(r.Context(), path)) }}
	case "/loglevel/slog":
		if h.level != nil {
			return target{read: h.logLevel, writes: writes{http.MethodPut: h.setLogLevel}, forbidden: true}
		}
		return target{}
	}
	if sent, ok := strings.CutPrefix(path, "/cluster/members/"); ok {
		on := func(serve func(http.ResponseWriter, *http.Request, string)) func(http.ResponseWriter, *http.Request) {
			return func(w http.ResponseWriter, r *http.Request) { serve(w, r, sent) }
		}
		return target{read: on(h.member), writes: writes{http.MethodPut: on(h.changeMember), http.MethodDelete: on(h.deleteMember)}}
	}
	if sent, ok := strings.CutPrefix(path, "/cluster/shards/"); ok {
		return h.routeShards(sent)
	}
	return target{}
}

// routeShards finds the target of a type, or of one of its shards.
func (h *handler) routeShards(sent string) target {
	typeName, rest, inside := strings.Cut(sent, "/")
	switch {
	case !inside:
		return target{read: func(w http.ResponseWriter, _ *http.Request) { h.shards(w, sent) }}
	case rest == "stats":
		return target{read: func(w http.ResponseWriter, r *http.Request) { h.shardStats(w, r, unescape(typeName)) }}
	case rest == "" || strings.Contains(rest, "/"):
		return target{}
	}
	return target{writes: map[string]func(http.ResponseWriter, *http.Request){
		http.MethodPut: func(w http.ResponseWriter, r *http.Request) { h.changeShard(w, r, unescape(typeName), unescape(rest)) },
	}}
}

// refuse answers a method that the target does not have, or not in read-only
// mode.
func (h *handler) refuse(w http.ResponseWriter, t target, readOnly bool) {
	if readOnly && t.forbidden {
		http.Error(w, "changes are not allowed: this node is managed read-only", http.StatusForbidden)
		return
	}
	methods := []string{}
	if t.read != nil {
		methods = append(methods, http.MethodGet, http.MethodHead)
	}
	if h.guard.open() {
		for _, m := range []string{http.MethodPut, http.MethodPost, http.MethodDelete} {
			if t.writes[m] != nil {
				methods = append(methods, m)
			}
		}
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	http.Error(w, "HTTP method not allowed, supported methods: "+strings.Join(methods, ", "), http.StatusMethodNotAllowed)
}

func (h *handler) members(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, MembersOf(h.node, h.node.View()))
}

func (h *handler) member(w http.ResponseWriter, _ *http.Request, sent string) {
	if m, ok := h.find(w, sent); ok {
		writeJSON(w, http.StatusOK, memberOf(m, uriOf(h.node)))
	}
}

// find looks up the member that a caller wrote, or answers that there is none.
func (h *handler) find(w http.ResponseWriter, sent string) (troupe.Member, bool) {
	m, ok := find(h.node, h.node.View(), unescape(sent))
	if !ok {
		writeMessage(w, http.StatusNotFound, "Member ["+sent+"] not found")
	}
	return m, ok
}

func (h *handler) seedNodes(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, SeedNodesOf(h.node, h.node.View()))
}

func (h *handler) shardTypes(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, ShardTypesOf(h.types.regions()))
}

func (h *handler) shards(w http.ResponseWriter, sent string) {
	name := unescape(sent)
	doc, ok := ShardsOf(h.types.regions(), name)
	if !ok {
		writeMessage(w, http.StatusNotFound, "Shard Region "+name+" is not started")
		return
	}
	writeJSON(w, http.StatusOK, doc)
}

// unescape undoes percent-encoding. [url.URL.EscapedPath] never gives an
// invalid one, so what cannot be decoded was meant as it stands.
func unescape(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}
