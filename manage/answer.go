package manage

import (
	"encoding/json"
	"io"
	"net/http"
)

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

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // as above
}
