// Package audit writes down what happened, fact by fact, so that anyone can
// check from outside what a cluster of Dads lost, doubled or reordered.
//
// A fact is one [Event]; a [File] keeps each as one line of JSON, appended by
// one write, so lines of several processes in one file do not mix. Recording
// is safe for concurrent use; the order of facts is that of their times.
package audit

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"
)

// Kind says what happened.
type Kind string

// The kinds of facts.
const (
	Accepted Kind = "accepted" // an edge took a message (ID); it is written before the sender gets its 202
	Heard    Kind = "heard"    // a Dad was handed a message (ID); a repeat is heard again
	Joke     Kind = "joke"     // a Dad joked (Text) about messages (IDs)
	Entered  Kind = "entered"  // a Dad begins to live for a chat
	Stopped  Kind = "stopped"  // his life has ended
)

// Event is one fact.
type Event struct {
	T     time.Time `json:"t"` // UTC
	Node  string    `json:"node"`
	Event Kind      `json:"event"`
	Chat  string    `json:"chat"`
	ID    string    `json:"id,omitempty"`
	IDs   []string  `json:"ids,omitempty"`
	Text  string    `json:"text,omitempty"`
}

// A Recorder takes facts. It must not block for long, and may be called from
// many goroutines.
type Recorder func(Event)

// Nothing records nothing.
func Nothing(Event) {}

// Stamp gives a recorder that adds when and on which node to each fact.
func Stamp(node string, to Recorder) Recorder {
	return func(e Event) {
		e.T, e.Node = time.Now().UTC(), node
		to(e)
	}
}

// File is an audit file that is open for appending.
type File struct {
	f   *os.File
	log *slog.Logger
}

// Open opens the file at path, making it when it is not there.
func Open(path string, log *slog.Logger) (*File, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the audit file: %w", err)
	}
	return &File{f, log}, nil
}

// Record appends e. Nobody could act on an error in the middle of a chat, so
// one is logged.
func (f *File) Record(e Event) {
	line, err := json.Marshal(e)
	if err == nil {
		_, err = f.f.Write(append(line, '\n'))
	}
	if err != nil {
		f.log.Error("audit event lost", "event", e.Event, "chat", e.Chat, "error", err)
	}
}

// Close closes the file; events recorded later are lost, and logged as such.
func (f *File) Close() error { return f.f.Close() }
