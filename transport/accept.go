package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

const refusalPause = 10 * time.Second // between two log lines of one reason

// accept takes connections until the listener is closed.
func (e *endpoint) accept() {
	defer close(e.accepting)
	for failures := 0; ; {
		conn, err := e.listener.Accept()
		switch {
		case err == nil:
			failures = 0
		case errors.Is(err, net.ErrClosed) || e.hard.Err() != nil:
			return
		default: // out of file descriptors, or the peer went before it was taken
			if failures++; failures == 1 {
				e.log.Warn("accept", "err", err)
			}
			pause(e.hard, backoff(failures, 5*time.Millisecond, time.Second, 1))
			continue
		}
		if why := e.begin(conn); why != 0 {
			e.noteRefusal(conn, why, "turned away without an answer")
			hangUp(conn)
		}
	}
}

// begin starts to answer a connection, or says why not.
func (e *endpoint) begin(conn net.Conn) Refusal {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.deaf {
		return RefusedClosing
	}
	instead, ok := e.lobby.enter(conn, time.Now())
	if !ok {
		return RefusedBusy
	}
	if instead != nil {
		hangUp(instead)
	}
	e.in.Go(func() { e.welcome(conn) })
	return 0
}

// welcome answers a handshake and, if it accepts, reads frames to the end.
func (e *endpoint) welcome(conn net.Conn) {
	defer context.AfterFunc(e.hard, func() { hangUp(conn) })()
	defer hangUp(conn)
	c, err := e.shake(conn)
	if err != nil {
		e.noteUnfinished(conn, err)
	}
	e.mu.Lock()
	e.lobby.leave(conn)
	e.mu.Unlock()
	if c == nil {
		return
	}
	why, err := c.read()
	e.remove(c)
	if why != 0 {
		e.noteRefusal(conn, why, err.Error())
		e.bye(c.conn, why, err.Error())
	}
}

// shake makes a stream fit, reads a hello, decides, and answers; the connection is
// nil unless it is accepted. It is registered before the answer goes out, because
// frames follow at once.
func (e *endpoint) shake(conn net.Conn) (*inbound, error) {
	if err := conn.SetDeadline(time.Now().Add(e.cfg.HandshakeTimeout)); err != nil {
		return nil, &unfinished{RefusedSlow, err}
	}
	ch, err := e.guard.accept(conn)
	if err != nil {
		return nil, &unfinished{tlsRefusal(err), err}
	}
	h, err := readHello(ch)
	if err != nil {
		return nil, &unfinished{RefusedMalformed, err}
	}
	c, why, text := e.admit(h, ch)
	if why != 0 {
		e.noteRefusal(conn, why, text)
	}
	a := e.answer(why, text)
	a.version = min(h.highest, highestVersion)
	if why == RefusedSecret {
		a.cluster, a.from.UID = "", 0 // nothing that a stranger does not know
	} else {
		a.proof = e.cfg.Secret.prove(roleAccepts, ch.binding, h.said(), a.said())
	}
	_, err = ch.Write(a.encode())
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil && c != nil {
		e.remove(c)
		return nil, err
	}
	return c, err
}

// unfinished is a handshake in which the caller never said properly who it is.
type unfinished struct {
	why Refusal
	err error
}

func (u *unfinished) Error() string { return u.err.Error() }
func (u *unfinished) Unwrap() error { return u.err }

// noteUnfinished takes note of a handshake that was not answered.
func (e *endpoint) noteUnfinished(conn net.Conn, err error) {
	e.log.Debug("handshake not finished", "remote", conn.RemoteAddr().String(), "err", err)
	u, strange := errors.AsType[*unfinished](err)
	switch {
	case !strange: // the answer was not taken
	case errors.Is(err, os.ErrDeadlineExceeded):
		e.noteRefusal(conn, RefusedSlow, err.Error())
	case errors.Is(err, net.ErrClosed):
		e.noteRefusal(conn, RefusedSlow, "had to make room for others")
	case errors.Is(err, io.EOF): // connected and gone: a probe, or a peer that another place answered
	default:
		e.noteRefusal(conn, u.why, err.Error())
	}
}

func (e *endpoint) answer(why Refusal, text string) answer {
	return answer{version: highestVersion, refusal: why, cluster: e.cfg.Cluster, from: e.self, maxFrame: uint32(e.cfg.MaxFrame), text: text}
}

// admit decides on a hello and makes its connection the current one of its line.
func (e *endpoint) admit(h hello, ch *channel) (*inbound, Refusal, string) {
	if text := e.guard.convinces(ch, &h); text != "" {
		return nil, RefusedSecret, text
	}
	if err := e.guard.admits(ch, h.from.Host); err != nil {
		return nil, RefusedName, err.Error()
	}
	if why, text := judge(h, e.cfg.Cluster, e.self); why != 0 {
		return nil, why, text
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.quarantined.has(h.from):
		return nil, RefusedQuarantined, fmt.Sprintf("incarnation %v was removed from cluster %q and must stop", h.from, e.cfg.Cluster)
	case e.closing:
		return nil, RefusedClosing, "this node is closing"
	}
	key := lineKey{h.from, h.lane}
	if e.lines[key] == nil {
		e.lines[key] = newLine()
	}
	c := &inbound{e: e, conn: ch, key: key, line: e.lines[key], anyone: h.to.UID == 0, round: h.round, stop: make(chan struct{})}
	if !c.line.enter(c) {
		return nil, RefusedStale, fmt.Sprintf("round %d of this lane is over", h.round)
	}
	return c, 0, ""
}

// remove forgets a connection that has ended.
func (e *endpoint) remove(c *inbound) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c.line.leave(c) {
		delete(e.lines, c.key)
	}
}

// endInbound ends the connections that a peer made, or all if id is zero. The
// caller holds mu.
func (e *endpoint) endInbound(id member.ID, why Refusal) {
	for key, line := range e.lines {
		if id.IsZero() || key.from == id {
			line.endAll(why)
		}
	}
}

// bye tells the peer why its connection ends, then reads on until the peer has
// closed it: closing with unread bytes would destroy the goodbye on its way.
func (e *endpoint) bye(conn net.Conn, why Refusal, text string) {
	if e.hard.Err() != nil || conn.SetDeadline(time.Now().Add(goodbyeTime)) != nil {
		return // no ceremony: peers are to see a crash
	}
	a := e.answer(why, text)
	if _, err := conn.Write(a.encode()); err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, conn) // to its end, or to the deadline
}

// noteRefusal counts a refusal and logs it, not too often: a stranger that dials
// again and again must not fill the log.
func (e *endpoint) noteRefusal(conn net.Conn, why Refusal, text string) {
	if e.hard.Err() != nil {
		return // this side cut it off
	}
	if usual := why == RefusedClosing || why == RefusedStale; !usual {
		if suppressed, due := e.refusals.Due(time.Now(), why); due {
			level := slog.LevelWarn
			if why == RefusedIncarnation {
				level = slog.LevelInfo // somebody has not heard yet that the former one is gone
			}
			e.log.Log(context.Background(), level, "connection refused", "reason", why.String(), "remote", conn.RemoteAddr().String(), "why", text, "suppressed", suppressed)
		}
	}
	e.count.refused[why].Add(1)
}
