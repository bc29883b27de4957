package transport

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/member"
)

// linkState is where a link stands.
type linkState string

const (
	linkIdle    linkState = "idle" // down, and nothing to send
	linkDialing linkState = "dialing"
	linkUp      linkState = "up"
	linkClosing linkState = "closing"
)

// A link carries frames to one incarnation of a peer, or to whoever is at an
// address. One goroutine runs it from the first frame to its end: it waits for
// something to send, makes a [session], serves it until it breaks, and begins
// again.
type link struct {
	e         *endpoint
	to        member.ID // UID 0: whoever is there
	lanes     []queue   // by Lane
	after     *link     // the former link to the same node until it has ended; guarded by the endpoint's mutex
	work      chan struct{}
	finishing chan struct{} // closed: write what waits, then end
	done      chan struct{} // closed when it has ended
	limit     atomic.Int64  // greatest payload that the peer takes

	ctx  context.Context // over: end at once
	kill context.CancelCauseFunc

	gaveUp int // frames, not yet said in the log; owned by the link's goroutine

	mu       sync.Mutex // guards the rest, all leaf data
	cause    error      // why it is to end
	state    linkState
	since    time.Time
	failures int
	lastErr  error // of an attempt or a session
}

func newLink(e *endpoint, to member.ID, after *link) *link {
	l := &link{
		e: e, to: to, lanes: make([]queue, 1+e.cfg.Lanes), after: after,
		work: make(chan struct{}, 1), finishing: make(chan struct{}), done: make(chan struct{}),
		state: linkIdle, since: time.Now(),
	}
	if to.UID == 0 {
		l.lanes = l.lanes[:1]
	}
	for i := range l.lanes {
		l.lanes[i] = queue{segments: &e.segments, limit: e.cfg.Queue, patience: e.cfg.GiveUp / 4}
	}
	l.limit.Store(int64(e.cfg.MaxFrame))
	l.ctx, l.kill = context.WithCancelCause(e.hard)
	return l
}

// push queues a frame. late means that the link has ended: another must take it.
// A *FullError is not counted: the caller may wait.
func (l *link) push(lane Lane, payload []byte) (late bool, err error) {
	if limit := int(l.limit.Load()); len(payload) > limit {
		l.e.count.rejected[rejectTooLarge].Add(1)
		return false, &TooLargeError{Size: len(payload), Limit: limit, Setting: "Config.MaxFrame of " + l.to.String()}
	}
	q := &l.lanes[lane.Base()]
	how, wake := q.push(lane.stream(), payload)
	switch how {
	case pushedFull:
		return false, &FullError{Peer: l.to, Lane: lane.Base(), Waiting: q.waitingBefore(lane.stream(), payload), Limit: q.limit, Setting: "Config.Queue"}
	case pushedLate:
		return true, nil
	default:
		signal(wake)
		return false, nil
	}
}

func (l *link) run(before *link) {
	defer l.end()
	if before != nil {
		<-before.done // what it still writes goes before ours; bounded as its end is
		l.e.succeeded(l)
	}
	for l.ready() {
		s, err := l.dial()
		if err != nil {
			l.failed(err)
			continue
		}
		l.up(s)
		l.down(s, s.serve())
	}
}

// ready waits until there is something to send and the pause after a failure
// is over; false ends the link.
func (l *link) ready() bool {
	idle := time.NewTimer(l.e.cfg.IdleTimeout)
	defer idle.Stop()
	for !l.pending() {
		l.enter(linkIdle, nil)
		select {
		case <-l.work:
		case <-l.finishing:
			if !l.pending() {
				return false
			}
		case <-l.ctx.Done():
			return false
		case <-idle.C:
			if l.e.retire(l) {
				return false
			}
			idle.Reset(l.e.cfg.IdleTimeout)
		}
	}
	l.mu.Lock()
	failures := l.failures
	l.mu.Unlock()
	return pause(l.ctx, backoff(failures, l.e.cfg.MinBackoff, l.e.cfg.MaxBackoff, rand.Float64()))
}

// backoff is the pause after a number of failures in a row: doubled with each,
// and between half and all of that, so that nodes which lost a peer together do
// not come back together.
func backoff(failures int, least, most time.Duration, random float64) time.Duration {
	if failures == 0 {
		return 0
	}
	d := most
	if doublings := failures - 1; doublings < 30 {
		d = min(least<<doublings, most)
	}
	return d/2 + time.Duration(random*float64(d/2))
}

// pending tells whether any lane has something to send; if not, work is
// signalled when one has.
func (l *link) pending() bool {
	for i := range l.lanes {
		if l.lanes[i].pending(l.work) {
			return true
		}
	}
	return false
}

func (l *link) dial() (*session, error) {
	l.enter(linkDialing, nil)
	s := newSession(l)
	conn, a, err := l.e.dial(l.ctx, l.to, Control, s.round)
	if err != nil {
		s.fail(err)
		return nil, err
	}
	s.peer, s.control = a.from, conn
	l.limit.Store(int64(min(l.e.cfg.MaxFrame, int(a.maxFrame))))
	return s, nil
}

// failed takes note of an attempt that did not make a link. A refusal that will
// last drops what waits; else it waits on, until it has waited too long.
func (l *link) failed(err error) {
	l.mu.Lock()
	before := l.lastErr
	news := l.failures == 0 || refusal(err) != refusal(before) || misfit(err) != misfit(before)
	l.failures++
	l.mu.Unlock()
	l.enter(linkDialing, err)
	if l.ctx.Err() != nil {
		return
	}
	switch why := refusal(err); {
	case why == RefusedIncarnation:
		l.drop(dropIncarnation)
		l.e.handler.LinkDown(l.to, err)
	case why.lasting():
		l.drop(dropRefused)
		l.e.handler.LinkDown(l.to, err)
	default:
		if news { // not each attempt: the cause would drown
			l.e.log.Log(l.ctx, l.severity(err, before), "link not made", "peer", l.to.String(), "err", err)
		}
		l.expire()
	}
}

// severity is how much it matters that an attempt has failed, after what was
// there before it. Somebody to join through need not be there yet, and who has said
// goodbye is gone.
func (l *link) severity(err, before error) slog.Level {
	switch {
	case misfit(err):
		return slog.LevelWarn
	case l.to.UID == 0, refusal(err) == RefusedClosing, refusal(before) == RefusedClosing:
		return slog.LevelInfo
	default:
		return slog.LevelWarn
	}
}

// refusal is the peer's reason in an error, zero if there is none.
func refusal(err error) Refusal {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return refused.Reason
	}
	return 0
}

// expire drops what has waited too long; what that was together is said when
// the link is up again, or has ended.
func (l *link) expire() {
	before := time.Now().Add(-l.e.cfg.GiveUp)
	for i := range l.lanes {
		frames := l.lanes[i].expire(before)
		l.e.count.drop(dropGaveUp, frames)
		l.gaveUp += frames
	}
}

// dropLevel tells how loud to be about a drop. That what was for a removed or a
// former incarnation goes nowhere is as it should be.
func dropLevel(why drop) slog.Level {
	if why == dropQuarantined || why == dropDisconnected || why == dropIncarnation {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// sayDropped logs what was dropped for a reason, if anything was.
func (l *link) sayDropped(level slog.Level, why drop, frames int) {
	if frames > 0 {
		l.e.log.Log(context.Background(), level, "frames dropped", "peer", l.to.String(), "reason", dropNames[why], "frames", frames)
	}
}

func (l *link) up(s *session) {
	l.sayDropped(slog.LevelWarn, dropGaveUp, l.gaveUp)
	l.gaveUp = 0
	l.enter(linkUp, nil)
	l.e.log.Debug("link up", "peer", s.peer.String())
	if l.to.UID != 0 {
		l.e.count.linksUp.Add(1)
		l.e.handler.LinkUp(s.peer)
	}
}

// down takes note of the end of a session: err is why it broke, or nil when it
// wrote all there was and this side ended it.
func (l *link) down(s *session, err error) {
	l.mu.Lock()
	if err == nil {
		err = l.cause
	}
	if time.Since(l.since) >= l.e.cfg.MaxBackoff {
		l.failures = 0
	} else {
		l.failures++ // up for a moment only: do not dial in a tight loop
	}
	l.mu.Unlock()
	l.enter(linkIdle, err)
	l.e.log.Debug("link down", "peer", s.peer.String(), "err", err)
	if l.to.UID != 0 {
		l.e.count.linksDown.Add(1)
		l.e.handler.LinkDown(s.peer, err)
	}
}

// finish makes the link write what waits and end; the caller holds the
// endpoint's mutex. The first cause counts.
func (l *link) finish(cause error) {
	if closed(l.finishing) {
		return
	}
	l.mu.Lock()
	l.cause = cause
	l.mu.Unlock()
	for i := range l.lanes {
		l.lanes[i].end()
	}
	close(l.finishing)
}

// cut makes the link end at once; the caller holds the endpoint's mutex.
func (l *link) cut(cause error) {
	l.finish(cause)
	l.mu.Lock()
	l.cause = cause
	l.mu.Unlock()
	l.kill(cause)
}

// endIfEmpty makes every lane refuse frames if none has any.
func (l *link) endIfEmpty() bool {
	for i := range l.lanes {
		if !l.lanes[i].end() {
			for j := range i + 1 {
				l.lanes[j].reopen()
			}
			return false
		}
	}
	return true
}

// end counts what was not written and lets the successor begin.
func (l *link) end() {
	why := dropClosed
	switch cause := l.why(); {
	case errors.Is(cause, ErrQuarantined):
		why = dropQuarantined
	case errors.Is(cause, ErrDisconnected):
		why = dropDisconnected
	}
	l.sayDropped(dropLevel(why), dropGaveUp, l.gaveUp) // that waited for a removed one, too
	l.drop(why)
	l.kill(ErrClosed)
	l.e.gone(l)
	close(l.done)
}

func (l *link) drop(why drop) {
	all := 0
	for i := range l.lanes {
		frames := l.lanes[i].clear()
		l.e.count.drop(why, frames)
		all += frames
	}
	l.sayDropped(dropLevel(why), why, all)
}

func (l *link) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// enter notes a state for people who look.
func (l *link) enter(s linkState, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != s {
		l.state, l.since = s, time.Now()
	}
	if err != nil {
		l.lastErr = err
	}
}

func (l *link) stats() LinkStats {
	l.mu.Lock()
	s := LinkStats{Peer: l.to, State: string(l.state), Since: l.since, Failures: l.failures}
	if l.lastErr != nil {
		s.LastError, s.Advice = l.lastErr.Error(), advice(l.lastErr)
	}
	l.mu.Unlock()
	if closed(l.finishing) {
		s.State = string(linkClosing)
	}
	for i := range l.lanes {
		s.Waiting += l.lanes[i].bytes()
	}
	return s
}
