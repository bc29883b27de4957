package transport

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// window is how many bytes may be under way in one direction before a write
// waits for the reader.
const window = 256 << 10

// A memConn is one end of a connection in memory: two streams.
type memConn struct {
	memory  *Memory
	in, out *stream
}

func (c *memConn) Read(b []byte) (int, error)         { return c.in.read(b) }
func (c *memConn) Write(b []byte) (int, error)        { return c.out.write(b) }
func (c *memConn) LocalAddr() net.Addr                { return memAddr(c.out.way.from) }
func (c *memConn) RemoteAddr() net.Addr               { return memAddr(c.out.way.to) }
func (c *memConn) SetReadDeadline(t time.Time) error  { return c.in.setReadDeadline(t) }
func (c *memConn) SetWriteDeadline(t time.Time) error { return c.out.setWriteDeadline(t) }

func (c *memConn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// Close lets what was written arrive, and the end behind it.
func (c *memConn) Close() error {
	c.out.closeWriter()
	c.in.closeReader()
	c.memory.forget(c)
	return nil
}

// A stream carries bytes one way. Readers and writers wait on a channel that is
// closed and replaced at every change, and on a timer; the mutex guards leaf
// data only.
type stream struct {
	way way

	mu                          sync.Mutex
	condition                   condition
	chunks                      []chunk
	size                        int  // bytes in chunks
	finished                    bool // the writer has closed
	abandoned                   bool // the reader has closed
	broken                      bool // reset
	readDeadline, writeDeadline time.Time
	changed                     chan struct{}
}

// A chunk is what one write carried and when it arrives.
type chunk struct {
	data []byte
	at   time.Time
}

func newStream(w way, c condition) *stream {
	return &stream{way: w, condition: c, changed: make(chan struct{})}
}

// update changes the stream and wakes those who wait.
func (s *stream) update(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.announce()
}

func (s *stream) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *stream) set(c condition) { s.update(func() { s.condition = c }) }
func (s *stream) reset()          { s.update(func() { s.broken, s.chunks, s.size = true, nil, 0 }) }

// closeWriter puts an end behind what is under way; the end takes its time too.
func (s *stream) closeWriter() {
	s.update(func() {
		if !s.finished {
			s.finished = true
			s.chunks = append(s.chunks, chunk{at: s.arrival()})
		}
	})
}

func (s *stream) closeReader() {
	s.update(func() { s.abandoned, s.chunks, s.size = true, nil, 0 })
}

// arrival is when something written now arrives: never before what was written
// earlier. The caller holds mu.
func (s *stream) arrival() time.Time {
	at := time.Now().Add(s.condition.delay)
	if n := len(s.chunks); n > 0 && s.chunks[n-1].at.After(at) {
		at = s.chunks[n-1].at
	}
	return at
}

func (s *stream) setReadDeadline(t time.Time) error {
	return s.setDeadline(t, &s.readDeadline, &s.abandoned)
}

func (s *stream) setWriteDeadline(t time.Time) error {
	return s.setDeadline(t, &s.writeDeadline, &s.finished)
}

func (s *stream) setDeadline(t time.Time, deadline *time.Time, closed *bool) (err error) {
	s.update(func() {
		*deadline = t
		if *closed {
			err = net.ErrClosed
		}
	})
	return err
}

func (s *stream) read(b []byte) (n int, err error) {
	for {
		s.mu.Lock()
		now := time.Now()
		until, changed := s.readDeadline, s.changed
		switch {
		case s.abandoned:
			err = net.ErrClosed
		case s.broken:
			err = syscall.ECONNRESET
		case expired(until, now):
			err = os.ErrDeadlineExceeded
		case s.condition.cut || len(s.chunks) == 0:
		case s.chunks[0].at.After(now):
			until = earlier(until, s.chunks[0].at)
		case s.chunks[0].data == nil:
			err = io.EOF
		default:
			n = s.consume(b)
		}
		s.mu.Unlock()
		if n > 0 || err != nil || len(b) == 0 {
			return n, err
		}
		wait(changed, until)
	}
}

// consume takes what the first chunk has for b; the caller holds mu.
func (s *stream) consume(b []byte) int {
	n := copy(b, s.chunks[0].data)
	s.size -= n
	if s.chunks[0].data = s.chunks[0].data[n:]; len(s.chunks[0].data) == 0 {
		s.chunks = s.chunks[1:]
	}
	s.announce()
	return n
}

func (s *stream) write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var m int
		s.mu.Lock()
		until, changed := s.writeDeadline, s.changed
		switch {
		case s.finished:
			err = net.ErrClosed
		case s.broken:
			err = syscall.ECONNRESET
		case expired(until, time.Now()):
			err = os.ErrDeadlineExceeded
		case s.abandoned: // the writer learns of it by what comes the other way
			m = len(b) - n
		default:
			m = s.produce(b[n:])
		}
		s.mu.Unlock()
		if m == 0 && err == nil {
			wait(changed, until)
		}
		n += m
	}
	return n, err
}

// produce puts under way what the window has room for; the caller holds mu.
func (s *stream) produce(b []byte) int {
	n := min(window-s.size, len(b))
	if n > 0 {
		s.chunks = append(s.chunks, chunk{data: bytes.Clone(b[:n]), at: s.arrival()})
		s.size += n
		s.announce()
	}
	return n
}

func expired(deadline, now time.Time) bool { return !deadline.IsZero() && !now.Before(deadline) }

// earlier is the earlier of two times, where zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// wait returns when something has changed or the time has come; zero is never.
func wait(changed <-chan struct{}, until time.Time) {
	if until.IsZero() {
		<-changed
		return
	}
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	}
}
