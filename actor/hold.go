package actor

import "sync/atomic"

// A hold is a time in which the actors of a system must not act, as its node may
// have been given up by the others. No actor is started then, handles a message, or hears a timer; what was begun, up to
// a batch of messages, goes on, and who is told to stop does. Messages are accepted as ever.
//
// Whether it is time is asked before each batch and not only when a message is accepted: after a pause of the whole process, workers
// wake with cells in their hands.
type hold struct {
	shut func() bool // Config.Shut
	gate func() bool // Config.Gate
	on   atomic.Bool // cells are set aside, and somebody waits at the gate to have them run again
}

// held tells whether no actor of the system may act now.
func (s *System) held() bool {
	h := &s.hold
	if h.shut == nil || !h.on.Load() && !h.shut() {
		return false
	}
	if h.on.CompareAndSwap(false, true) {
		go s.outlast()
	}
	return true
}

// outlast has all that were set aside run again when the gate opens. If it never does they can only stop.
func (s *System) outlast() {
	if s.pass() {
		s.hold.on.Store(false)
		s.root.resume()
	}
}

// pass waits at the gate, if there is one; false lets nothing through.
func (s *System) pass() bool { return s.hold.gate == nil || s.hold.gate() }

// resume runs all below c for which something is due.
func (c *core) resume() {
	for _, child := range c.children() {
		child.impl.poke()
		child.resume()
	}
}

// setAside is asked by a worker with the cell in its hands: true means that it must not run now. Whoever gives it more to
// do queues it again, to no avail; who stops it does so with success.
func (c *core) setAside() bool {
	if !c.sys.held() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.phase.acts() || c.stopReason() != Running || !c.sys.hold.on.Load() {
		return false
	}
	c.queued = false
	return true
}

// acts tells whether a cell in this phase will run the user's code, other than to clean up.
func (p phase) acts() bool { return p == starting || p == running || p == backingOff }
