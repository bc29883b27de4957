package transport

import (
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// A lineKey names the frames of one lane of one peer.
type lineKey struct {
	from member.ID
	lane Lane
}

// A line is where these frames come in, one after the other, over at most two
// connections at a time: the one of the peer's link, and the one it made with
// SendAddress. A later connection of the same kind replaces the earlier one.
// The fields but turn are guarded by the endpoint's mutex.
type line struct {
	turn    chan struct{} // one token: whoever has it calls Receive
	link    *inbound
	address *inbound
	conns   int // that have not left
}

func newLine() *line { return &line{turn: make(chan struct{}, 1)} }

func (l *line) place(c *inbound) **inbound {
	if c.anyone {
		return &l.address
	}
	return &l.link
}

// enter makes c current; false means that a later round already is.
func (l *line) enter(c *inbound) bool {
	at := l.place(c)
	if before := *at; before != nil {
		if before.round > c.round {
			return false
		}
		before.end(RefusedStale)
	}
	*at = c
	l.conns++
	return true
}

// leave tells whether c was the last of the line.
func (l *line) leave(c *inbound) bool {
	if at := l.place(c); *at == c {
		*at = nil
	}
	l.conns--
	return l.conns == 0
}

func (l *line) endAll(why Refusal) {
	for _, c := range []*inbound{l.link, l.address} {
		if c != nil {
			c.end(why)
		}
	}
}

// An inbound is an accepted connection; one goroutine reads it.
type inbound struct {
	e      *endpoint
	conn   net.Conn
	key    lineKey
	line   *line
	anyone bool // dialed for whoever is here
	round  uint64

	ended atomic.Bool   // Receive begins no more
	stop  chan struct{} // closed with ended
	why   Refusal       // written before stop closes
}

// end makes the reader stop soon and say why; the caller holds the endpoint's
// mutex.
func (c *inbound) end(why Refusal) {
	if c.ended.Load() {
		return
	}
	c.why = why
	c.ended.Store(true)
	close(c.stop)
	_ = c.conn.SetReadDeadline(time.Unix(1, 0)) // wakes the reader; an error means that it needs no waking
}

// read hands frames to the handler until the connection ends. why is zero when
// the peer ended it.
func (c *inbound) read() (why Refusal, err error) {
	s := scanner{limit: c.e.cfg.MaxFrame}
	for err == nil && !c.ended.Load() { // looked at after each change of the deadline, see end
		if err = s.fill(c.conn); err != nil {
			break
		}
		select {
		case c.line.turn <- struct{}{}:
			err = c.deliver(&s)
			<-c.line.turn
		case <-c.stop:
			err = c.discard(&s)
		}
	}
	switch {
	case c.ended.Load():
		return c.why, fmt.Errorf("connection of %v, lane %v, ended here: %v", c.key.from, c.key.lane, c.why)
	case errors.Is(err, ErrTooLarge):
		return RefusedFrame, err
	default:
		return 0, err
	}
}

// deliver calls Receive for every whole frame; the caller has the turn.
func (c *inbound) deliver(s *scanner) error {
	if b, ok := c.e.handler.(BatchHandler); ok {
		b.Batch(c.key.from, c.key.lane)
	}
	var frames, bytes int
	defer func() {
		t := c.e.count.lane(c.key.lane)
		t.receivedFrames.Add(uint64(frames))
		t.receivedBytes.Add(uint64(bytes))
	}()
	for {
		if c.ended.Load() {
			return c.discard(s)
		}
		payload, ok, err := s.next()
		if !ok {
			return err
		}
		frames++
		bytes += len(payload)
		c.receive(payload)
	}
}

// receive survives a handler's panic: one message that cannot be understood must
// not end the stream of all others (REM-06).
func (c *inbound) receive(payload []byte) {
	defer func() {
		if p := recover(); p != nil {
			c.e.count.panics.Add(1)
			c.e.log.Error("handler panicked", "peer", c.key.from.String(), "panic", p, "stack", string(debug.Stack()))
		}
		if c.e.cfg.Poison {
			poison(payload)
		}
	}()
	c.e.handler.Receive(c.key.from, c.key.lane, payload)
}

// discard counts the frames that have come and are not wanted any more.
func (c *inbound) discard(s *scanner) error {
	var why drop
	switch c.why {
	case RefusedStale:
		why = dropStale
	case RefusedQuarantined:
		why = dropQuarantined
	default:
		why = dropClosed
	}
	for {
		_, ok, err := s.next()
		if !ok {
			return err
		}
		c.e.count.drop(why, 1)
	}
}

// poison makes a payload that somebody kept unmistakable.
func poison(payload []byte) {
	for i := range payload {
		payload[i] = 0xDB
	}
}
