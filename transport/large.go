package transport

import (
	"bytes"
	"slices"
	"time"
)

// A convoy is a stream of a lane in which a large frame waits, and what has come
// behind it. Its large frames go out in parts, in turn with the segments of all
// other streams, so that nobody but its own later frames waits for them.
type convoy struct {
	id          uint32
	after       int      // segments popped from the queue, before it may begin: what came earlier is among them
	first, tail *segment // first is a large frame
	begun       int      // bytes of the first that have been taken
}

// convoyOf finds the convoy that a stream's frames have to join, nil for none.
func (q *queue) convoyOf(id uint32) *convoy {
	if i := slices.IndexFunc(q.convoys, func(c *convoy) bool { return c.id == id }); i >= 0 {
		return q.convoys[i]
	}
	return nil
}

// pushBehind puts a frame into a convoy, or begins one; mu is held.
func (q *queue) pushBehind(c *convoy, id uint32, payload []byte) {
	if c == nil {
		c = &convoy{id: id, after: q.made}
		q.convoys = append(q.convoys, c)
	}
	now := time.Now()
	if len(payload) > segmentBytes {
		c.add(&segment{buf: bytes.Clone(payload), frames: 1, since: now, large: len(payload)})
		return
	}
	if t := c.tail; t.large > 0 || len(t.buf)+lengthBytes+len(payload) > cap(t.buf) {
		s := q.segments.get()
		s.since = now
		c.add(s)
	}
	c.tail.append(payload)
}

func (c *convoy) add(s *segment) {
	if c.tail == nil {
		c.first = s
	} else {
		c.tail.next = s
	}
	c.tail = s
}

func (c *convoy) pop() *segment {
	s := c.first
	c.first, s.next = s.next, nil
	if c.first == nil {
		c.tail = nil
	}
	return s
}

// part takes the next part of the large frame whose turn it is, nil if no part
// may go now; mu is held.
func (q *queue) part() *segment {
	if len(q.convoys) == 0 || q.popped < q.convoys[0].after || q.first != nil && !q.partNext {
		return nil
	}
	c := q.convoys[0]
	from := c.first.buf[c.begun:]
	chunk := from[:min(len(from), segmentBytes)]
	c.begun += len(chunk)
	last := c.begun == len(c.first.buf)
	s := q.segments.get()
	s.buf, s.large = appendPart(s.buf, chunk, last), c.first.large
	if last {
		s.frames = 1
		q.large.freed(q.limit, held(c.pop()))
		q.settle(c)
	}
	q.partNext = false
	return s
}

// settle goes on with a convoy whose first frame has gone: what stands before its
// next large frame is queued like that of all others, behind what is there; the
// next large one waits until it is its stream's turn again. mu is held.
func (q *queue) settle(c *convoy) {
	c.begun = 0
	for c.first != nil && c.first.large == 0 {
		s := c.pop()
		q.large.freed(q.limit, held(s))
		q.plain.bytes += held(s)
		q.add(s)
	}
	i := slices.Index(q.convoys, c)
	q.convoys = slices.Delete(q.convoys, i, i+1)
	if c.first != nil {
		c.after = q.made
		q.convoys = append(q.convoys, c)
	}
}

// breakOff drops the large frame that is under way, if one is: the connection
// broke, and the peer has lost the parts that it had; or the peer would not
// accept it. It returns the number of frames.
func (q *queue) breakOff() (frames int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.convoys) == 0 || q.convoys[0].begun == 0 {
		return 0
	}
	return q.discardFirst(q.convoys[0])
}

// discardFirst drops what is first in a convoy; mu is held.
func (q *queue) discardFirst(c *convoy) (frames int) {
	s := c.pop()
	q.large.freed(q.limit, held(s))
	q.settle(c)
	return s.frames
}

// held is what a waiting segment counts against the limit.
func held(s *segment) int {
	if s.large > 0 {
		return lengthBytes + s.large
	}
	return len(s.buf)
}
