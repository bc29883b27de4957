// Package page is the small page on which a person chats and watches the jokes
// arrive. It is plain HTML, style and script, embedded, and loads nothing from
// elsewhere; it speaks to the chats' edge of the node that served it.
package page

import (
	"embed"
	"net/http"
)

//go:embed page.html page.css page.js
var files embed.FS

// Routes adds the page's routes to mux.
func Routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", file("page.html"))
	mux.HandleFunc("GET /page.css", file("page.css"))
	mux.HandleFunc("GET /page.js", file("page.js"))
}

func file(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		http.ServeFileFS(w, r, files, name)
	}
}
