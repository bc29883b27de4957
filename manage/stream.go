package manage

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/troupe-go/troupe"
)

const (
	// streamBuffer is how many events may wait for one slow reader.
	streamBuffer = 128
	// beatEvery is how often a silent stream shows that it lives.
	beatEvery = 10 * time.Second
	// streamWriteWithin bounds one write: a reader that takes nothing for so long
	// is cut off.
	streamWriteWithin = 10 * time.Second
)

// domainEvents streams the membership: what leads to the present state first,
// then each change, as server-sent events.
func (h *handler) domainEvents(w http.ResponseWriter, r *http.Request) {
	select {
	case h.streams <- struct{}{}:
		defer func() { <-h.streams }()
	default:
		w.Header().Set("Retry-After", "10")
		writeText(w, http.StatusServiceUnavailable, "too many streams of events are open: close one, or raise Streams\n")
		return
	}
	s := stream{w: w, out: http.NewResponseController(w), namer: h.node, want: r.URL.Query()["type"]}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // proxies are to pass on events as they come
	if r.Method == http.MethodHead {
		return
	}
	if err := s.run(h.node, r); err != nil {
		h.node.Log().Debug("stream of events ended", slog.String("to", r.RemoteAddr), slog.Any("error", err))
	}
}

// A stream is one reader of events.
type stream struct {
	w     http.ResponseWriter
	out   *http.ResponseController
	namer Namer
	want  filter
	buf   bytes.Buffer
}

func (s *stream) run(n node, r *http.Request) error {
	live := make(chan DomainEvent, streamBuffer)
	lost := false // belongs to the node's goroutine, as sending does
	past, unsubscribe := n.Follow(func(e troupe.Event) {
		doc, ok := s.wanted(e)
		if !ok || lost {
			return
		}
		select {
		case live <- doc:
		default:
			lost = true
			close(live)
		}
	})
	defer unsubscribe()
	// The server's time-outs are for requests, not for a stream; a server that
	// has none, or a test, supports no deadlines.
	_ = s.out.SetReadDeadline(time.Time{})
	for _, e := range past {
		if doc, ok := s.wanted(e); ok {
			s.add(doc)
		}
	}
	if err := s.flush(); err != nil {
		return err
	}
	return s.follow(live, n.Done(), r)
}

// follow writes what comes until the reader goes, falls behind, or the node ends.
func (s *stream) follow(live <-chan DomainEvent, ended <-chan struct{}, r *http.Request) error {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		more := true
		select {
		case <-r.Context().Done():
			return r.Context().Err()
		case <-ended:
			s.drain(live)
			if end := (DomainEvent{Type: clusterShutsDown}); s.want.passes(end.Type) {
				s.add(end)
			}
			return s.flush()
		case <-beat.C:
			s.buf.WriteString(":\n\n")
		case doc, open := <-live:
			if more = open; open {
				s.add(doc)
				more = s.drain(live)
			}
		}
		if !more {
			s.buf.WriteString(": this reader fell more than 128 events behind; connect again\n\n")
			return s.flush()
		}
		if err := s.flush(); err != nil {
			return err
		}
	}
}

// drain adds what is waiting; false when there was more than fitted.
func (s *stream) drain(live <-chan DomainEvent) bool {
	for {
		select {
		case doc, open := <-live:
			if !open {
				return false
			}
			s.add(doc)
		default:
			return true
		}
	}
}

func (s *stream) wanted(e troupe.Event) (DomainEvent, bool) {
	doc, ok := eventOf(s.namer, e)
	return doc, ok && s.want.passes(doc.Type)
}

func (s *stream) add(doc DomainEvent) {
	s.buf.WriteString("event:" + doc.Type + "\ndata:")
	enc := json.NewEncoder(&s.buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(doc) // ends the line; a document of texts and numbers cannot fail
	s.buf.WriteByte('\n')
}

// flush hands over what was added, headers first.
func (s *stream) flush() error {
	_ = s.out.SetWriteDeadline(time.Now().Add(streamWriteWithin)) // see run
	_, err := s.buf.WriteTo(s.w)
	if err != nil {
		return err
	}
	return s.out.Flush()
}
