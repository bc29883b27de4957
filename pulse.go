package troupe

import (
	"encoding/binary"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/internal/membership"
	"github.com/troupe-go/troupe/transport"
)

// pulse knows whether this node may act on what it is told. A process that was
// not running for a while (a pause, a starved CPU) may have been removed from
// the cluster meanwhile, and what it hosted may live elsewhere. So after such a
// gap it takes no messages, and fires no timers, until a majority of the members has
// confirmed that it is still one of them.
//
// Whoever notices the gap first holds everything: all goroutines wake at the same
// time, and the owner goroutine need not be the first to run.
//
// The same holds for a node that has lost its links to so many members that they
// may be about to confirm its crash: see membership.Output.CutOff.
type pulse struct {
	began  time.Time
	limit  time.Duration // a gap beyond it must be confirmed
	last   atomic.Int64  // when the owner goroutine ran last, since began
	cutOff atomic.Int64  // when this node has to stop acting, since began; zero: it need not
	held   atomic.Pointer[hold]
}

// A hold is one time of not acting.
type hold struct {
	over  chan struct{} // closed when it is, or when another takes its place
	woken bool          // it is for a gap
	since time.Duration // since the pulse began
	asked time.Duration // the last time; owned by the owner goroutine, as is said
	said  bool          // in the log

	mu  sync.Mutex
	yes map[ID]bool // who has confirmed
}

func newHold(woken bool, since time.Duration) *hold {
	return &hold{over: make(chan struct{}), woken: woken, since: since, asked: -askAliveEvery, yes: map[ID]bool{}}
}

// why tells people.
func (h *hold) why() string {
	if h.woken {
		return "this node was not running for a while"
	}
	return "the links of this node to most members are broken"
}

func (h *hold) confirm(by ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.yes[by] = true
}

func (h *hold) confirmedBy() map[ID]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.yes)
}

// askAliveEvery is how often a held node asks those who have not answered.
const askAliveEvery = 100 * time.Millisecond

func (p *pulse) start(limit time.Duration) { p.began, p.limit = time.Now(), limit }

// cutAt takes over when this node has to stop acting; zero: it need not.
func (p *pulse) cutAt(t time.Time) {
	var since int64
	if !t.IsZero() {
		since = max(1, int64(t.Sub(p.began)))
	}
	p.cutOff.Store(since)
}

// isCut tells whether the time to stop acting has come, and is not over.
func (p *pulse) isCut(now time.Duration) bool {
	at := p.cutOff.Load()
	return at != 0 && int64(now) >= at
}

// paused tells whether the node may not act now. It reads the clock anew, so
// that it is right on any goroutine of a process that has just woken.
func (p *pulse) paused() bool {
	now := time.Since(p.began)
	switch last := time.Duration(p.last.Load()); {
	case now-last > p.limit:
		p.wake(last, now)
	case p.isCut(now):
		p.held.CompareAndSwap(nil, newHold(false, now))
	}
	return p.held.Load() != nil
}

// wake holds everything because nothing ran from last to now. A hold from before
// that gap gives way: what was confirmed then, or was on its way here, says nothing
// about the time since.
func (p *pulse) wake(last, now time.Duration) {
	before := p.held.Load()
	if before != nil && before.woken && before.since > last {
		return // noticed already
	}
	if p.held.CompareAndSwap(before, newHold(true, now)) && before != nil {
		close(before.over)
	}
}

// hasWoken tells whether this node did not run for a while, and no majority has
// confirmed since that it is still a member.
func (p *pulse) hasWoken() bool {
	h := p.held.Load()
	return h != nil && h.woken
}

// holds tells whether somebody has noticed a gap that is not confirmed yet. It
// does not read the clock.
func (p *pulse) holds() bool { return p.held.Load() != nil }

// beat is called by the owner goroutine whenever it runs.
func (p *pulse) beat() {
	p.paused() // a gap must be seen before it is closed
	p.last.Store(int64(time.Since(p.began)))
}

// lookAgain is when the owner goroutine must run again at the latest.
func (p *pulse) lookAgain() time.Duration {
	switch at := p.cutOff.Load(); {
	case p.held.Load() != nil:
		return askAliveEvery
	case at != 0:
		return max(0, time.Duration(at)-time.Since(p.began))
	default:
		return p.limit / 3
	}
}

// wait returns when the node may act; false when it never will again.
func (p *pulse) wait(ending <-chan struct{}) bool {
	for p.paused() {
		h := p.held.Load()
		if h == nil {
			continue
		}
		select {
		case <-h.over:
		case <-ending:
			return false
		}
	}
	return true
}

// Paused tells whether this node does not act at present, because it was not
// running for a while, or lost its links to most others, and does not know yet
// whether it is still a member. Who
// serves requests should refuse them meanwhile: what it would do may be another node's
// by now. Actors are held by themselves: what they are told waits.
func (n *Node) Paused() bool { return n.pulse.paused() }

// gate is where timers wait while the node is paused.
func (n *Node) gate() bool { return n.pulse.wait(n.ending) }

// confirm is the owner goroutine's part in a hold: it asks, and ends the hold.
func (n *Node) confirm() {
	h := n.pulse.held.Load()
	if h == nil {
		return
	}
	cut := n.pulse.isCut(time.Since(n.pulse.began))
	if !h.said {
		h.said = true
		n.log.Warn("this node holds everything until a majority has confirmed that it is still a member", slog.String("why", h.why()))
	}
	v := n.View()
	if self, in := v.SelfMember(); in && self.Status == member.Down {
		return
	}
	yes := h.confirmedBy()
	if !cut && membership.Confirmed(v, func(id ID) bool { return yes[id] }) && n.pulse.held.CompareAndSwap(h, nil) { // unless another gap was just noticed
		close(h.over)
		n.log.Info("this node goes on", slog.Duration("held", time.Since(n.pulse.began)-h.since))
		return
	}
	if now := time.Since(n.pulse.began); now-h.asked >= askAliveEvery {
		h.asked = now
		n.askAlive(v, h.since, yes)
	}
}

// The questions and answers of the alive port: kind and the time of the hold, so
// that answers to an earlier one do not count.
const (
	aliveAsk byte = iota + 1
	aliveYes
)

const aliveBytes = 9

func (n *Node) askAlive(v *View, since time.Duration, yes map[ID]bool) {
	question := binary.BigEndian.AppendUint64([]byte{aliveAsk}, uint64(since))
	for _, m := range v.Members {
		if m.ID != n.id && !yes[m.ID] {
			_ = n.alivePort.Send(m.ID, transport.Control, question) // asked again
		}
	}
}

// A question is whether this node still holds another one for a member, and when
// that one's hold began.
type question struct {
	from  ID
	stamp [8]byte
}

// vouch answers a question if the answer is yes. The owner goroutine does it, for
// it alone knows what this node has voted.
func (n *Node) vouch(q question) {
	if n.core.Vouches(time.Now(), q.from) {
		_ = n.alivePort.Send(q.from, transport.Control, append([]byte{aliveYes}, q.stamp[:]...)) // it asks again
	}
}

// aliveReceiver is the handler of the alive port.
type aliveReceiver struct{ n *Node }

func (r aliveReceiver) Receive(from ID, _ transport.Lane, payload []byte) {
	if len(payload) != aliveBytes {
		r.n.counts.add(dropShortFrame)
		return
	}
	stamp := payload[1:]
	switch payload[0] {
	case aliveAsk:
		select {
		case r.n.asked <- question{from, [8]byte(stamp)}:
		default:
			r.n.counts.add(dropMembershipBusy) // it asks again
		}
	case aliveYes:
		since := time.Duration(binary.BigEndian.Uint64(stamp))
		if h := r.n.pulse.held.Load(); h != nil && h.since == since {
			h.confirm(from)
			select {
			case r.n.confirms <- struct{}{}:
			default: // the owner goroutine is about to look anyway
			}
		}
	}
}
