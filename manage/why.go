package manage

import (
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/troupe-go/troupe"
)

// Why tells what one node waits for.
type Why struct {
	SelfNode string `json:"selfNode"`
	Status   string `json:"status,omitempty"` // of this node; absent while it is no member
	At       string `json:"at"`               // when that was so, RFC 3339, on this node's clock
	Waits    []Wait `json:"waits"`            // empty: all is well
}

// Wait is one thing; what is not known is absent.
type Wait struct {
	What  string   `json:"what"` // such as "convergence"
	Why   string   `json:"why"`
	Since string   `json:"since,omitempty"` // RFC 3339
	Until string   `json:"until,omitempty"` // when it ends by itself at the latest
	On    []Holdup `json:"on"`
	Act   string   `json:"act,omitempty"` // who must do what; absent: nobody
}

// Holdup is a node that something waits for.
type Holdup struct {
	Node string `json:"node"`
	Why  string `json:"why"`
}

// WhyOf makes the document.
func WhyOf(n Namer, w troupe.Why) Why {
	uri := uriOf(n)
	doc := Why{SelfNode: uri(w.Self.Address), At: stamp(w.At)}
	if w.Status != 0 {
		doc.Status = w.Status.String()
	}
	doc.Waits = waitsOf(n, w.Waits)
	return doc
}

func waitsOf(n Namer, waits []troupe.Wait) []Wait {
	uri := uriOf(n)
	docs := make([]Wait, 0, len(waits))
	for _, x := range waits {
		wait := Wait{What: string(x.What), Why: x.Why, Since: stamp(x.Since), Until: stamp(x.Until), On: make([]Holdup, 0, len(x.On)), Act: x.Act}
		for _, on := range x.On {
			wait.On = append(wait.On, Holdup{Node: uri(on.Node.Address), Why: on.Why})
		}
		docs = append(docs, wait)
	}
	return docs
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func (h *handler) why(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	if query := r.URL.Query(); query.Has("type") || query.Has("id") {
		h.entityWhy(w, r, query.Get("type"), query.Get("id"))
		return
	}
	why := h.node.Why()
	why.Waits = append(why.Waits, troubles(h.types.regions())...)
	if prefersText(r.Header.Get("Accept")) {
		writeText(w, http.StatusOK, why.String())
		return
	}
	writeJSON(w, http.StatusOK, WhyOf(h.node, why))
}

// prefersText tells whether a caller names plain text before JSON; weights do
// not matter to people with curl.
func prefersText(accept string) bool {
	for kind := range strings.SplitSeq(accept, ",") {
		switch kind, _, _ = mime.ParseMediaType(kind); kind {
		case "text/plain":
			return true
		case "application/json":
			return false
		}
	}
	return false
}
