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
// waiting for its Dad. After any other status it may be sent again, best with
// the same id: it was not accepted, or, when the node was paused just then,
// perhaps. Every error is {"error":"reason"}; one that passes by itself is a 503
// with Retry-After.
//
// GET asks the Dad of the chat, and so calls one to life for a chat that nobody
// has used yet; he goes to rest like any other.
package chat

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
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
	Paused func() bool    // whether it does not know at present if it still is one
	Record audit.Recorder // told of each accepted message

	gate  gate
	clock clock
}

// Handler serves the chats, and leaves every other path to others. It routes by
// hand: [http.ServeMux] would clean the path of a chat that has no name, or is
// named "..", and send the caller to another chat.
func (e *Edge) Handler(others http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch parts := strings.Split(r.URL.EscapedPath(), "/"); {
		case len(parts) < 2 || parts[1] != "chats":
			others.ServeHTTP(w, r)
		case len(parts) == 3:
			serve(w, r, parts[2], http.MethodGet, e.history)
		case len(parts) == 4 && parts[3] == "messages":
			serve(w, r, parts[2], http.MethodPost, e.post)
		default:
			refuse(w, http.StatusNotFound, "there is nothing here: use /chats/{chat} or /chats/{chat}/messages")
		}
	})
}

// Close refuses messages from now on, and returns when those in hand have been
// handed over: then the node may leave without losing one.
func (e *Edge) Close() { e.gate.close() }

// serve checks the chat's name, as it was sent, and the method.
func serve(w http.ResponseWriter, r *http.Request, sent, method string, do func(w http.ResponseWriter, r *http.Request, chat string)) {
	chat, err := chatName(sent)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	allowed := []string{method}
	if method == http.MethodGet {
		allowed = append(allowed, http.MethodHead)
	}
	if !slices.Contains(allowed, r.Method) {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		refuse(w, http.StatusMethodNotAllowed, r.Method+" is not allowed here: use "+method)
		return
	}
	do(w, r, chat)
}

func (e *Edge) post(w http.ResponseWriter, r *http.Request, chat string) {
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
	errNotUp   = actor.Error("this node is not up: it is joining, or the whole cluster shuts down")
	errLeaving = actor.Error("this node is leaving")
	errPaused  = actor.Error("this node was not running for a while, or has lost its links to most others, and does not know yet whether it is still a member")
)

// mayServe is an error while the node must not act for the cluster.
func (e *Edge) mayServe() error {
	switch {
	case e.Paused():
		return errPaused
	case !e.Up():
		return errNotUp
	}
	return nil
}

// stillMay is asked before a success is announced: a process that was stopped
// meanwhile may speak for a node that the others have removed. Leaving, on the
// other hand, takes nothing back.
func (e *Edge) stillMay() error {
	if e.Paused() {
		return errPaused
	}
	return nil
}

func (e *Edge) tell(ctx context.Context, chat string, m message) error {
	if !e.gate.enter() {
		return errLeaving
	}
	defer e.gate.exit()
	if err := e.mayServe(); err != nil {
		return err
	}
	err := e.Dads.Ref(chat).Tell(ctx, dad.Said{ID: m.ID, From: m.From, Text: m.Text, Via: e.Node, At: e.clock.tick()})
	return cmp.Or(err, e.stillMay())
}

// history is what GET answers.
type history struct {
	Chat     string     `json:"chat"`
	Shard    string     `json:"shard"`
	Node     string     `json:"node"` // where its Dad lives
	Messages []dad.Line `json:"messages"`
}

func (e *Edge) history(w http.ResponseWriter, r *http.Request, chat string) {
	m, err := e.recall(r.Context(), chat)
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

func (e *Edge) recall(ctx context.Context, chat string) (dad.Memory, error) {
	if err := e.mayServe(); err != nil {
		return dad.Memory{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, AskWithin)
	defer cancel()
	m, err := actor.Ask(ctx, e.Dads.Ref(chat), dad.Recall{})
	return m, cmp.Or(err, e.stillMay())
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
