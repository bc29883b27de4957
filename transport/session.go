package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// yields is how often a woken writer lets others run before it writes. Once is not
// enough where an idle processor takes the writer up again at once: then frames
// that are being made, such as the answers to what was read together, would be written one by one.
const yields = 3

// A session is one life of a link, from an accepted handshake to the first
// connection that breaks. Each lane has a connection with two goroutines: one
// writes, one listens for the peer's goodbye. When one fails, all end.
type session struct {
	link    *link
	round   uint64
	peer    member.ID // who accepted
	control net.Conn
	ctx     context.Context // over: broken, the cause says how
	fail    context.CancelCauseFunc
	running sync.WaitGroup
}

func newSession(l *link) *session {
	s := &session{link: l, round: l.e.rounds.Add(1)}
	s.ctx, s.fail = context.WithCancelCause(l.ctx)
	return s
}

// serve writes until the session breaks, and returns why; nil when the link is
// finishing and the peer has read everything.
func (s *session) serve() error {
	l := s.link
	s.running.Go(func() { s.run(Control, s.control) })
	running := make([]bool, len(l.lanes))
	start := func() {
		for lane := User; int(lane) < len(l.lanes); lane++ {
			if !running[lane] && l.lanes[lane].pending(l.work) {
				running[lane] = true
				s.running.Go(func() { s.dial(lane) })
			}
		}
	}
	for live := true; live; {
		start()
		select {
		case <-l.work:
		case <-s.ctx.Done():
			live = false
		case <-l.finishing: // nothing is queued any more: start what has not been
			start()
			live = false
		}
	}
	s.running.Wait()
	err := context.Cause(s.ctx)
	s.fail(nil)
	return err
}

// dial makes an ordinary lane's connection and runs it.
func (s *session) dial(lane Lane) {
	conn, _, err := s.link.e.dial(s.ctx, s.peer, lane, s.round)
	if err != nil {
		s.fail(fmt.Errorf("lane %v: %w", lane, err))
		return
	}
	s.run(lane, conn)
}

// run serves one connection to its end.
func (s *session) run(lane Lane, conn net.Conn) {
	defer context.AfterFunc(s.ctx, func() { hangUp(conn) })()
	defer hangUp(conn)
	var parting atomic.Bool
	heard := make(chan struct{})
	s.running.Go(func() {
		defer close(heard)
		err := s.listen(conn)
		if parting.Load() && errors.Is(err, io.EOF) {
			return // it has read everything
		}
		s.fail(fmt.Errorf("lane %v: %w", lane, err))
	})
	err := s.write(lane, conn)
	if err == nil {
		parting.Store(true)
		if err = conn.SetReadDeadline(time.Now().Add(s.link.e.cfg.WriteTimeout)); err == nil {
			_, err = s.put(conn, appendGoodbye(nil))
		}
	}
	if err != nil {
		s.link.e.count.drop(dropBroken, s.link.lanes[lane].breakOff())
		s.fail(fmt.Errorf("lane %v: %w", lane, err))
	}
	<-heard
}

// listen waits for the one thing that the peer may say: why it goes.
func (s *session) listen(conn net.Conn) error {
	a, err := readAnswer(conn)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("closed by the peer: %w", err)
	}
	if err != nil {
		return err
	}
	s.link.e.count.refusedBy[a.refusal.known()].Add(1)
	return &RefusedError{Dialed: s.link.to, Peer: a.from, Reason: a.refusal, Text: a.text}
}

// write sends segments as they come; nil means that the link is finishing and
// nothing is left.
func (s *session) write(lane Lane, conn net.Conn) error {
	l := s.link
	q, wake := &l.lanes[lane], make(chan struct{}, 1)
	for {
		finishing := closed(l.finishing)
		seg := q.take(wake)
		if seg != nil {
			err := s.send(lane, conn, seg)
			q.release(seg)
			if err != nil {
				return err
			}
			continue
		}
		if finishing {
			return nil
		}
		var idle <-chan time.Time
		if l.to.UID == 0 {
			idle = time.After(l.e.cfg.IdleTimeout)
		}
		select {
		case <-wake:
			// Whoever else is ready to run may have something to send too, and a call
			// to the operating system costs more than many frames. When nobody is, this
			// is no delay.
			for range yields {
				runtime.Gosched()
			}
		case <-l.finishing:
		case <-idle:
			l.e.retire(l)
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		}
	}
}

// send writes a segment and counts what became of its frames.
func (s *session) send(lane Lane, conn net.Conn, seg *segment) error {
	count := &s.link.e.count
	if limit := int(s.link.limit.Load()); seg.large > limit {
		count.drop(dropTooLarge, s.link.lanes[lane].breakOff())
		s.link.e.log.Warn("frame dropped: queued before the peer told its limit",
			"peer", s.peer.String(), "size", seg.large, "limit", limit)
		return nil
	}
	n, err := s.put(conn, seg.buf)
	frames, payload := seg.frames, seg.payload()
	if err != nil {
		frames, payload = framesWithin(seg.buf, n)
		count.drop(dropBroken, seg.frames-frames)
	}
	t := count.lane(lane)
	t.sentFrames.Add(uint64(frames))
	t.sentBytes.Add(uint64(payload))
	return err
}

// put writes b; the deadline is for progress, since b is short: a slow link may
// take its time for a large frame and a stuck one may not.
func (s *session) put(conn net.Conn, b []byte) (int, error) {
	if err := conn.SetWriteDeadline(time.Now().Add(s.link.e.cfg.WriteTimeout)); err != nil {
		return 0, err
	}
	return conn.Write(b)
}
