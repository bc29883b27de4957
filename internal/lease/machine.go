package lease

import (
	"fmt"
	"time"
)

// A Machine is one owner's view of one lease. The owner must be unique to the
// machine.
type Machine struct {
	cfg  Config
	want bool

	held  bool
	token uint64
	until time.Time // on the local clock, the margin taken off
	renew time.Time
	news  bool // since a request was sent that tells it

	asked *Request // without an answer yet
	sent  time.Time
	retry time.Time // not before
	cause error     // of the last request without a clear answer

	// What the store may still hold for this owner, which is given back.
	renounced uint64    // tokens up to this one are not held again
	debt      uint64    // the token to release; 0 if there is none
	doubt     bool      // an acquire may have been carried out
	void      time.Time // when debt and doubt have run out on their own
}

// New makes a machine that wants nothing.
func New(cfg Config) *Machine { return &Machine{cfg: cfg} }

// Holding tells which token is held, and until when it may be believed without
// another word from the store.
func (m *Machine) Holding() (token uint64, until time.Time, held bool) {
	return m.token, m.until, m.held
}

// Settled tells whether nothing is wanted or held, and the store holds nothing
// for this owner.
func (m *Machine) Settled() bool {
	return !m.want && !m.held && m.asked == nil && m.debt == 0 && !m.doubt
}

// Cause is why the last request had no clear answer; nil since one had.
func (m *Machine) Cause() error { return m.cause }

// Step feeds one input to the machine. An Answer belongs to the request that
// was last given out.
func (m *Machine) Step(now time.Time, in Input) Output {
	var out Output
	m.expire(now, &out)
	switch in := in.(type) {
	case Want:
		m.want = true
		if m.held {
			out.Events = append(out.Events, Held{Token: m.token})
		}
	case Drop:
		m.drop(now)
	case Touch:
		m.news = true
	case Answer:
		m.answer(now, in, &out)
	case Tick:
	}
	m.expire(now, &out) // a store may grant less than was asked for
	out.Do = m.next(now)
	out.Wake = m.wake()
	if m.held && (m.debt != 0 || !m.want) {
		panic(fmt.Sprintf("lease: held and given up at once: %+v", *m))
	}
	return out
}

func (m *Machine) drop(now time.Time) {
	m.want = false
	m.retry = time.Time{} // a store that answers again frees it at once
	if m.held {
		m.owe(now, m.token)
	}
}

// owe gives up a token for ever and has it released.
func (m *Machine) owe(now time.Time, token uint64) {
	m.held, m.renounced, m.debt = false, token, token
	m.void = now.Add(2 * m.cfg.TTL)
}

// expire ends what has run out. A holding without a confirmation ends here,
// whatever the request in hand may still bring.
func (m *Machine) expire(now time.Time, out *Output) {
	if m.held && !now.Before(m.until) {
		out.Events = append(out.Events, Lost{Token: m.token, Cause: m.cause})
		m.want = false
		m.owe(now, m.token)
	}
	if !now.Before(m.void) {
		m.debt, m.doubt = 0, false
	}
}

func (m *Machine) answer(now time.Time, a Answer, out *Output) {
	if m.asked == nil {
		panic("lease: an answer to no request")
	}
	op := m.asked.Op
	m.asked = nil
	if a.Outcome == Unknown {
		m.cause = a.Cause
		m.retry = now.Add(m.cfg.retry())
		if op == Acquire {
			m.doubt = true
			m.void = now.Add(2 * m.cfg.TTL)
		}
		return
	}
	m.cause, m.retry = nil, time.Time{}
	switch granted := a.Outcome == Granted; op {
	case Acquire, Read:
		m.doubt = false
		switch {
		case granted:
			m.granted(now, a, out)
		case op == Acquire && m.want:
			m.want = false
			out.Events = append(out.Events, Denied{Cause: a.Cause})
		}
	case Renew:
		m.renewed(now, a, out)
	case Release:
		m.debt = 0
	}
}

// granted takes the lease if it is wanted and the answer came in time.
func (m *Machine) granted(now time.Time, a Answer, out *Output) {
	until := m.sent.Add(a.Left - m.cfg.Margin)
	if !m.want || a.Token <= m.renounced || !now.Before(until) {
		m.owe(now, a.Token)
		return
	}
	m.held, m.token, m.until = true, a.Token, until
	m.renew = m.sent.Add(m.cfg.Renew - (m.cfg.TTL - a.Left)) // what was granted to an earlier request is older
	out.Events = append(out.Events, Held{Token: a.Token})
}

func (m *Machine) renewed(now time.Time, a Answer, out *Output) {
	switch granted := a.Outcome == Granted; {
	case granted && m.held:
		m.until = m.sent.Add(a.Left - m.cfg.Margin)
		m.renew = m.sent.Add(m.cfg.Renew)
	case granted: // given up meanwhile
		m.owe(now, m.token)
	case m.held:
		m.held, m.want, m.renounced = false, false, m.token
		out.Events = append(out.Events, Lost{Token: m.token, Cause: a.Cause})
	default:
		m.debt = 0
	}
}

// next is the request to make now: one at a time, since an answer says nothing
// about a request that may overtake it.
func (m *Machine) next(now time.Time) *Request {
	op, at := m.plan()
	if op == 0 || now.Before(at) {
		return nil
	}
	m.asked = &Request{Op: op, Deadline: now.Add(m.cfg.Try)}
	switch op {
	case Renew:
		m.asked.Token, m.news = m.token, false
	case Release:
		m.asked.Token = m.debt
	case Acquire:
		m.news = false
	case Read:
	}
	m.sent = now
	return m.asked
}

// plan is what to ask next, and when.
func (m *Machine) plan() (Op, time.Time) {
	switch {
	case m.asked != nil:
		return 0, time.Time{}
	case m.held && m.news:
		return Renew, m.retry
	case m.held:
		return Renew, later(m.renew, m.retry)
	case m.debt != 0:
		return Release, m.retry
	case m.want:
		return Acquire, m.retry
	case m.doubt:
		return Read, m.retry
	default:
		return 0, time.Time{}
	}
}

func (m *Machine) wake() time.Time {
	var wake time.Time
	if op, at := m.plan(); op != 0 {
		wake = at
	}
	if m.held && (wake.IsZero() || m.until.Before(wake)) {
		wake = m.until
	}
	if (m.debt != 0 || m.doubt) && (wake.IsZero() || m.void.Before(wake)) {
		wake = m.void
	}
	return wake
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
