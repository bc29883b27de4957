// Package chat is the HTTP edge of the Dads: it takes messages for any chat on
// any node, and tells what the Dad of a chat remembers.
//
//	POST /chats/{chat}/messages   {"id":"optional","from":"Ann","text":"Hello"}
//	GET  /chats/{chat}
//
// The path names a chat with or without its "#": /chats/engineering and
// /chats/%23engineering are the chat #engineering, which is the entity's id.
//
// A message is answered 202 as soon as it was handed over for delivery, without
// waiting for its Dad; any other status means that it certainly was not
// accepted, and may be sent again. Every error is {"error":"reason"}; one that
// passes by itself is a 503 with Retry-After.
package chat

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/examples/dadbot/audit"
	"github.com/troupe-go/troupe/examples/dadbot/dad"
)

const (
	// MaxBody is how many bytes the body of a message may have.
	MaxBody = 16 << 10
	// MaxName is how many bytes a chat's name, an id and a sender may have.
	MaxName = 128
	// AskWithin is how long GET waits for a Dad.
	AskWithin = 5 * time.Second
	// retryAfter is what a sender is asked to wait: about as long as a node
	// takes to join, or a shard to move.
	retryAfter = time.Second
)

// Dads is where the Dads are: an entity type, as seen from one node.
type Dads interface {
	Ref(chat string) actor.Ref[dad.Msg]
	ShardOf(chat string) string
}

// Edge is the edge of one node. Its fields are set before it serves.
type Edge struct {
	Node   string         // its name, which messages bear as "via"
	Dads   Dads           //
	Up     func() bool    // whether the node is a full member of the cluster
	Record audit.Recorder // told of each accepted message

	gate  gate
	clock clock
}

// Routes adds the edge's routes to mux.
func (e *Edge) Routes(mux *http.ServeMux) {
	mux.HandleFunc("/chats/{chat}/messages", only(http.MethodPost, e.post))
	mux.HandleFunc("/chats/{chat}", only(http.MethodGet, e.history))
	mux.HandleFunc("/chats/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "there is nothing here: use /chats/{chat} or /chats/{chat}/messages")
	})
}

// Close refuses messages from now on, and returns when those in hand have been
// handed over: then the node may leave without losing one.
func (e *Edge) Close() { e.gate.close() }

func only(method string, serve http.HandlerFunc) http.HandlerFunc {
	allowed := method
	if method == http.MethodGet {
		allowed = "GET, HEAD"
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method && (r.Method != http.MethodHead || method != http.MethodGet) {
			w.Header().Set("Allow", allowed)
			refuse(w, http.StatusMethodNotAllowed, r.Method+" is not allowed here: use "+method)
			return
		}
		serve(w, r)
	}
}

func (e *Edge) post(w http.ResponseWriter, r *http.Request) {
	chat, err := chatName(r.PathValue("chat"))
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	m, err := readMessage(w, r)
	if err != nil {
		refuse(w, statusOf(err), err.Error())
		return
	}
	if m.ID == "" {
		m.ID = uuid.Must(uuid.NewV7()).String() // fails only without a source of randomness
	}
	if err := e.tell(r.Context(), chat, m); err != nil {
		unavailable(w, err)
		return
	}
	e.Record(audit.Event{Event: audit.Accepted, Chat: chat, ID: m.ID})
	writeJSON(w, http.StatusAccepted, accepted{m.ID})
}

// The reasons why an edge takes nothing for a while.
const (
	errNotUp   = actor.Error("this node is not up yet")
	errLeaving = actor.Error("this node is leaving")
)

func (e *Edge) tell(ctx context.Context, chat string, m message) error {
	if !e.gate.enter() {
		return errLeaving
	}
	defer e.gate.exit()
	if !e.Up() {
		return errNotUp
	}
	return e.Dads.Ref(chat).Tell(ctx, dad.Said{ID: m.ID, From: m.From, Text: m.Text, Via: e.Node, At: e.clock.tick()})
}

// history is what GET answers.
type history struct {
	Chat     string     `json:"chat"`
	Shard    string     `json:"shard"`
	Node     string     `json:"node"` // where its Dad lives
	Messages []dad.Line `json:"messages"`
}

func (e *Edge) history(w http.ResponseWriter, r *http.Request) {
	chat, err := chatName(r.PathValue("chat"))
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if !e.Up() {
		unavailable(w, errNotUp)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), AskWithin)
	defer cancel()
	m, err := actor.Ask(ctx, e.Dads.Ref(chat), dad.Recall{})
	if err != nil {
		unavailable(w, err)
		return
	}
	lines := m.Lines
	if lines == nil {
		lines = []dad.Line{}
	}
	writeJSON(w, http.StatusOK, history{Chat: chat, Shard: e.Dads.ShardOf(chat), Node: m.Node, Messages: lines})
}

// unavailable answers what may be tried again.
func unavailable(w http.ResponseWriter, err error) {
	status := http.StatusServiceUnavailable
	if errors.Is(err, context.DeadlineExceeded) {
		status = http.StatusGatewayTimeout
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter/time.Second)))
	refuse(w, status, err.Error())
}

// gate counts who is inside. Once closed it lets nobody in.
type gate struct {
	mu     sync.Mutex
	inside int
	empty  chan struct{} // made by close; closed when the last one is out
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.empty != nil {
		return false
	}
	g.inside++
	return true
}

func (g *gate) exit() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.inside == 0 && g.empty != nil {
		close(g.empty)
	}
}

// close returns when nobody is inside.
func (g *gate) close() {
	g.mu.Lock()
	if g.empty == nil {
		g.empty = make(chan struct{})
		if g.inside == 0 {
			close(g.empty)
		}
	}
	g.mu.Unlock()
	<-g.empty
}

// clock tells times that strictly increase, so that the messages of one edge
// have an order even when the wall clock steps back or stands still.
type clock struct {
	mu   sync.Mutex
	last time.Time
}

func (c *clock) tick() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now().UTC()
	if !now.After(c.last) {
		now = c.last.Add(1)
	}
	c.last = now
	return now
}
