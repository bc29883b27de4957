package transport

import (
	"sync"
	"time"
)

// A segment is a run of whole frames, written by one call. Losing a link loses
// at most the segment that was being written. A frame larger than a segment has
// one of its own.
type segment struct {
	buf    []byte
	frames int
	since  time.Time // of its first frame
	next   *segment  // behind it in the queue
}

// jumbo tells whether s is a single frame beyond the size that segments share,
// and so may be beyond a peer's limit.
func (s *segment) jumbo() bool { return cap(s.buf) > segmentBytes+lengthBytes }

// payload is the number of bytes without the lengths.
func (s *segment) payload() int { return len(s.buf) - s.frames*lengthBytes }

// segments recycles those of the common size.
type segments struct{ pool sync.Pool }

func (p *segments) get(size int) *segment {
	if size > segmentBytes+lengthBytes {
		return &segment{buf: make([]byte, 0, size)}
	}
	if s, ok := p.pool.Get().(*segment); ok {
		return s
	}
	return &segment{buf: make([]byte, 0, segmentBytes+lengthBytes)}
}

func (p *segments) put(s *segment) {
	if s.jumbo() {
		return
	}
	s.buf, s.frames, s.next = s.buf[:0], 0, nil
	p.pool.Put(s)
}

// A queue holds the frames of one lane to one peer until they are written. Any
// goroutine pushes; at most one takes. The mutex guards leaf data only.
type queue struct {
	segments *segments
	limit    int           // bytes that may wait, those being written included
	patience time.Duration // see last

	mu          sync.Mutex
	first, tail *segment      // what waits, oldest first
	size        int           // bytes waiting and being written
	writing     bool          // a segment is taken and not released
	wake        chan struct{} // of whoever found nothing to take; nil when nobody waits
	room        chan struct{} // closed when half of the limit is free; nil when nobody waits for that
	ended       bool          // takes no more
}

// A pushed is what became of a frame.
type pushed uint8

const (
	pushedIn   pushed = iota
	pushedFull        // the limit leaves no room
	pushedLate        // the queue has ended
)

// push copies a payload to the end. wake is the channel of whoever waits for a
// frame, for the caller to signal outside the lock; nil for nobody.
func (q *queue) push(payload []byte) (how pushed, wake chan struct{}) {
	need := lengthBytes + len(payload)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return pushedLate, nil
	}
	if q.size+need > q.limit {
		return pushedFull, nil
	}
	s := q.last(need)
	s.buf = appendFrame(s.buf, payload)
	s.frames++
	q.size += need
	wake, q.wake = q.wake, nil
	return pushedIn, wake
}

// roomFor gives a channel that closes when it is worth while to try again to
// push a payload; nil if it is now. Half of the limit is free then, so that who
// has waited can push many before it waits again.
func (q *queue) roomFor(payload []byte) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended || q.size+lengthBytes+len(payload) <= q.limit {
		return nil
	}
	if q.room == nil {
		q.room = make(chan struct{})
	}
	return q.room
}

// freed takes bytes off the size; mu is held.
func (q *queue) freed(bytes int) {
	q.size -= bytes
	if q.size <= q.limit/2 {
		q.callWaiting()
	}
}

// callWaiting has those who wait for room try again; mu is held.
func (q *queue) callWaiting() {
	if q.room != nil {
		close(q.room)
		q.room = nil
	}
}

// last gives the segment to append need bytes to. While nobody writes, a segment
// is filled no longer than patience, so that frames expire near their own age
// and not at that of the oldest in their segment.
func (q *queue) last(need int) *segment {
	s := q.tail
	if s != nil && len(s.buf)+need <= cap(s.buf) && (q.writing || time.Since(s.since) < q.patience) {
		return s
	}
	s = q.segments.get(need)
	s.since = time.Now()
	if q.tail == nil {
		q.first = s
	} else {
		q.tail.next = s
	}
	q.tail = s
	return s
}

// take gives the oldest segment, to be given back with release. When nothing
// waits it gives nil, and the next push signals wake.
func (q *queue) take(wake chan struct{}) *segment {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.first == nil {
		q.wake = wake
		return nil
	}
	q.writing = true
	return q.pop()
}

func (q *queue) pop() *segment {
	s := q.first
	q.first, s.next = s.next, nil
	if q.first == nil {
		q.tail = nil
	}
	return s
}

// release gives back a segment whose bytes were written or are lost.
func (q *queue) release(s *segment) {
	q.mu.Lock()
	q.freed(len(s.buf))
	q.writing = false
	q.mu.Unlock()
	q.segments.put(s)
}

// pending tells whether something waits; if not, the next push signals wake.
func (q *queue) pending(wake chan struct{}) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.first == nil {
		q.wake = wake
	}
	return q.first != nil
}

// expire drops the segments that began before the given time and returns the
// number of their frames.
func (q *queue) expire(before time.Time) (frames int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.first != nil && q.first.since.Before(before) {
		frames += q.discard()
	}
	return frames
}

// clear drops all that waits and returns the number of frames.
func (q *queue) clear() (frames int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.first != nil {
		frames += q.discard()
	}
	return frames
}

func (q *queue) discard() (frames int) {
	s := q.pop()
	q.freed(len(s.buf))
	frames = s.frames
	q.segments.put(s)
	return frames
}

// end makes push fail from now on; it tells whether nothing waits.
func (q *queue) end() (empty bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.callWaiting()
	return q.first == nil
}

// reopen takes end back.
func (q *queue) reopen() {
	q.mu.Lock()
	q.ended = false
	q.mu.Unlock()
}

// bytes is what waits, with what is being written.
func (q *queue) bytes() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size
}
