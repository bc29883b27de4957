package manage

import (
	"log/slog"
	"net/http"
)

// rootLogger is the only logger that there is: a slog.Logger has no name.
const rootLogger = "ROOT"

func (h *handler) logLevel(w http.ResponseWriter, r *http.Request) {
	if knowsLogger(w, r) {
		writeText(w, http.StatusOK, h.level.Level().String())
	}
}

func (h *handler) setLogLevel(w http.ResponseWriter, r *http.Request) {
	if !knowsLogger(w, r) {
		return
	}
	sent := r.URL.Query().Get("level")
	var level slog.Level
	if err := level.UnmarshalText([]byte(sent)); err != nil {
		writeText(w, http.StatusBadRequest, "level must be DEBUG, INFO, WARN or ERROR, or one with a number added such as DEBUG-4\n")
		return
	}
	h.level.Set(level)
	h.node.Log().Log(r.Context(), level, "log level changed", slog.String("to", level.String()))
	writeText(w, http.StatusOK, "OK")
}

// knowsLogger answers 404 to who asks for another logger; none means the root.
func knowsLogger(w http.ResponseWriter, r *http.Request) bool {
	q := r.URL.Query()
	if name := q.Get("logger"); q.Has("logger") && name != rootLogger {
		writeText(w, http.StatusNotFound, "there is no such logger: the only one is "+rootLogger+"\n")
		return false
	}
	return true
}
