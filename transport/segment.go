package transport

import (
	"sync"
	"time"
)

// A segment is a run of whole frames, or a part of a large one, written by one
// call. Losing a link loses at most the segment that was being written, and the
// large frame that was under way.
type segment struct {
	buf    []byte
	frames int       // that are complete with it
	since  time.Time // of its first frame
	large  int       // payload of the large frame that it is, or is a part of; zero for a run of frames
	next   *segment  // behind it in the queue
}

// payload is the number of bytes without the lengths.
func (s *segment) payload() int {
	if s.large > 0 {
		return len(s.buf) - lengthBytes
	}
	return len(s.buf) - s.frames*lengthBytes
}

// append adds a whole frame.
func (s *segment) append(payload []byte) {
	s.buf = appendFrame(s.buf, payload)
	s.frames++
}

// segments recycles those of the common size.
type segments struct{ pool sync.Pool }

func (p *segments) get() *segment {
	if s, ok := p.pool.Get().(*segment); ok {
		return s
	}
	return &segment{buf: make([]byte, 0, lengthBytes+segmentBytes)}
}

func (p *segments) put(s *segment) {
	*s = segment{buf: s.buf[:0]}
	p.pool.Put(s)
}
