package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// message is the body of a POST. Fields that a newer client may send are ignored.
type message struct {
	ID   string `json:"id"`
	From string `json:"from"`
	Text string `json:"text"`
}

// accepted is the answer to it.
type accepted struct {
	ID string `json:"id"`
}

// readMessage reads and checks a message; its errors tell the sender what to change.
func readMessage(w http.ResponseWriter, r *http.Request) (message, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return message{}, fmt.Errorf("the Content-Type is %q: send application/json", r.Header.Get("Content-Type"))
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return message{}, tooLarge{fmt.Errorf("the body has more than %d bytes: send a shorter text", MaxBody)}
		}
		return message{}, fmt.Errorf("read the body: %w", err)
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return message{}, fmt.Errorf(`the body is no message: %w; send {"from":"...","text":"..."}`, err)
	}
	return m, m.check()
}

func (m message) check() error {
	switch {
	case strings.TrimSpace(m.From) == "":
		return errors.New(`"from" is empty: say who is speaking`)
	case strings.TrimSpace(m.Text) == "":
		return errors.New(`"text" is empty: say something`)
	case len(m.From) > MaxName:
		return fmt.Errorf(`"from" has %d bytes: use at most %d`, len(m.From), MaxName)
	case len(m.ID) > MaxName:
		return fmt.Errorf(`"id" has %d bytes: use at most %d`, len(m.ID), MaxName)
	}
	return nil
}

// tooLarge is an error that is a 413 rather than a 400.
type tooLarge struct{ error }

func statusOf(err error) int {
	if _, ok := errors.AsType[tooLarge](err); ok {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}

// chatName makes the id of a chat from its name in a path: with one "#".
func chatName(name string) (string, error) {
	name = strings.TrimPrefix(name, "#")
	switch {
	case name == "":
		return "", errors.New("the chat has no name: use /chats/{chat}")
	case len(name) > MaxName:
		return "", fmt.Errorf("the chat's name has %d bytes: use at most %d", len(name), MaxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "", fmt.Errorf("the chat's name %q has control characters or is no UTF-8", name)
	}
	return "#" + name, nil
}

func refuse(w http.ResponseWriter, status int, reason string) {
	writeJSON(w, status, struct {
		Error string `json:"error"`
	}{reason})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // only a caller who has gone away makes it fail
}
