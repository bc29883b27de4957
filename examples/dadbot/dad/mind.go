package dad

import (
	"slices"
	"time"
)

const (
	// MaxBatch is how many messages one joke is about at most: a chat that is
	// never quiet makes him think as soon as he has heard so many.
	MaxBatch = 1000
	// MaxLines is how many messages and jokes he remembers.
	MaxLines = 1000
	// MaxMemory is how many bytes of them, so that the answer to Recall fits
	// well into one frame between nodes.
	MaxMemory = 1 << 20
	// maxKnown is how many ids he recognises when he hears them again.
	maxKnown = 10_000
)

// mind is what a Dad knows in one life. It is plain data; time is an argument.
type mind struct {
	node    string
	subject []Said          // what he is thinking about
	pending []Said          // what the next joke will be about, by the time it was said
	open    map[string]bool // the ids of both
	told    int             // puns that the chat has heard: the next is the first that it has not
	known   recent
	lines   []Line
	size    int // of lines, in bytes
}

// hear takes note of s. It is false when he has heard that id in this life.
func (m *mind) hear(s Said) bool {
	if !m.known.add(s.ID) {
		return false
	}
	if m.open == nil {
		m.open = make(map[string]bool)
	}
	m.open[s.ID] = true
	i, _ := slices.BinarySearchFunc(m.pending, s.At, func(p Said, at time.Time) int {
		if p.At.After(at) {
			return 1
		}
		return -1 // of messages said at one time, the one heard first goes first
	})
	m.pending = slices.Insert(m.pending, i, s)
	m.remember(Line{At: s.At, ID: s.ID, From: s.From, Text: s.Text, Via: s.Via})
	return true
}

// inherit takes note of what predecessors have told.
func (m *mind) inherit(t Told) { m.told = max(m.told, t.Puns) }

// curious tells whether something was said that he has not thought about.
func (m *mind) curious() bool { return len(m.pending) > 0 }

// full tells whether he must not wait for more.
func (m *mind) full() bool { return len(m.pending) >= MaxBatch }

// ponder makes what is pending the subject of the next joke.
func (m *mind) ponder() {
	n := min(len(m.pending), MaxBatch)
	m.subject, m.pending = m.pending[:n:n], slices.Clone(m.pending[n:])
}

// joke is told about the subject, at a time.
func (m *mind) joke(at time.Time, pun string) Line {
	ids := make([]string, len(m.subject))
	for i, s := range m.subject {
		ids[i] = s.ID
	}
	l := Line{At: at, ID: JokeID + ids[0], From: Bot, Text: pun, Via: m.node, Batch: ids}
	m.remember(l)
	m.drop()
	m.told++
	return l
}

// drop ends what is to be said about the subject.
func (m *mind) drop() {
	for _, s := range m.subject {
		delete(m.open, s.ID)
	}
	m.subject = nil
}

// giveUp puts the subject back: there is no joke about it now.
func (m *mind) giveUp() {
	m.pending = slices.Concat(m.subject, m.pending)
	m.subject = nil
}

// remember adds l and forgets the oldest lines beyond the bounds.
func (m *mind) remember(l Line) {
	m.lines = append(m.lines, l)
	m.size += l.bytes()
	for len(m.lines) > MaxLines || m.size > MaxMemory {
		m.size -= m.lines[0].bytes()
		m.lines = m.lines[1:]
	}
}

func (l Line) bytes() int {
	n := len(l.ID) + len(l.From) + len(l.Text) + len(l.Via)
	for _, id := range l.Batch {
		n += len(id)
	}
	return n
}

// memory is a copy, because the answer may be read on another goroutine.
func (m *mind) memory() Memory { return Memory{Node: m.node, Lines: slices.Clone(m.lines)} }

// recent is a set of the last maxKnown ids.
type recent struct {
	set   map[string]struct{}
	order []string // a ring once it is full
	next  int
}

// add is false when the set has the id.
func (r *recent) add(id string) bool {
	if _, ok := r.set[id]; ok {
		return false
	}
	if r.set == nil {
		r.set = make(map[string]struct{})
	}
	r.set[id] = struct{}{}
	if len(r.order) < maxKnown {
		r.order = append(r.order, id)
		return true
	}
	delete(r.set, r.order[r.next])
	r.order[r.next] = id
	r.next = (r.next + 1) % maxKnown
	return true
}
