// Package record is what the processes of a rehearsal write down, and what can
// be read from it afterwards: who answered for which entity at which time, and
// whether two ever did so at once.
//
// Times are those of the machine's monotonic clock, which all its processes
// share, so that the lines of several of them can be compared. Writing is safe
// for concurrent use; each line is one write.
package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Kind says what happened.
type Kind string

// The kinds of events.
const (
	Answered Kind = "answered" // an entity (Entity, in its Life) handled a probe
	Served   Kind = "served"   // this node's probes of all entities that began at Since or later were answered
	Viewed   Kind = "viewed"   // who is Up for this node, who was downed, and whom somebody does not reach
	Resolved Kind = "resolved" // what this node's split brain resolver says (Text)
	Ended    Kind = "ended"    // this node's part in the cluster is over (Text: why)
)

// Event is one line.
type Event struct {
	At     time.Duration `json:"at"`   // of the monotonic clock, in ns; see [Now]
	Wall   time.Time     `json:"wall"` // for people
	Node   int           `json:"node"`
	Kind   Kind          `json:"kind"`
	Entity string        `json:"entity,omitempty"`
	Life   string        `json:"life,omitempty"` // one incarnation of the entity
	Since  time.Duration `json:"since,omitempty"`
	Up     []string      `json:"up,omitempty"`     // addresses
	Absent []string      `json:"absent,omitempty"` // addresses of the unreachable
	Down   []string      `json:"down,omitempty"`   // addresses
	Text   string        `json:"text,omitempty"`
}

// Writer appends the events of one node to a file.
type Writer struct {
	node int

	mu     sync.Mutex
	f      *os.File
	broken error // the first that went wrong
}

// Create opens the file at path.
func Create(path string, node int) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the record: %w", err)
	}
	return &Writer{node: node, f: f}, nil
}

// Write adds an event, at the time in it or else now.
func (w *Writer) Write(e Event) {
	if e.At == 0 {
		e.At = Now()
	}
	e.Node, e.Wall = w.node, time.Now()
	line, err := json.Marshal(e)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		_, err = w.f.Write(append(line, '\n'))
	}
	if w.broken == nil {
		w.broken = err
	}
}

// Close closes the file, and tells whether something is missing in it.
func (w *Writer) Close() error { return errors.Join(w.broken, w.f.Close()) }

// Tail reads a file that is still being written, each line once.
type Tail struct {
	Path string
	read int64 // bytes
}

// Next reads the lines that were finished since it was called last. A file
// that is not there yet has none.
func (t *Tail) Next() ([]Event, error) {
	f, err := os.Open(t.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var text bytes.Buffer
	if _, err := f.Seek(t.read, 0); err != nil {
		return nil, err
	}
	if _, err := text.ReadFrom(f); err != nil {
		return nil, err
	}
	whole := text.Bytes()[:bytes.LastIndexByte(text.Bytes(), '\n')+1]
	t.read += int64(len(whole))
	var events []Event
	for line := range bytes.Lines(whole) {
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return events, fmt.Errorf("%s: %w: %s", t.Path, err, line)
		}
		events = append(events, e)
	}
	return events, nil
}
