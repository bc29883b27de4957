package manage

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/troupe-go/troupe"
)

const (
	// maxBody bounds the body of a request, in bytes: forms of one short field.
	maxBody = 16 << 10
	// changeWithin bounds how long a change waits for the node to take note of it.
	changeWithin = 5 * time.Second
)

const notSupported = "Operation not supported"

func (h *handler) joinMember(w http.ResponseWriter, r *http.Request) {
	form, ok := readForm(w, r)
	if !ok {
		return
	}
	a, ok := parseNode(h.node, form("address"))
	if !ok {
		writeMessage(w, http.StatusBadRequest, "address must be that of a node, such as "+
			troupe.Address{Host: "10.0.0.1", Port: 25520}.URI(h.node.Scheme(), h.node.Name()))
		return
	}
	h.change(w, r, "Joining "+a.URI(h.node.Scheme(), h.node.Name()), a, h.node.JoinThrough)
}

func (h *handler) changeMember(w http.ResponseWriter, r *http.Request, sent string) {
	form, ok := readForm(w, r)
	if !ok {
		return
	}
	m, ok := h.find(w, sent)
	if !ok {
		return
	}
	uri := uriOf(h.node)(m.Address)
	switch strings.ToLower(form("operation")) {
	case "down":
		h.change(w, r, "Downing "+uri, m.Address, h.node.Down)
	case "leave":
		h.change(w, r, "Leaving "+uri, m.Address, h.node.LeaveMember)
	case "drain":
		h.drainMember(w, r, m, true)
	case "resume":
		h.drainMember(w, r, m, false)
	default:
		writeMessage(w, http.StatusBadRequest, notSupported)
	}
}

func (h *handler) deleteMember(w http.ResponseWriter, r *http.Request, sent string) {
	if m, ok := h.find(w, sent); ok {
		h.change(w, r, "Leaving "+uriOf(h.node)(m.Address), m.Address, h.node.LeaveMember)
	}
}

func (h *handler) prepareShutdown(w http.ResponseWriter, r *http.Request) {
	form, ok := readForm(w, r)
	if !ok {
		return
	}
	if !strings.EqualFold(form("operation"), "prepare-for-full-shutdown") {
		writeMessage(w, http.StatusBadRequest, notSupported)
		return
	}
	h.change(w, r, "Preparing for full cluster shutdown", troupe.Address{}, func(ctx context.Context, _ troupe.Address) error {
		return h.node.PrepareClusterShutdown(ctx)
	})
}

// change makes a change and tells what was begun. A node that does not take
// note in time, or has ended, is answered with 503: nothing was begun.
func (h *handler) change(w http.ResponseWriter, r *http.Request, began string, a troupe.Address, do func(context.Context, troupe.Address) error) {
	ctx, cancel := context.WithTimeout(r.Context(), changeWithin)
	defer cancel()
	err := do(ctx, a)
	if err == nil && isDone(h.node.Done()) {
		err = troupe.ErrEnding
	}
	if err != nil {
		writeMessage(w, http.StatusServiceUnavailable, "The node took no note of it: "+err.Error())
		return
	}
	writeMessage(w, http.StatusOK, began)
}

// readForm reads the fields of a body, URL-encoded or multipart, or answers why
// it cannot. A body without a type has no fields.
func readForm(w http.ResponseWriter, r *http.Request) (field func(name string) string, ok bool) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var err error
	switch kind {
	case "application/x-www-form-urlencoded":
		err = r.ParseForm()
	case "multipart/form-data":
		err = r.ParseMultipartForm(maxBody)
	case "":
	default:
		writeMessage(w, http.StatusUnsupportedMediaType, "Send the form as application/x-www-form-urlencoded or multipart/form-data")
		return nil, false
	}
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		writeMessage(w, http.StatusRequestEntityTooLarge, "The form is larger than 16 KiB")
		return nil, false
	}
	if err != nil {
		writeMessage(w, http.StatusBadRequest, "The form cannot be read: "+err.Error())
		return nil, false
	}
	return func(name string) string {
		if values := r.PostForm[name]; len(values) > 0 {
			return values[0]
		}
		return ""
	}, true
}
