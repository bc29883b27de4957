package transport

import (
	"sync"
	"time"
)

// A queue holds the frames of one lane to one peer until they are written. Any
// goroutine pushes; at most one takes. The mutex guards leaf data only.
//
// Frames go out in the order in which they came, except that large ones, and what
// comes behind them in their stream, are in a line of their own; see [convoy].
type queue struct {
	segments *segments
	limit    int           // bytes that may wait, those being written included; and as many in convoys
	patience time.Duration // see last

	mu           sync.Mutex
	first, tail  *segment      // what waits, oldest first
	made, popped int           // segments that were ever there, and that have gone
	convoys      []*convoy     // behind large frames; the one under way first
	partNext     bool          // it is a part's turn, not a segment's
	plain, large budget        // of the segments and of the convoys
	writing      bool          // a segment is taken and not released
	wake         chan struct{} // of whoever found nothing to take; nil when nobody waits
	ended        bool          // takes no more
}

// A budget counts the bytes that wait, and tells those who want to add more when
// there is room.
type budget struct {
	bytes int
	room  chan struct{} // closed when half of the limit is free; nil when nobody waits for that
}

// freed takes bytes off.
func (b *budget) freed(limit, bytes int) {
	b.bytes -= bytes
	if b.bytes <= limit/2 {
		b.callWaiting()
	}
}

// callWaiting has those who wait for room try again.
func (b *budget) callWaiting() {
	if b.room != nil {
		close(b.room)
		b.room = nil
	}
}

// A pushed is what became of a frame.
type pushed uint8

const (
	pushedIn   pushed = iota
	pushedFull        // the limit leaves no room
	pushedLate        // the queue has ended
)

// push copies a payload to the end of a stream. wake is the channel of whoever
// waits for a frame, for the caller to signal outside the lock; nil for nobody.
func (q *queue) push(id uint32, payload []byte) (how pushed, wake chan struct{}) {
	need := lengthBytes + len(payload)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return pushedLate, nil
	}
	c, b := q.place(id, payload)
	if b.bytes+need > q.limit {
		return pushedFull, nil
	}
	b.bytes += need
	if b == &q.plain {
		q.last(need).append(payload)
	} else {
		q.pushBehind(c, id, payload)
	}
	wake, q.wake = q.wake, nil
	return pushedIn, wake
}

// place finds where a frame goes and what it counts against: its stream's convoy,
// if it has or begins one; mu is held.
func (q *queue) place(id uint32, payload []byte) (*convoy, *budget) {
	c := q.convoyOf(id)
	if c != nil || len(payload) > segmentBytes {
		return c, &q.large
	}
	return nil, &q.plain
}

// roomFor gives a channel that closes when it is worth while to try again to
// push a payload; nil if it is now. Half of the limit is free then, so that who
// has waited can push many before it waits again.
func (q *queue) roomFor(id uint32, payload []byte) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, b := q.place(id, payload)
	if q.ended || b.bytes+lengthBytes+len(payload) <= q.limit {
		return nil
	}
	if b.room == nil {
		b.room = make(chan struct{})
	}
	return b.room
}

// last gives the segment to append need bytes to. While nobody writes, a segment
// is filled no longer than patience, so that frames expire near their own age
// and not at that of the oldest in their segment.
func (q *queue) last(need int) *segment {
	s := q.tail
	if s != nil && len(s.buf)+need <= cap(s.buf) && (q.writing || time.Since(s.since) < q.patience) {
		return s
	}
	s = q.segments.get()
	s.since = time.Now()
	q.add(s)
	return s
}

// add puts a segment at the end.
func (q *queue) add(s *segment) {
	if q.tail == nil {
		q.first = s
	} else {
		q.tail.next = s
	}
	q.tail = s
	q.made++
}

// take gives the oldest segment, or the next part of a large frame, in turn; it
// is to be given back with release. When nothing waits it gives nil, and the next
// push signals wake.
func (q *queue) take(wake chan struct{}) *segment {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.part()
	switch {
	case s != nil:
	case q.first != nil:
		s = q.pop()
		q.partNext = true
	default:
		q.wake = wake
		return nil
	}
	q.writing = true
	return s
}

func (q *queue) pop() *segment {
	s := q.first
	q.first, s.next = s.next, nil
	if q.first == nil {
		q.tail = nil
	}
	q.popped++
	return s
}

// release gives back a segment whose bytes were written or are lost.
func (q *queue) release(s *segment) {
	q.mu.Lock()
	if s.large == 0 {
		q.plain.freed(q.limit, len(s.buf))
	}
	q.writing = false
	q.mu.Unlock()
	q.segments.put(s)
}

// pending tells whether something waits; if not, the next push signals wake.
func (q *queue) pending(wake chan struct{}) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.empty() {
		q.wake = wake
		return false
	}
	return true
}

func (q *queue) empty() bool { return q.first == nil && len(q.convoys) == 0 }

// expire drops the segments and large frames that began before the given time
// and returns the number of their frames.
func (q *queue) expire(before time.Time) (frames int) {
	return q.dropWhile(func(s *segment) bool { return s.since.Before(before) })
}

// clear drops all that waits and returns the number of frames.
func (q *queue) clear() (frames int) {
	return q.dropWhile(func(*segment) bool { return true })
}

// dropWhile drops what waits from the front, and from the front of each convoy;
// what follows a large frame moves up when that has gone.
func (q *queue) dropWhile(drop func(*segment) bool) (frames int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := 0; i < len(q.convoys); {
		if c := q.convoys[i]; drop(c.first) {
			frames += q.discardFirst(c)
		} else {
			i++
		}
	}
	for q.first != nil && drop(q.first) {
		s := q.pop()
		frames += s.frames
		q.plain.freed(q.limit, len(s.buf))
		q.segments.put(s)
	}
	return frames
}

// end makes push fail from now on; it tells whether nothing waits.
func (q *queue) end() (empty bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.plain.callWaiting()
	q.large.callWaiting()
	return q.empty()
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
	return q.plain.bytes + q.large.bytes
}

// waitingBefore is what leaves no room for a frame.
func (q *queue) waitingBefore(id uint32, payload []byte) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, b := q.place(id, payload)
	return b.bytes
}
