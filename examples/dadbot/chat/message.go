package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/troupe-go/troupe/examples/dadbot/dad"
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
	if err := checkMedia(r.Header.Get("Content-Type")); err != nil {
		return message{}, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return message{}, tooLarge{fmt.Errorf("the body has more than %d bytes: send a shorter text", MaxBody)}
		}
		return message{}, fmt.Errorf("read the body: %w", err)
	}
	if !utf8.Valid(body) { // package json would put U+FFFD in its place
		return message{}, errors.New("the body is no UTF-8: send application/json in UTF-8")
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return message{}, fmt.Errorf(`the body is no message: %w; send {"from":"...","text":"..."}`, err)
	}
	if half := loneSurrogate(body); half != "" {
		return message{}, fmt.Errorf(`the body has %s, which is half a character: send both halves, such as \ud83d\ude00, or the character itself`, half)
	}
	return m, m.check()
}

func checkMedia(contentType string) error {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "application/json" {
		return fmt.Errorf("the Content-Type is %q: send application/json", contentType)
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return fmt.Errorf("the charset is %q: send application/json in UTF-8", charset)
	}
	return nil
}

// loneSurrogate finds an escape in valid JSON that is one half of a UTF-16 pair
// without the other (RFC 8259, section 8.2); empty for none. Package json would
// put U+FFFD in its place.
func loneSurrogate(doc []byte) string {
	const long = len(`\u0000`)
	escaped := func(at int) rune { // 0 for no \u escape
		if len(doc) < at+long || doc[at] != '\\' || doc[at+1] != 'u' {
			return 0
		}
		n, _ := strconv.ParseUint(string(doc[at+2:at+long]), 16, 16) // four digits, as the document is valid
		return rune(n)
	}
	for i := 0; i < len(doc); i++ {
		if doc[i] != '\\' { // in valid JSON only strings have it
			continue
		}
		r := escaped(i)
		switch {
		case !utf16.IsSurrogate(r):
			i++ // what is escaped; the digits are harmless
		case utf16.DecodeRune(r, escaped(i+long)) == utf8.RuneError:
			return string(doc[i : i+long])
		default:
			i += 2*long - 1
		}
	}
	return ""
}

func (m message) check() error {
	for _, f := range []struct{ name, text string }{{"from", m.From}, {"id", m.ID}} {
		switch {
		case len(f.text) > MaxName:
			return fmt.Errorf("%q has %d bytes: use at most %d", f.name, len(f.text), MaxName)
		case strings.ContainsFunc(f.text, unicode.IsControl):
			return fmt.Errorf("%q has control characters: leave them out", f.name)
		}
	}
	switch {
	case strings.TrimSpace(m.From) == "":
		return errors.New(`"from" is empty: say who is speaking`)
	case strings.TrimSpace(m.Text) == "":
		return errors.New(`"text" is empty: say something`)
	case strings.EqualFold(strings.TrimSpace(m.From), dad.Bot):
		return fmt.Errorf(`"from" is %q, which only Dad is: use another name`, m.From)
	case strings.HasPrefix(m.ID, dad.JokeID):
		return fmt.Errorf(`"id" begins with %q, as only those of jokes do: use another, or none`, dad.JokeID)
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

// chatName makes the id of a chat from its name as it was sent in a path: with
// one "#".
func chatName(sent string) (string, error) {
	name, err := url.PathUnescape(sent)
	if err != nil {
		return "", fmt.Errorf("the chat's name %q: %w", sent, err)
	}
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
